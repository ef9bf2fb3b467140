"""Whether a new version of a trait may take the place of the published one.

Traits are unpinned (an override policy cannot find a pinned one), so publishing a trait reaches every Application at
its next edit. Two questions, then: does its parameter still take all that it took, and do the Applications of the
repository render, to the same objects, with the published definitions and with the new ones?
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sailplan import differences
from sailplan.errors import FindingsError
from sailplan.model import Composition, Document
from sailplan.sources import as_files, used
from sailplan.toolbox import proc

Definitions = Mapping[str, Mapping[str, Any]]
"""Definitions by name, as a hub holds them."""

_IMPORT = re.compile(r'\A\s*import\s*(\([^)]*\)|"[^"]*")[ \t]*\n')


@dataclass(frozen=True, slots=True)
class Effect:
    """What publishing does to one Application in one environment.

    Attributes:
        app, environment: which.
        refusals: why it no longer renders, in words; empty when it does.
        differences: objects that come out otherwise; empty when none does.
    """

    app: str
    environment: str
    refusals: tuple[str, ...] = ()
    differences: tuple[differences.Difference, ...] = ()


def narrowed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What the parameter of a definition took and takes no longer, one line a parameter.

    Raises:
        ToolError: cue is missing, or a template is not CUE.
    """
    from sailplan.narrowed import narrowed as compare

    before, after = (_schema(one) for one in (old, new))
    return compare(before, after)


def effects(
    compositions: Sequence[tuple[Composition, Mapping[str, Document]]], old: Definitions, new: Definitions
) -> list[Effect]:
    """What changes for Applications when `new` takes the place of `old`; nothing for those that stay as they are.

    Args:
        compositions: Applications, each with its environments by name.
        old: definitions that a hub holds; all that the Applications use.
        new: those that would be in force after publishing; all of them, too.
    """
    with tempfile.TemporaryDirectory(prefix="sailplan-published-") as folder:
        before, after = (_files(Path(folder, side), items) for side, items in (("old", old), ("new", new)))
        tasks = [(made, environment) for made, known in compositions for environment in known.values()]
        found = proc.run_all(lambda task: _effect(*task, before, after), tasks)
    return [effect for effect in found if effect.refusals or effect.differences]


def _effect(made: Composition, environment: Document, before: Mapping[str, Path], after: Mapping[str, Path]) -> Effect:
    from sailplan.render import render_with

    names = list(used(made))
    name = made.app.name
    try:
        new = render_with([after[one] for one in names], made, environment)
    except FindingsError as error:
        try:
            render_with([before[one] for one in names], made, environment)
        except FindingsError:
            return Effect(name, environment.name)  # it does not render as it is, so nothing gets worse
        return Effect(name, environment.name, tuple(_said(error)))
    try:
        old = render_with([before[one] for one in names], made, environment)
    except FindingsError:
        return Effect(name, environment.name)
    return Effect(name, environment.name, differences=tuple(differences.compare(old, new)))


def _said(error: FindingsError) -> Iterator[str]:
    for one in error.findings:
        details = "".join(
            f" ({label} {value})" for label, value in (("given", one.given), ("allowed", one.allowed)) if value
        )
        yield f"{one.field}: {one.message}{details}"


def _files(folder: Path, definitions: Definitions) -> dict[str, Path]:
    folder.mkdir()
    return as_files(definitions, folder)


def _schema(definition: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of a definition's parameter."""
    from sailplan import jsonschema, parameters
    from sailplan.toolbox import cue

    name = str(definition["metadata"]["name"])
    texts = parameters.known({name: source(definition)})
    schemas = cue.openapi({parameters.FILE: parameters.writable(parameters.package(texts))})
    return jsonschema.alone(parameters.title(name)[1:], jsonschema.convert(schemas, defaults=True), name)


def source(definition: Mapping[str, Any]) -> str:
    """The template of a definition that a hub holds, in the form of a definition file: below `template`."""
    body = str(definition["spec"]["schematic"]["cue"]["template"])
    imports = ""
    while found := _IMPORT.match(body):
        imports += found.group().strip() + "\n"
        body = body[found.end() :]
    return f"{imports}template: {{\n{body}\n}}\n"
