"""What is made from the CUE schema and the definitions, and committed: parameters.cue, JSON Schema for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sailplan.catalog import find_root
from sailplan.errors import FindingsError, SailplanError, ToolError, UsageError
from sailplan.files import KINDS, read_all
from sailplan.findings import nearest
from sailplan.toolbox import cue

FOLDER = "catalog/schema"
"""Where the schema is, below the checkout."""


def package(root: Path) -> dict[str, str]:
    """Text of the schema's CUE files, by name.

    Raises:
        FindingsError: one of them cannot be read.
    """
    found, wrong = read_all(root, sorted((root / FOLDER).glob("*.cue")))
    if wrong:
        raise FindingsError(wrong)
    return {path.name: text for path, text in found.items()}


def json_schema(kind: str, root: Path | None = None) -> dict[str, Any]:
    """JSON Schema of a kind of document, or of the parameters of a definition.

    Args:
        kind: `Model`, `App` ..., in any case and number; or the name of a definition.
        root: the checkout; the one around the working directory without it.

    Raises:
        UsageError: there is no such kind.
    """
    texts = {
        Path(path).stem: text for path, text in generate(root or find_root(None)).items() if path.endswith(".json")
    }
    names = {name.casefold(): name for name in texts}
    asked = kind.casefold()
    plurals = {f"{asked[:-3]}y" if asked.endswith("ies") else asked.removesuffix("s"): asked}
    name = names.get(asked) or next((names[one] for one in plurals if one in names), None)
    if name is None:
        near = nearest(kind, texts)
        raise UsageError(f"unknown kind {kind}", f"did you mean {near}?" if near else f"there are: {', '.join(texts)}")
    schema: dict[str, Any] = json.loads(texts[name])
    return schema


def generate(root: Path) -> dict[str, str]:
    """Text of every generated file of the schema, by its path below the checkout.

    These are `parameters.cue`, from the definitions, and JSON Schemas of all kinds of documents and of all definitions'
    parameters. They are committed; `sailplan check` compares.

    Raises:
        FindingsError: a definition cannot be read, or is not CUE.
        ToolError: cue is missing, or the schema is not CUE.
    """
    from sailplan import parameters
    from sailplan.remembered import recall

    sources = parameters.sources(root)
    schema = {name: text for name, text in package(root).items() if name != parameters.FILE}
    inputs = [cue.identity(), *(part for pair in (*sources.items(), *schema.items()) for part in pair)]
    return recall("generated", [*inputs, *_own_code()], lambda: _generate(root, sources, schema))


def stale(root: Path) -> list[str]:
    """Paths, below the checkout, of generated files that are not what `generate` makes, or should not be there."""
    made = generate(root)
    folder = root / FOLDER / "json"
    present = {path.relative_to(root).as_posix() for path in folder.rglob("*.json")}
    wrong = {path for path, text in made.items() if _text(root / path) != text}
    return sorted(wrong | (present - made.keys()))


def write(root: Path) -> list[str]:
    """Bring the generated files up to date; the paths, below the checkout, of those that changed."""
    made = generate(root)
    changed = stale(root)
    for name in changed:
        path = root / name
        if name in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[name], encoding="utf-8")
        else:
            path.unlink()
    return changed


def added(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Write files that are new, and what is generated with them; the paths of all of them, or nothing is left.

    Raises:
        FindingsError: what there is now cannot be read, or is not CUE.
        ToolError: cue is missing.
    """
    written: list[Path] = []
    try:
        for name, text in texts.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        return [*texts, *write(root)]
    except (OSError, SailplanError):
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _generate(root: Path, sources: Mapping[str, str], schema: Mapping[str, str]) -> dict[str, str]:
    from sailplan import jsonschema, parameters

    texts = parameters.known(sources, parameters.places(root))
    generated = parameters.generated(texts, parameters.trait_names(root))
    made = {f"{FOLDER}/{parameters.FILE}": generated}
    kinds = jsonschema.convert(_openapi(root, texts, {**schema, parameters.FILE: parameters.writable(generated)}))
    for kind in KINDS:
        made[f"{FOLDER}/json/{kind}.json"] = _json(jsonschema.alone(kind, kinds, kind))
    whole = jsonschema.convert(
        _openapi(root, texts, {parameters.FILE: parameters.writable(parameters.package(texts))}), defaults=True
    )
    for name in texts:
        one = jsonschema.alone(parameters.title(name)[1:], whole, name, _description(sources[name]))
        made[f"{FOLDER}/json/definitions/{name}.json"] = _json(one)
    return made


def _openapi(root: Path, definitions: Mapping[str, str], schema: Mapping[str, str]) -> dict[str, Any]:
    """What `cue.openapi` makes of a schema; where it fails for the parameters of one definition, that one is named."""
    from sailplan import parameters

    try:
        return cue.openapi(schema)
    except ToolError:
        files = parameters.places(root)
        wrong = []
        for name, text in definitions.items():
            try:
                cue.openapi({parameters.FILE: parameters.writable(parameters.package({name: text}))})
            except ToolError as error:
                said = error.stderr.partition("\n")[0].removesuffix(":")
                wrong.append(parameters.not_cue(files[name], f"its parameter as OpenAPI: {said}"))
        if wrong:
            raise FindingsError(wrong) from None
        raise


def _own_code() -> list[str]:
    """The code that generates, so that a change to it is noticed."""
    here = Path(__file__).parent
    return [(here / name).read_text(encoding="utf-8") for name in ("generated.py", "parameters.py", "jsonschema.py")]


def _description(source: str) -> str:
    _, found, rest = source.partition('description: "')
    return rest.partition('"\n')[0] if found else ""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
