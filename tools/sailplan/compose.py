"""From an intent to a KubeVela Application, layer by layer: model < profile < capability < environment < app.

Pure: no files, no processes. The input has passed the schema and `rules.references`, so every name in it exists. What
the definitions' own defaults say is not repeated here; it is the layer below them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sailplan import defaults, layering, policies, workflow
from sailplan.knobs import Knob, knobs
from sailplan.layers import Stack
from sailplan.model import EDGE, ENGINE, Catalog, Component, Composition, Document, Origin

__all__ = ["Knob", "component_name", "components", "compose", "engine", "knobs", "preset", "profile_name"]

MODELS = "oam.ai/catalog-model"
CAPABILITIES = "oam.ai/catalog-capabilities"

TRAIT_ORDER = (
    "gpu",
    "prefix-cache",
    "preload",
    "external-secret",
    "kv-offload",
    "lora-canary",
    "model-config",
    "llmd-routing",
    "prompt-policy",
    "inference-autoscaling",
    "inference-queue-scaling",
    "keda-saturation-scaling",
    "ai-gateway-route",
    "http-route",
    "network-policy",
    "observability",
)
"""How traits are ordered, within the model's and within the capabilities' (all orders render the same objects)."""


def compose(catalog: Catalog, app: Document, pins: Mapping[str, str] | None = None) -> Composition:
    """The Application for `app`, with its components and where each value came from.

    Args:
        catalog: everything that the intent's names refer to.
        app: the intent.
        pins: component definition -> version to pin; the one in the checkout where there is none.
    """
    made = components(catalog, app)
    return Composition(app, made, _application(catalog, app, made, {**catalog.definitions, **(pins or {})}))


def components(catalog: Catalog, app: Document) -> tuple[Component, ...]:
    """The components of `app`, each without and with its environments: all that rules need, without the Application."""
    made = [_component(catalog, app, index) for index in range(len(app.spec["components"]))]
    return defaults.said(made, catalog.parameters)


def component_name(catalog: Catalog, intent: Mapping[str, Any]) -> str:
    """Name of a component, its objects and what it serves: the intent's, else the preset's."""
    return str(intent.get("name") or default_name(catalog.presets[intent["model"]]))


def default_name(preset: Document) -> str:
    """Name of a component that the intent gives none."""
    return str(preset.spec["componentName" if preset.kind == "Edge" else "servedName"])


def engine(catalog: Catalog, app: Document, index: int) -> str:
    """Component that the edge at `index` stands in front of: the one it names, else the only engine; "" for neither."""
    intent = app.spec["components"][index]
    parts = [part for part in app.spec["components"] if part["model"] in catalog.models]
    names = [component_name(catalog, part) for part in parts]
    wanted = str(intent.get("backend", names[0] if len(names) == 1 else ""))
    return wanted if wanted in names else ""


def profile_name(catalog: Catalog, app: Document, intent: Mapping[str, Any]) -> str:
    """GPU class of a component: the intent's, else the first environment's that the preset knows, else its first."""
    known = catalog.models[intent["model"]].spec["profiles"]
    if "profile" in intent:
        return str(intent["profile"])
    classes = [catalog.environments[name].spec["gpu"].get("class") for name in app.spec["environments"]]
    return next((str(name) for name in classes if name in known), next(iter(known)))


def preset(
    catalog: Catalog, model: Document, profile: str
) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Properties and traits of a model by itself: on one GPU class, without capability, environment or intent."""
    data = layering.presets(catalog, model, profile, ()).data
    return data["properties"], _ordered(data["traits"], model, profile)


def _component(catalog: Catalog, app: Document, index: int) -> Component:
    intent = app.spec["components"][index]
    model = catalog.presets[intent["model"]]
    definition = EDGE if model.kind == "Edge" else ENGINE
    profile = "" if definition == EDGE else profile_name(catalog, app, intent)
    chosen = [catalog.capabilities[name] for name in intent.get("capabilities", ())]
    name = component_name(catalog, intent)
    turnable = knobs(model, chosen)

    below = _below(catalog, app, index, profile, chosen)
    base = below.copy()
    layering.turn(base, turnable, intent.get("set", {}), app, ("spec", "components", index, "set"))
    _finish(base, app, index, name, intent)

    origins = dict(base.origins)
    environments = {}
    edges = list(_in_front(catalog, app, name))
    for environment in (catalog.environments[key] for key in app.spec["environments"]):
        stack = below.copy()
        layering.environment(stack, environment, name, definition)
        for edge, at in edges:
            layering.admit(stack, edge, environment, at)
        layering.turn(stack, turnable, intent.get("set", {}), app, ("spec", "components", index, "set"))
        path = ("spec", "overrides", environment.name, name)
        own = app.spec.get("overrides", {}).get(environment.name, {}).get(name, {})
        layering.turn(stack, turnable, own, app, path)
        _finish(stack, app, index, name, intent)
        environments[environment.name] = (stack.data["properties"], _ordered(stack.data["traits"], model, profile))
        origins.update({("environments", environment.name, *at): origin for at, origin in stack.origins.items()})
    return Component(
        name=name,
        model=model.name,
        profile=profile,
        capabilities=tuple(intent.get("capabilities", ())),
        properties=base.data["properties"],
        traits=_ordered(base.data["traits"], model, profile),
        environments=environments,
        origins=origins,
        definition=definition,
    )


def _below(catalog: Catalog, app: Document, index: int, profile: str, chosen: Sequence[Document]) -> Stack:
    """The layers below the environment."""
    intent = app.spec["components"][index]
    model = catalog.presets[intent["model"]]
    if model.kind != "Edge":
        return layering.presets(catalog, model, profile, chosen)
    behind = engine(catalog, app, index) if model.spec["backend"].get("engine") else ""
    if not behind:
        return layering.edge(model, chosen, None)
    other = next(place for place, part in enumerate(app.spec["components"]) if component_name(catalog, part) == behind)
    served = str(_component(catalog, app, other).properties.get("servedName", behind))
    at = app.at("spec", "components", index, "backend" if "backend" in intent else "model")
    return layering.edge(model, chosen, layering.Engine(behind, served, Origin("app", at)))


def _in_front(catalog: Catalog, app: Document, name: str) -> Iterator[tuple[str, Origin]]:
    """The edges that stand in front of the component `name`, each with the line that asks for it."""
    for place, part in enumerate(app.spec["components"]):
        preset = catalog.edges.get(part["model"])
        if preset and preset.spec["backend"].get("engine") and engine(catalog, app, place) == name:
            yield component_name(catalog, part), Origin("app", app.at("spec", "components", place, "model"))


def _finish(stack: Stack, app: Document, index: int, name: str, intent: Mapping[str, Any]) -> None:
    """What follows from the component as a whole: its annotations, and no served name that says nothing new."""
    properties = stack.data["properties"]
    if properties.get("servedName") == name:
        del properties["servedName"], stack.origins["properties", "servedName"]
    where = Origin("app", app.at("spec", "components", index, "model"))
    stack.put(("properties", "annotations", MODELS), intent["model"], where)
    if intent.get("capabilities"):
        where = Origin("app", app.at("spec", "components", index, "capabilities"))
        stack.put(("properties", "annotations", CAPABILITIES), ",".join(intent["capabilities"]), where)


def _ordered(traits: Mapping[str, Any], model: Document, profile: str) -> dict[str, Any]:
    profiles = model.spec.get("profiles", {})
    own = {*model.spec.get("traits", {}), *profiles.get(profile, {}).get("traits", {})}
    known = {name: place for place, name in enumerate(TRAIT_ORDER)}
    names = sorted(traits, key=lambda name: (name not in own, known.get(name, len(known)), name))
    return {name: traits[name] for name in names}


def _application(
    catalog: Catalog, app: Document, made: tuple[Component, ...], versions: Mapping[str, str]
) -> dict[str, Any]:
    environments = [catalog.environments[name] for name in app.spec["environments"]]
    chosen = dict.fromkeys(name for component in made for name in component.capabilities)
    annotations = {MODELS: ",".join(component.model for component in made)}
    if chosen:
        annotations[CAPABILITIES] = ",".join(chosen)
    metadata: dict[str, Any] = {"name": app.name}
    if "namespace" in app.data["metadata"]:
        metadata["namespace"] = app.data["metadata"]["namespace"]
    rules = policies.policies(environments, made)
    return {
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {
            "components": [_rendered(component, versions.get(component.definition, "")) for component in made],
            "policies": rules,
            "workflow": {"steps": workflow.steps(environments, {rule["name"] for rule in rules}, made)},
        },
    }


def _rendered(component: Component, pin: str) -> dict[str, Any]:
    return {
        "name": component.name,
        "type": f"{component.definition}@v{pin}" if pin else component.definition,
        "properties": component.properties,
        "traits": [
            {"type": name, "properties": properties} if properties else {"type": name}
            for name, properties in component.traits.items()
        ],
    }
