"""SP6xx and SP9xx: definitions as files, and files that are made from others."""

from __future__ import annotations

import re
from pathlib import Path

from sailplan.catalog import DEFINITION_FOLDERS, definition_files, definitions, nearest
from sailplan.model import Position
from sailplan.rules.registry import Problem, Problems, checkout_rule

_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$")
_HEADER = re.compile(r'^"?(?P<name>[a-z0-9-]+)"?: \{', re.MULTILINE)
_IMPORT = re.compile(r'^\s*(?:import\s+)?(?:\w+\s+)?"(?P<path>[\w./-]+)"\s*$', re.MULTILINE)
_OPEN = re.compile(r'^\s*(?:"[^"]+"|[A-Za-z_]\w*)\??: \{', re.MULTILINE)
_SECTION = {"component": "component", "trait": "trait", "workflowstep": "workflow-step", "policy": "policy"}


@checkout_rule("SP601", "version of a definition")
def version(root: Path) -> Problems:
    """KubeVela finds a pinned definition by an exact version of three numbers; anything else it does not find."""
    for name, said in definitions(root).items():
        if not _SEMVER.match(said):
            given = said or "none"
            message = f"the version of {name} is {given}, not three numbers"
            yield Problem(
                _file(root, name), "attributes.version", message, given, "1.0.0", fix='write version: "1.0.0"'
            )


@checkout_rule("SP602", "definition named otherwise than its file")
def header(root: Path) -> Problems:
    """A definition is found by its file's name, and applied under the name in its header."""
    for name, path in definition_files(root).items():
        found = _HEADER.search(_text(path))
        said = found["name"] if found else ""
        if said != name:
            message = f"the file is {name}.cue, and the definition in it is named {said or 'nothing'}"
            at = _file(root, name)
            yield Problem(at, "", message, said, name, nearest(said, [name]), "give both the same name")


@checkout_rule("SP603", "import of something that is not CUE's own")
def imports(root: Path) -> Problems:
    """Without a cluster KubeVela does not find its own packages, so definitions import only what is built into CUE."""
    for name, path in definition_files(root).items():
        head = _text(path).partition(": {")[0]
        for found in _IMPORT.finditer(head):
            package = found["path"]
            if package.startswith("vela/") or "." in package.partition("/")[0]:
                line = head[: found.start("path")].count("\n") + 1
                at = Position(path.relative_to(root).as_posix(), line, 1)
                yield Problem(
                    at, "import", f"{name} imports {package}", package, "packages of CUE", fix="do without it"
                )


@checkout_rule("SP604", "definition of another sort than its folder")
def folder(root: Path) -> Problems:
    """definitions/component holds components, definitions/trait traits, and so on."""
    for name, path in definition_files(root).items():
        wanted = _SECTION[path.parent.name]
        found = re.search(r'^\s+type:\s+"(?P<type>[a-z-]+)"', _text(path), re.MULTILINE)
        said = found["type"] if found else "nothing"
        if said != wanted:
            message = f"{name} is in the folder of {path.parent.name} and says type {said}"
            yield Problem(_file(root, name), "type", message, said, wanted, fix=f'write type: "{wanted}", or move it')


@checkout_rule("SP605", "parameter that takes any key")
def open_parameter(root: Path) -> Problems:
    """KubeVela ignores what a parameter does not declare, so every level is closed, and a misspelt key is refused."""
    from sailplan import parameters

    for name, text in parameters.of(root).items():
        opened = _OPEN.search(text) or (
            None if text.lstrip().startswith(("close(", "import")) else re.search(r"\S", text)
        )
        if opened:
            message = f"a level of the parameter of {name} is not closed: {opened.group().strip()}"
            yield Problem(_file(root, name), "parameter", message, fix="write close({...})")


@checkout_rule("SP608", "two definitions of one name")
def twice(root: Path) -> Problems:
    """Presets and Applications name a definition by its name alone, and what is generated from it has one place."""
    kept = definition_files(root)
    for folder in DEFINITION_FOLDERS:
        for path in sorted((root / "definitions" / folder).glob("*.cue")):
            if kept.get(path.stem, path) != path:
                file, other = (one.relative_to(root).as_posix() for one in (path, kept[path.stem]))
                message = f"{other} is named {path.stem} too, and this one is not looked at"
                yield Problem(Position(file), "", message, path.stem, fix="rename one of them")


@checkout_rule("SP901", "generated file out of date")
def drift(root: Path) -> Problems:
    """Checks of parameters and JSON Schema for editors are made from the definitions and the CUE schema."""
    from sailplan.generated import stale

    for name in stale(root):
        there = (root / name).exists()
        message = "the file is not what its sources make" if there else "the file is missing"
        yield Problem(Position(name), "", message, fix="run `sailplan schema --write`")


def _file(root: Path, name: str) -> Position:
    return Position(definition_files(root)[name].relative_to(root).as_posix())


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
