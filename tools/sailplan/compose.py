"""From an intent to a KubeVela Application, layer by layer: model < profile < capability < environment < app.

Pure: no files, no processes. The input has passed the schema and `rules.references`, so every name in it exists. What
the definitions' own defaults say is not repeated here; it is the layer below them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sailplan import facts, policies, workflow
from sailplan.knobs import Knob, knobs
from sailplan.layers import Stack
from sailplan.model import Catalog, Component, Composition, Document, Origin, Path

__all__ = ["Knob", "component_name", "components", "compose", "knobs", "preset", "profile_name"]

DEFINITION = "vllm-model"
MODELS = "oam.ai/catalog-model"
CAPABILITIES = "oam.ai/catalog-capabilities"

TRAIT_ORDER = (
    "gpu",
    "prefix-cache",
    "preload",
    "external-secret",
    "kv-offload",
    "lora-canary",
    "keda-saturation-scaling",
    "ai-gateway-route",
    "http-route",
    "network-policy",
    "observability",
)
"""How traits are ordered, within the model's and within the capabilities' (all orders render the same objects)."""


def compose(catalog: Catalog, app: Document, pin: str = "") -> Composition:
    """The Application for `app`, with its components and where each value came from.

    Args:
        catalog: everything that the intent's names refer to.
        app: the intent.
        pin: version of `vllm-model` to pin; the one in the checkout without it.
    """
    made = components(catalog, app)
    return Composition(app, made, _application(catalog, app, made, pin or catalog.definitions.get(DEFINITION, "")))


def components(catalog: Catalog, app: Document) -> tuple[Component, ...]:
    """The components of `app`, each without and with its environments: all that rules need, without the Application."""
    return tuple(_component(catalog, app, index) for index in range(len(app.spec["components"])))


def component_name(catalog: Catalog, intent: Mapping[str, Any]) -> str:
    """Name of a component, its objects and what it serves: the intent's, else the preset's."""
    return str(intent.get("name") or catalog.models[intent["model"]].spec["servedName"])


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
    data = _presets(catalog, model, profile, ()).data
    return data["properties"], _ordered(data["traits"], model, profile)


def _component(catalog: Catalog, app: Document, index: int) -> Component:
    intent = app.spec["components"][index]
    model = catalog.models[intent["model"]]
    profile = profile_name(catalog, app, intent)
    chosen = [catalog.capabilities[name] for name in intent.get("capabilities", ())]
    name = component_name(catalog, intent)
    turnable = knobs(model, chosen)

    below = _presets(catalog, model, profile, chosen)
    base = below.copy()
    _turn(base, turnable, intent.get("set", {}), app, ("spec", "components", index, "set"))
    _finish(base, app, index, name, intent)

    origins = dict(base.origins)
    environments = {}
    for environment in (catalog.environments[key] for key in app.spec["environments"]):
        stack = below.copy()
        _environment(stack, environment, name)
        _turn(stack, turnable, intent.get("set", {}), app, ("spec", "components", index, "set"))
        path = ("spec", "overrides", environment.name, name)
        own = app.spec.get("overrides", {}).get(environment.name, {}).get(name, {})
        _turn(stack, turnable, own, app, path)
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
    )


def _presets(catalog: Catalog, model: Document, profile: str, chosen: Iterable[Document]) -> Stack:
    """The layers below the environment: model, profile, capabilities."""
    capabilities = list(chosen)
    own = model.spec["profiles"][profile]
    attached = {*model.spec.get("traits", {}), *own.get("traits", {})}
    attached |= {trait for capability in capabilities for trait in capability.spec.get("traits", {})}
    stack = Stack()
    # Who attaches a trait is who it came from, even where settings that were waiting for it are merged first.
    for layer, document, place in (
        ("model", model, ("spec", "traits")),
        ("profile", model, ("spec", "profiles", profile, "traits")),
        *(("capability", capability, ("spec", "traits")) for capability in capabilities),
    ):
        for trait in _get(document.data, place) or {}:
            stack.origins.setdefault(("traits", trait), Origin(layer, document.at(*place, trait)))
    _state(stack, "model", model, (), facts.MODEL, attached)
    _merge(stack, "model", model, ("spec", "properties"), ("properties",))
    _engine(stack, catalog, model)
    _merge(stack, "model", model, ("spec", "traits"), ("traits",))
    _merge(stack, "model", model, ("spec", "settings"), ("traits",), only=attached)
    _state(stack, "profile", model, ("profiles", profile), facts.PROFILE, attached)
    _gpu_class(stack, catalog, profile, model, attached)
    _merge(stack, "profile", model, ("spec", "profiles", profile, "properties"), ("properties",))
    _merge(stack, "profile", model, ("spec", "profiles", profile, "traits"), ("traits",))
    for capability in capabilities:
        _merge(stack, "capability", capability, ("spec", "properties"), ("properties",))
        _merge(stack, "capability", capability, ("spec", "traits"), ("traits",))
    return stack


def _environment(stack: Stack, environment: Document, name: str) -> None:
    attached = set(stack.data["traits"])
    _state(stack, "environment", environment, (), facts.ENVIRONMENT, attached)
    domain = environment.spec.get("web", {}).get("domain")
    if domain and "http-route" in attached:
        at = Origin("environment", environment.at("spec", "web", "domain"))
        stack.put(("traits", "http-route", "hostname"), facts.host_name(name, domain), at)
    registry = environment.spec.get("images", {}).get("registry", "")
    if registry:
        at = Origin("environment", environment.at("spec", "images", "registry"))
        stack.put(("properties", "image"), facts.mirrored(stack.data["properties"]["image"], registry), at)
    _merge(stack, "environment", environment, ("spec", "overrides", "properties"), ("properties",))
    _merge(stack, "environment", environment, ("spec", "overrides", "traits"), ("traits",), only=attached)


def _engine(stack: Stack, catalog: Catalog, model: Document) -> None:
    images = catalog.images
    if images is None or "image" in stack.data["properties"]:
        return
    engine = model.spec["engine"]
    origin = Origin("model", images.at("spec", "engines", engine, "image"))
    stack.put(("properties", "image"), images.spec["engines"][engine]["image"], origin)


def _gpu_class(stack: Stack, catalog: Catalog, name: str, model: Document, attached: set[str]) -> None:
    if "gpu" not in attached or catalog.gpus is None:
        return
    stack.put(("traits", "gpu", "class"), name, Origin("profile", model.at("spec", "profiles", name)))
    _state(stack, "profile", catalog.gpus, ("classes", name), facts.GPU_CLASS, attached)


def _state(
    stack: Stack, layer: str, document: Document, base: Path, table: Iterable[facts.Fact], attached: set[str]
) -> None:
    """Put the facts of `table` that `document` states below `base` of its spec onto the stack."""
    for fact in table:
        if fact.target[0] == "traits" and fact.target[1] not in attached:
            continue
        stated = _get(document.spec, (*base, *fact.source))
        value = None if stated is None else fact.turn(stated, document.spec)
        if value is not None and value != {}:
            place = ("spec", *base, *fact.source)
            if isinstance(value, Mapping):
                stack.merge(value, _origin(layer, document, place), fact.target)
            else:
                stack.put(fact.target, value, Origin(layer, document.at(*place)))


def _merge(
    stack: Stack, layer: str, document: Document, source: Path, target: Path, only: set[str] | None = None
) -> None:
    """Merge the map at `source` of a document; of its entries `only` those named, when given."""
    value = _get(document.data, source) or {}
    if only is not None:
        value = {key: item for key, item in value.items() if key in only}
    stack.merge(value, _origin(layer, document, source), target)


def _turn(stack: Stack, turnable: Mapping[str, Knob], wishes: Mapping[str, Any], app: Document, at: Path) -> None:
    """Turn the knobs that a product team set."""
    for name, value in wishes.items():
        stack.put(turnable[name].target, value, Origin("app", app.at(*at, name)))


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
    own = {*model.spec.get("traits", {}), *model.spec["profiles"][profile].get("traits", {})}
    known = {name: place for place, name in enumerate(TRAIT_ORDER)}
    names = sorted(traits, key=lambda name: (name not in own, known.get(name, len(known)), name))
    return {name: traits[name] for name in names}


def _application(catalog: Catalog, app: Document, made: tuple[Component, ...], pin: str) -> dict[str, Any]:
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
            "components": [_rendered(component, pin) for component in made],
            "policies": rules,
            "workflow": {"steps": workflow.steps(environments, {rule["name"] for rule in rules})},
        },
    }


def _rendered(component: Component, pin: str) -> dict[str, Any]:
    return {
        "name": component.name,
        "type": f"{DEFINITION}@v{pin}" if pin else DEFINITION,
        "properties": component.properties,
        "traits": [
            {"type": name, "properties": properties} if properties else {"type": name}
            for name, properties in component.traits.items()
        ],
    }


def _origin(layer: str, document: Document, place: Path) -> Any:
    def at(inner: Path) -> Origin:
        return Origin(layer, document.at(*place, *inner))

    return at


def _get(value: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value
