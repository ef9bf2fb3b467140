"""Long texts about one thing: what a preset says, what follows from it, and what may be turned. For people only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sailplan import offers, turned
from sailplan.capacity import demand
from sailplan.compose import components, preset
from sailplan.fit import gib, measure
from sailplan.knobs import definition
from sailplan.model import EDGE, Catalog, Component, Document
from sailplan.prerequisites import Prerequisite, prerequisites
from sailplan.texts import facts, section, shown, table, title

Section = tuple[str, Iterable[str]]


def describe(catalog: Catalog, kind: str, name: str) -> str:
    """The text about one thing.

    Args:
        catalog: where it is; every reference in it is good.
        kind: as in `sailplan.listing`, in plural.
        name: of an existing thing.

    """
    head, sections = _KINDS[kind](catalog, name)
    return head + "".join(section(name, list(lines)) for name, lines in sections)


def prerequisite_lines(catalog: Catalog, environment: Document, apps: Iterable[Document]) -> list[str]:
    """One line for everything that `environment` must have for `apps`."""
    made = [component for app in apps for component in components(catalog, app)]
    found = prerequisites(catalog, environment, made)
    return table([_prerequisite(item) for item in found])


def _prerequisite(item: Prerequisite) -> tuple[str, str, str]:
    return (item.kind, item.name, item.reason)


def _edge(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    document = catalog.edges[name]
    spec = document.spec
    offered, refused = _offered(catalog, name)
    backend = spec["backend"]
    answers = {"backend": backend.get("url", "an engine of the application"), "model": backend.get("model", "its own")}
    return title("Edge", name, document.description), [
        ("Facts", facts({"status": spec["status"], **answers, "default name": spec["componentName"]})),
        ("Component parameters", facts(spec.get("properties", {}))),
        ("Traits", _traits(spec)),
        ("Capabilities", table([(item.name, item.description) for item in offered])),
        *refused,
        ("Knobs (with every capability)", turned.of_preset(catalog, document, offered)),
        ("Used by", _users(catalog, lambda part: part["model"] == name)),
    ]


def _offered(catalog: Catalog, model: str) -> tuple[list[Document], list[Section]]:
    """The capabilities that may be picked for a model somewhere, and a section about those that may nowhere."""
    fitting = [name for name in sorted(catalog.capabilities) if model in offers.fitting(catalog, name)]
    why = {name: offers.anywhere(catalog, model, name) for name in fitting}
    refused = [(name, reason) for name, reason in why.items() if reason]
    offered = [catalog.capabilities[name] for name, reason in why.items() if not reason]
    return offered, [("Capabilities that would be refused", table(refused))] if refused else []


def _model(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    if name in catalog.edges:
        return _edge(catalog, name)
    document = catalog.models[name]
    spec = document.spec
    source, weights, architecture = spec["source"], spec["weights"], spec["architecture"]
    offered, refused = _offered(catalog, name)
    return title("Model", name, document.description), [
        (
            "Facts",
            facts(
                {
                    "status": spec["status"],
                    "repository": source["repository"],
                    "revision": source["revision"],
                    "licence": source["licence"],
                    "gated": source["gated"],
                    "tier": spec["routing"]["tier"],
                    "specialty": spec["routing"]["specialty"],
                    "engine": f"{spec['engine']}, image {_image(catalog, spec['engine'])}",
                    "default name": spec["servedName"],
                    "parameters": f"{architecture['parametersBillion']} billion",
                    "trained for": f"{architecture['contextWindow']} tokens",
                    "download": f"{weights['downloadGB']} GB",
                    "in GPU memory, GB": weights["loadedGB"],
                    "tensor parallel": architecture["tensorParallel"],
                    "assumed": spec.get("assumed"),
                }
            ),
        ),
        ("Traits", _traits(spec)),
        ("Profiles", _profiles(catalog, document)),
        ("Capabilities", table([(item.name, item.description) for item in offered])),
        *refused,
        ("Knobs (with every capability)", turned.of_preset(catalog, document, offered)),
        ("Used by", _users(catalog, lambda part: part["model"] == name)),
    ]


def _traits(spec: Mapping[str, Any]) -> list[str]:
    return table([(trait, shown(values)) for trait, values in spec.get("traits", {}).items()])


def _profiles(catalog: Catalog, model: Document) -> list[str]:
    lines = []
    for gpu, profile in model.spec["profiles"].items():
        lines.append(f"{gpu}: {profile['gpus']} GPU a replica, at least {profile.get('minVRAM', '0Gi')} of memory each")
        lines += [f"  {line}" for line in _fit(catalog, model, gpu)]
    return lines


def _fit(catalog: Catalog, model: Document, profile: str) -> list[str]:
    properties, traits = preset(catalog, model, profile)
    found = measure(catalog, model, profile, properties, traits.get("gpu", {}))
    if found is None:
        return ["fit: the catalog does not say enough about this GPU class or quantization"]
    return [
        f"fit: {gib(found.weights)} weights + {gib(found.overhead)} overhead of {gib(found.memory)} usable",
        f"     {found.sequences} sequences of {found.tokens} tokens at once ({gib(found.sequence)} KV cache each)",
    ]


def _image(catalog: Catalog, engine: str) -> str:
    engines = catalog.images.spec["engines"] if catalog.images else {}
    return str(engines.get(engine, {}).get("image", "unknown"))


def _capability(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    document = catalog.capabilities[name]
    spec = document.spec
    apis = catalog.apis.spec["apis"] if catalog.apis else {}
    needs = [(need, apis.get(need, {}).get("description", "")) for need in spec.get("needs", ())]
    fitting = offers.fitting(catalog, name)
    places = offers.by_environment(catalog, name, fitting)
    # Where nothing goes, one place is as good as any to say why.
    good = [place for place, no in places.items() if not no] or list(places)[:1]
    models = {model: offers.anywhere(catalog, model, name, good) for model in fitting}
    return title("Capability", name, document.description), [
        ("Traits", _traits(spec)),
        ("For components of type", [definition(document)]),
        ("Models", _judged(models)),
        ("Component parameters", facts(spec.get("properties", spec.get("edgeProperties", {})))),
        ("Needs of the environment", table(needs)),
        ("Environments", _judged(places)),
        ("Goes with", facts({key: spec.get(key) for key in ("requires", "conflicts")})),
        *_warned(catalog, name, [model for model, no in models.items() if not no], good),
        ("Knobs (a model may narrow them, and set other values)", turned.of_capability(catalog, document)),
        ("Used by", _users(catalog, lambda part: name in part.get("capabilities", ()))),
    ]


def _warned(catalog: Catalog, name: str, models: Sequence[str], environments: Sequence[str]) -> list[Section]:
    """A section about what is said when a capability is picked, and nothing beside it."""
    said = offers.warnings(catalog, models[0], name, environments) if models else []
    return [("Warnings when nothing else is picked", said)] if said else []


def _judged(reasons: Mapping[str, str]) -> list[str]:
    """Names where a thing may be picked, then those where not, and why."""
    rows = sorted(reasons.items(), key=lambda item: bool(item[1]))
    return table([(name, f"no: {reason}" if reason else "") for name, reason in rows])


def _users(catalog: Catalog, uses: Callable[[Mapping[str, Any]], bool]) -> list[str]:
    return [name for name, app in sorted(catalog.apps.items()) if any(map(uses, app.spec["components"]))]


def _environment(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    document = catalog.environments[name]
    spec = document.spec
    apps = [app for app in catalog.apps.values() if name in app.spec["environments"]]
    gateway, metrics = spec.get("gateway", {}), spec.get("metrics", {})
    return title("Environment", name, document.description), [
        (
            "Facts",
            facts(
                {
                    "clusters": spec["clusters"],
                    "namespace": spec["namespace"],
                    "gate": spec["gate"],
                    "provides": spec.get("provides"),
                    "gateway": f"{gateway['namespace']}/{gateway['name']}" if gateway else "none",
                    "metrics": metrics.get("serverAddress"),
                    "network policies": spec["network"],
                    "storage": spec["storage"],
                    "clients": list(spec.get("clients", {})),
                    "overrides": spec.get("overrides"),
                }
            ),
        ),
        ("Applications and GPUs", _gpus(catalog, document, apps)),
        ("Prerequisites", prerequisite_lines(catalog, document, apps)),
    ]


def _gpus(catalog: Catalog, environment: Document, apps: Sequence[Document]) -> list[str]:
    rows = [("application", "component", "GPUs at min", "at max")]
    least = most = 0
    for app in apps:
        for component in components(catalog, app):
            wanted = demand(component, environment.name)
            rows.append((app.name, component.name, str(wanted.least), str(wanted.most)))
            least, most = least + wanted.least, most + wanted.most
    gpu = environment.spec["gpu"]
    return [*table([*rows, ("all", "", str(least), str(most))]), f"budget: {gpu['budget']} {gpu['class']}"]


def _app(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    document = catalog.apps[name]
    made = components(catalog, document)
    return title("App", name, document.description), [
        ("Facts", facts({"owner": document.data["metadata"]["owner"], "environments": document.spec["environments"]})),
        ("Components", [line for component in made for line in _component(component)]),
        *((f"Knobs of {component.name}", turned.of_component(catalog, component)) for component in made),
    ]


def _component(component: Component) -> list[str]:
    return [
        f"{component.name}: {component.model}{f' on {component.profile}' if component.profile else ''}",
        f"  capabilities: {', '.join(component.capabilities) or 'none'}",
        f"  traits: {', '.join(component.traits)}",
        *([f"  asks: {line}" for line in _asked(component)] if component.definition == EDGE else ()),
    ]


def _asked(component: Component) -> list[str]:
    """What answers behind an edge, with the environments where it does."""
    found: dict[str, list[str]] = {}
    for name, (properties, traits) in component.environments.items():
        pool = traits.get("llmd-routing", {}).get("poolName")
        values = traits.get("model-config", properties)
        backend = f"pool {pool}" if pool else f"{values.get('model', '')} at {values.get('backendURL', '')}"
        found.setdefault(backend, []).append(name)
    return [f"{backend} in {', '.join(names)}" for backend, names in found.items()]


def _definition(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    from sailplan.explain import explain

    return explain(catalog, name), []


def _gpu(catalog: Catalog, name: str) -> tuple[str, list[Section]]:
    said = catalog.gpus.spec["classes"][name] if catalog.gpus else {}
    models = [key for key, model in sorted(catalog.models.items()) if name in model.spec["profiles"]]
    return title("GPU class", name, said.get("description", "")), [("Facts", facts(said)), ("Models", models)]


_KINDS: dict[str, Callable[[Catalog, str], tuple[str, list[Section]]]] = {
    "models": _model,
    "edges": _edge,
    "capabilities": _capability,
    "environments": _environment,
    "apps": _app,
    "definitions": _definition,
    "gpus": _gpu,
}
