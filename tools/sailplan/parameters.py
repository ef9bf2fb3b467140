"""What presets may say about a definition: its own `parameter`, taken from the definition and never written twice.

A preset gives part of the parameters (another layer gives the rest), so there are two forms of each: the whole one, and
`partial`, where every field may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from sailplan.catalog import definition_files, definition_texts
from sailplan.errors import FindingsError
from sailplan.model import Finding, Position
from sailplan.remembered import recall
from sailplan.toolbox import cue, proc

FILE = "parameters.cue"
"""Name of the generated file in `catalog/schema/`."""

_FIELD = re.compile(r'^(\s*)("[^"]*"|[A-Za-z_]\w*):', re.MULTILINE)
_NAMES = re.compile(r'\[[=!]~"(?:[^"\\]|\\.)*"(?: & [=!]~"(?:[^"\\]|\\.)*")*\]:')
_DEFAULT = re.compile(r'(: )\*(?:"[^"]*"|[\w.\[\]]+) \| (?!")')
_DEFAULT_MAP = re.compile(r"(: )\*close\(\{[^{}]*\}\) \| ")

_HEAD = """// Made from definitions/ by `sailplan schema --write`. Change the definitions, not this file.
//
// The parameters of every definition as presets may give them: the same checks, and every field may be left out.
package catalog
"""


def sources(root: Path) -> dict[str, str]:
    """Text of all definitions below `root`, by name, components first.

    Raises:
        FindingsError: a file cannot be read.
    """
    found, wrong = definition_texts(root)
    if wrong:
        raise FindingsError(wrong)
    return found


def whole(definitions: Mapping[str, str], files: Mapping[str, str] | None = None) -> dict[str, str]:
    """The `parameter` of each definition as CUE, by name.

    Args:
        definitions: their texts.
        files: where each stands, when they are files of a checkout.

    Raises:
        FindingsError: some of `files` are not CUE.
        ToolError: cue is missing, or a definition that is in no file is not CUE.
    """
    wrong: list[Finding] = []

    def one(name: str) -> str:
        try:
            return cue.parameter(definitions[name], name)
        except cue.SourceError as error:
            if files is None:
                raise
            wrong.append(not_cue(files[name], error.problem, error.line, error.column))
            return ""

    texts = proc.run_all(one, list(definitions))
    if wrong:
        raise FindingsError(wrong)
    return dict(zip(definitions, texts, strict=True))


def known(sources: Mapping[str, str], files: Mapping[str, str] | None = None) -> dict[str, str]:
    """As `whole`, remembered from one run to the next."""
    key = [cue.identity(), *(part for pair in sources.items() for part in pair)]
    return recall("parameters", key, lambda: whole(sources, files))


def of(root: Path) -> dict[str, str]:
    """The `parameter` of each definition below `root`, by name.

    Raises:
        FindingsError: a definition cannot be read, or is not CUE.
        ToolError: cue is missing.
    """
    return known(sources(root), places(root))


def places(root: Path) -> dict[str, str]:
    """File of each definition, below `root`, by name."""
    return {name: path.relative_to(root).as_posix() for name, path in definition_files(root).items()}


def not_cue(file: str, problem: str, line: int = 0, column: int = 0) -> Finding:
    """The finding for a definition that cue cannot read."""
    message = f"cue cannot read it: {problem}"
    return Finding("SP607", "error", Position(file, line, column), "", message, fix=f"`vela def vet {file}` says more")


def partial(text: str) -> str:
    """A `parameter` with every field optional.

    Defaults go too: nothing is filled in while checking, and without them CUE says plainly what is out of range.
    """
    plain = _DEFAULT_MAP.sub(r"\1", _DEFAULT.sub(r"\1", text))
    return _FIELD.sub(r"\1\2?:", plain)


def writable(text: str) -> str:
    """CUE that OpenAPI has words for, and that says nearly the same.

    Maps take any name where they took names of some form (cue would leave out what such maps hold), a map with a
    default is the map, and text that may not be empty is text with a character in it.
    """
    return _NAMES.sub("[string]:", _DEFAULT_MAP.sub(r"\1", text)).replace('!=""', '=~"."')


def package(texts: Mapping[str, str]) -> str:
    """A CUE file in package `catalog` with the definition `#NameParameters` for each text, its imports in front."""
    bodies = {name: _split(text) for name, text in texts.items()}
    imports = sorted({path for paths, _ in bodies.values() for path in paths})
    lines = [f"import {path}" for path in imports]
    blocks = [f"// Parameters of {name}.\n{title(name)}: {body.rstrip()}" for name, (_, body) in bodies.items()]
    return "\n\n".join(["package catalog", *lines, *blocks]) + "\n"


def generated(texts: Mapping[str, str], traits: Iterable[str]) -> str:
    """The text of `parameters.cue`.

    Args:
        texts: `parameter` of each definition, see `whole`.
        traits: which of them are traits.
    """
    body = package({name: partial(text) for name, text in texts.items()}).removeprefix("package catalog\n")
    known = sorted(traits)
    entries = "".join(f"\t// Parameters of {name}.\n\t{_label(name)}?: {title(name)}\n" for name in known)
    text = (
        f"{_HEAD}{body}\n// Parameters of the component definition vllm-model.\n#Properties: {title('vllm-model')}\n\n"
        f"// Parameters of the component definition inference-api.\n#EdgeProperties: {title('inference-api')}\n\n"
        f"// Traits, type: parameters.\n#Traits: {{\n{entries}}}\n"
    )
    return cue.formatted(text)


def trait_names(root: Path) -> list[str]:
    """Names of the traits below `root`."""
    return [name for name, path in definition_files(root).items() if path.parent.name == "trait"]


def title(name: str) -> str:
    """Name of the CUE definition that holds the parameters of `name`: `#PrefixCacheParameters`.

    A dash that no letter follows stays, as `_`: foo-1 and foo1, a-b and a--b are not the same.
    """
    joined = re.sub("-([a-z]?)", lambda found: found[1].upper() or "_", name)
    return f"#{joined[:1].upper()}{joined[1:]}Parameters"


def _label(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _split(text: str) -> tuple[list[str], str]:
    """The import paths in front of what `cue def` printed, and the rest."""
    paths: list[str] = []
    head, _, body = text.partition("\n\n")
    if not head.startswith("import"):
        return paths, text
    return re.findall(r'"[^"]+"', head), body
