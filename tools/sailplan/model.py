"""The nouns of sailplan: frozen views of documents that the CUE schema has already accepted.

Nothing here validates: `catalog/schema/*.cue` does. A view only gives names and types to what a document holds, and
keeps the document beside it, so that a finding can point at the line a value came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Path = tuple[str | int, ...]
"""Where a value sits inside a document: keys and list indices, outermost first."""

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

ENGINE = "vllm-model"
"""The component definition of models that we serve."""

EDGE = "inference-api"
"""The component definition of edges in front of what somebody serves."""

LAYERS = ("definition", "model", "profile", "capability", "environment", "app")
"""Where values come from, weakest first. A later layer wins."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file. Line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, or one thing worth knowing.

    Attributes:
        id: stable rule id, `SP101`.
        severity: error, warning or note.
        position: where it was written.
        field: dotted name of the field, `spec.components[0].set.scaling.maxReplicas`.
        message: what is wrong, in a person's words, without the position.
        given: what the file says, as text; empty when there is nothing to show.
        allowed: what would be accepted, as text.
        nearest: the nearest right name, when the given one looks like a misspelling.
        fix: what to write or do instead.
    """

    id: str
    severity: Severity
    position: Position
    field: str
    message: str
    given: str = ""
    allowed: str = ""
    nearest: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a composed value came from: the layer, and the line that said so."""

    layer: str
    position: Position

    def __str__(self) -> str:
        return f"{self.layer} {self.position}"


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: plain data and the place of every key and item in it.

    `positions` maps the path of a value to (line, column), both from 1; a mapping entry is at its key.
    """

    kind: str
    name: str
    file: str
    data: Mapping[str, Any]
    positions: Mapping[Path, tuple[int, int]] = field(repr=False)

    def at(self, *path: str | int) -> Position:
        """Place of the value at `path`; of its nearest enclosing value when that one was not written."""
        for end in range(len(path), -1, -1):
            found = self.positions.get(path[:end])
            if found:
                return Position(self.file, *found)
        return Position(self.file)

    @property
    def spec(self) -> Mapping[str, Any]:
        """The document's `spec`; empty when it has none."""
        spec = self.data.get("spec")
        return spec if isinstance(spec, Mapping) else {}

    @property
    def description(self) -> str:
        """`metadata.description`, one line."""
        return str(self.data.get("metadata", {}).get("description", ""))


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything a catalog folder holds, read once.

    Attributes:
        root: absolute path of the checkout that holds `definitions/`, `catalog/` and `applications/`.
        models, capabilities, environments, apps: documents by name; apps are those under `applications/`.
        gpus, images, apis: the three documents that name hardware, engine images and cluster APIs once.
        definitions: version of every X-definition by name, `{"vllm-model": "1.0.0"}`.
        duplicates: documents whose name another one of their kind already has (a finding, not an entry above).
        edges: documents of models that somebody else serves, by name; no model has the same name.
        parameters: JSON Schema of the parameters of every component definition, by name, as committed.
    """

    root: str
    models: Mapping[str, Document]
    capabilities: Mapping[str, Document]
    environments: Mapping[str, Document]
    apps: Mapping[str, Document]
    gpus: Document | None
    images: Document | None
    apis: Document | None
    definitions: Mapping[str, str]
    duplicates: Sequence[Document] = ()
    edges: Mapping[str, Document] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @property
    def presets(self) -> Mapping[str, Document]:
        """Everything that an intent may name as `model`: models and edges, which share their names."""
        return {**self.models, **self.edges}


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a composed Application, before and after the environments had their say.

    Attributes:
        name: component, object and (by default) served name.
        model: name of the model or edge preset.
        profile: GPU class chosen from the preset's profiles; "" for an edge.
        capabilities: names chosen in the intent, in its order.
        properties: of its definition, without any environment.
        traits: type -> properties, without any environment, in canonical order.
        environments: environment -> (properties, traits) with that environment merged in.
        origins: path of a value -> where it came from; paths start with `properties` or `traits`, and for an
            environment's own values with `environments, NAME`.
        definition: the component definition, `vllm-model` or `inference-api`.
    """

    name: str
    model: str
    profile: str
    capabilities: tuple[str, ...]
    properties: Mapping[str, Any]
    traits: Mapping[str, Mapping[str, Any]]
    environments: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]]
    origins: Mapping[Path, Origin] = field(repr=False)
    definition: str = ENGINE


@dataclass(frozen=True, slots=True)
class Composition:
    """What an intent became: its components, and the Application that holds them."""

    app: Document
    components: tuple[Component, ...]
    application: Mapping[str, Any] = field(repr=False)
