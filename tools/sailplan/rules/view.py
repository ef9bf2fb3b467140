"""What rules look at: all components of all Applications, and the parameters that definitions have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path as File
from typing import Any

from sailplan.catalog import parameters as read_parameters
from sailplan.findings import dotted
from sailplan.model import Catalog, Component, Document, Path, Position

Values = tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]
"""Properties and traits of a component."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A component and the intent that asks for it.

    Attributes:
        app: the intent.
        index: its place among the intent's components.
        component: what became of it.
    """

    app: Document
    index: int
    component: Component

    @property
    def name(self) -> str:
        """Name for messages over several Applications: `app/component`."""
        return f"{self.app.name}/{self.component.name}"

    @property
    def environments(self) -> Iterator[tuple[str, Values]]:
        """Each environment's name, with the component's values there."""
        yield from self.component.environments.items()

    def at(self, environment: str, *path: str | int) -> Position:
        """Where the value at `path` (`properties` or `traits` first) came from; else the component in the intent."""
        for end in range(len(path), 1, -1):
            origin = self.component.origins.get(("environments", environment, *path[:end]))
            if origin:
                return origin.position
        return self.here()

    def here(self, *path: str | int) -> Position:
        """Where the intent says something about this component."""
        return self.app.at("spec", "components", self.index, *path)

    def field(self, *path: str | int) -> str:
        """Dotted name of something in this component."""
        return dotted((self.component.name, *path))


@dataclass(frozen=True)
class View:
    """All that rules see.

    Attributes:
        catalog: the documents.
        placed: the components of the Applications that are being checked.
        others: those of other intents in the checkout, which share gateways, namespaces and budgets with them.
    """

    catalog: Catalog
    placed: Sequence[Placed]
    others: Sequence[Placed] = ()

    @cached_property
    def everywhere(self) -> Sequence[Placed]:
        """The components of all intents."""
        return [*self.placed, *self.others]

    def environment(self, name: str) -> Document:
        """An environment, which exists: references were checked."""
        return self.catalog.environments[name]

    def within(self, environment: str, among: Iterable[Placed] | None = None) -> list[Placed]:
        """The components that are deployed to an environment."""
        chosen = self.everywhere if among is None else among
        return [placed for placed in chosen if environment in placed.component.environments]

    @cached_property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """JSON Schema of the parameters of every definition, by name."""
        return parameters(self.catalog)

    @property
    def demands(self) -> Mapping[str, Demand]:
        """What the parameters of each definition need to be given, for those that need anything."""
        return _demands(self.catalog.root, tuple(self.catalog.definitions))


@dataclass(frozen=True, slots=True)
class Demand:
    """What a parameter needs to be given: names without a default, and the same for the maps below.

    Attributes:
        names: fields of this map that must be there.
        inner: by field, for those with needs of their own.
        free: for every entry of a map with free names.
    """

    names: tuple[str, ...] = ()
    inner: Mapping[str, Demand] = field(default_factory=dict)
    free: Demand | None = None


def demand(schema: Mapping[str, Any]) -> Demand | None:
    """What a parameter with this JSON Schema needs; None when nothing."""
    inner = {name: found for name, one in schema.get("properties", {}).items() if (found := demand(one))}
    others = schema.get("additionalProperties")
    free = demand(others) if isinstance(others, Mapping) else None
    names = tuple(schema.get("required", ()))
    return Demand(names, inner, free) if names or inner or free else None


def parameters(catalog: Catalog) -> Mapping[str, Mapping[str, Any]]:
    """JSON Schema of the parameters of every definition, by name, as committed."""
    return _read(catalog.root, tuple(catalog.definitions))


@lru_cache(maxsize=4)
def _demands(root: str, names: tuple[str, ...]) -> Mapping[str, Demand]:
    return {name: found for name, one in _read(root, names).items() if (found := demand(one))}


@lru_cache(maxsize=4)
def _read(root: str, names: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
    return read_parameters(File(root), names)


def parameter(schema: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """Schema of the parameter at a path; None where there is none. An empty one takes anything."""
    here: Mapping[str, Any] = schema
    for key in path:
        free = here.get("additionalProperties", not here.get("properties"))
        if key in here.get("properties", {}):
            here = here["properties"][key]
        elif free:
            here = free if isinstance(free, Mapping) else {}
        else:
            return None
    return here
