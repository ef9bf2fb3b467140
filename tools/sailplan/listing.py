"""What `sailplan get` shows: the kinds of things a checkout holds, and a row for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sailplan.compose import component_name
from sailplan.errors import UsageError
from sailplan.knobs import definition
from sailplan.model import EDGE, Catalog
from sailplan.names import unknown


@dataclass(frozen=True, slots=True)
class Item:
    """One thing: its kind in one word, its name, its cells (narrow, then wide), its labels, and itself as data."""

    kind: str
    name: str
    cells: tuple[str, ...]
    wide: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)

    @property
    def labels(self) -> Mapping[str, Any]:
        """`metadata.labels` of its document."""
        labels = self.data.get("metadata", {}).get("labels", {})
        return labels if isinstance(labels, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing: its names on the command line (plural first), its columns, and how to list it."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    wide: tuple[str, ...]
    items: Callable[[Catalog], list[Item]]

    @property
    def plural(self) -> str:
        """The name that help shows."""
        return self.names[0]


def kind(word: str) -> Kind:
    """The kind that a person means by `word`: plural, singular or short.

    Raises:
        UsageError: there is no such kind.
    """
    found = next((known for known in KINDS if word.lower() in known.names), None)
    if found is None:
        raise unknown("type", word, [known.plural for known in KINDS])
    return found


def pick(items: Sequence[Item], kind: Kind, names: Sequence[str], selector: Sequence[str] = ()) -> list[Item]:
    """Those of `items` that were named, all of them without names; of these the ones with the labels asked for.

    Raises:
        UsageError: a name is unknown, or a selector is not `key=value`.
    """
    known = {item.name: item for item in items}
    for name in names:
        if name not in known:
            raise unknown(kind.names[1], name, known)
    chosen = [known[name] for name in names] if names else list(items)
    wanted = [_label(part) for text in selector for part in text.split(",")]
    return [item for item in chosen if all(str(item.labels.get(key)) == value for key, value in wanted)]


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise UsageError(f"-l {text}: labels are asked for as key=value")
    return key, value.removeprefix("=")


def _models(catalog: Catalog) -> list[Item]:
    return sorted([*_served(catalog), *_edges_to_pick(catalog)], key=lambda item: item.name)


def _edges(catalog: Catalog) -> list[Item]:
    return [
        Item(
            "edge",
            name,
            (name, spec["status"], _backend(spec["backend"]), spec["componentName"], document.description),
            (_joined(spec.get("traits", ())), _joined(spec.get("knobs", ()))),
            document.data,
        )
        for name, document in sorted(catalog.edges.items())
        for spec in [document.spec]
    ]


def _edges_to_pick(catalog: Catalog) -> list[Item]:
    """Edges among the models: an intent names both as `model`."""
    return [
        Item(
            "model",
            name,
            (name, document.spec["status"], "edge", "", "", document.description),
            (_backend(document.spec["backend"]), "", "", "inference-api"),
            document.data,
        )
        for name, document in catalog.edges.items()
    ]


def _backend(backend: Mapping[str, Any]) -> str:
    return f"{backend['model']} at {backend['url']}" if "url" in backend else "an engine of the application"


def _served(catalog: Catalog) -> list[Item]:
    return [
        Item(
            "model",
            name,
            (
                name,
                spec["status"],
                f"{spec['routing']['tier']}/{spec['routing']['specialty']}",
                ",".join(f"{gpu}:{profile['gpus']}" for gpu, profile in spec["profiles"].items()),
                str(spec.get("properties", {}).get("model", {}).get("contextWindow", "")),
                document.description,
            ),
            (spec["source"]["repository"], spec["source"]["revision"][:12], spec["source"]["licence"], spec["engine"]),
            document.data,
        )
        for name, document in sorted(catalog.models.items())
        for spec in [document.spec]
    ]


def _capabilities(catalog: Catalog) -> list[Item]:
    return [
        Item(
            "capability",
            name,
            (
                name,
                _joined(spec.get("traits", ())),
                _joined(spec.get("needs", ())),
                _joined(spec.get("models", ())) or ("edges" if definition(document) == EDGE else "engines"),
                document.description,
            ),
            (_joined(spec.get("requires", ())), _joined(spec.get("conflicts", ())), _joined(spec.get("knobs", ()))),
            document.data,
        )
        for name, document in sorted(catalog.capabilities.items())
        for spec in [document.spec]
    ]


def _environments(catalog: Catalog) -> list[Item]:
    return [
        Item(
            "environment",
            name,
            (
                name,
                _joined(spec["clusters"]),
                spec["namespace"],
                spec["gate"],
                f"{spec['gpu']['budget']} {spec['gpu']['class']}",
                document.description,
            ),
            (spec["network"], spec.get("gateway", {}).get("name", ""), _joined(spec.get("provides", ()))),
            document.data,
        )
        for name, document in sorted(catalog.environments.items())
        for spec in [document.spec]
    ]


def _apps(catalog: Catalog) -> list[Item]:
    return [
        Item(
            "app",
            name,
            (
                name,
                document.data["metadata"]["owner"],
                _joined(_component(catalog, part) for part in document.spec["components"]),
                _joined(document.spec["environments"]),
            ),
            (_joined(part["model"] for part in document.spec["components"]), document.description),
            document.data,
        )
        for name, document in sorted(catalog.apps.items())
    ]


def _definitions(catalog: Catalog) -> list[Item]:
    from sailplan.explain import definition

    return [
        Item(
            "definition",
            name,
            (name, said.type, said.version, said.description),
            (_joined(said.properties),),
            {"kind": "Definition", "metadata": {"name": name}, "spec": said.plain()},
        )
        for name in sorted(catalog.definitions)
        for said in [definition(catalog, name)]
    ]


def _gpus(catalog: Catalog) -> list[Item]:
    classes = catalog.gpus.spec["classes"] if catalog.gpus else {}
    return [
        Item(
            "gpu",
            name,
            (name, f"{facts['memoryGiB']} GiB", "yes" if facts["fp8"] else "no", facts["description"]),
            (facts["resourceName"], _joined(f"{key}={value}" for key, value in facts.get("nodeSelector", {}).items())),
            {"kind": "GPUClass", "metadata": {"name": name}, "spec": facts},
        )
        for name, facts in sorted(classes.items())
    ]


def _component(catalog: Catalog, intent: Mapping[str, Any]) -> str:
    known = "name" in intent or intent["model"] in catalog.presets
    return component_name(catalog, intent) if known else str(intent["model"])


def _joined(names: Any) -> str:
    return ",".join(str(name) for name in names)


KINDS = (
    Kind(
        ("models", "model", "m"),
        ("name", "status", "tier", "gpus", "context", "description"),
        ("repository", "revision", "licence", "engine"),
        _models,
    ),
    Kind(
        ("edges", "edge"),
        ("name", "status", "backend", "default name", "description"),
        ("traits", "knobs"),
        _edges,
    ),
    Kind(
        ("capabilities", "capability", "cap", "caps"),
        ("name", "traits", "needs", "models", "description"),
        ("requires", "conflicts", "knobs"),
        _capabilities,
    ),
    Kind(
        ("environments", "environment", "env", "envs"),
        ("name", "clusters", "namespace", "gate", "gpus", "description"),
        ("network", "gateway", "provides"),
        _environments,
    ),
    Kind(
        ("apps", "app", "application", "applications"),
        ("name", "owner", "components", "environments"),
        ("models", "description"),
        _apps,
    ),
    Kind(
        ("definitions", "definition", "def", "defs"),
        ("name", "type", "version", "description"),
        ("parameters",),
        _definitions,
    ),
    Kind(("gpus", "gpu"), ("name", "memory", "fp8", "description"), ("resource", "node labels"), _gpus),
)
"""In the order in which help names them."""
