"""Definitions by themselves: what `vela def vet` says, and what it passes but does not render."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sailplan.catalog import definition_files
from sailplan.errors import ToolError
from sailplan.model import Catalog, Document, Finding, Position
from sailplan.published import parsed
from sailplan.toolbox import proc, vela

_EXAMPLES = "definitions/examples"
_RENDERED = ("component", "trait")
"""Definitions whose example a dry run can render; a workflow step or a policy needs a hub."""


def check(catalog: Catalog, names: Sequence[str] = ()) -> list[Finding]:
    """What is wrong with definitions.

    Args:
        catalog: of the checkout.
        names: only these; all without any.

    Raises:
        ToolError: vela is missing.
    """
    files = definition_files(Path(catalog.root))
    chosen = [name for name in files if not names or name in names]
    found = proc.run_all(lambda name: _one(catalog, name, files[name]), chosen)
    return [finding for some in found for finding in some]


def _one(catalog: Catalog, name: str, path: Path) -> list[Finding]:
    file = path.relative_to(catalog.root).as_posix()
    if not parsed(catalog.definitions[name]):
        fix = 'attributes: version: "1.0.0"'
        return [Finding("SP701", "error", Position(file), "", "says no version MAJOR.MINOR.PATCH", fix=fix)]
    try:
        made = vela.definition(path)
    except ToolError as error:
        return [Finding("SP707", "error", Position(file), "", error.stderr or error.message, fix=error.hint)]
    if made["metadata"]["name"] != name:
        message = f"the definition calls itself {made['metadata']['name']}"
        return [Finding("SP707", "error", Position(file), "", message, fix="name file and definition alike")]
    return _example(catalog, name, path.parent.name)


def _example(catalog: Catalog, name: str, sort: str) -> list[Finding]:
    from sailplan.written import composition

    file = f"{_EXAMPLES}/{name}.yaml"
    path = Path(catalog.root, file)
    if not path.is_file():
        return [Finding("SP708", "error", Position(file), "", "the definition has no example", fix="write one")]
    if sort not in _RENDERED:
        return []
    made = composition(Document("App", name, file, {}, {}), path.read_text(encoding="utf-8"), file)
    known = definition_files(Path(catalog.root))
    used = [part["type"] for part in made.application["spec"]["components"]]
    used += sorted({trait for component in made.components for trait in component.traits})
    try:
        vela.dry_run(made.application, [known[one] for one in dict.fromkeys(used)])
    except vela.VelaError as error:
        said = [f"{one.field} {'; '.join(one.messages)}".strip() for one in error.refusals]
        return [Finding("SP708", "error", Position(file), "", line) for line in said or [error.message]]
    return []
