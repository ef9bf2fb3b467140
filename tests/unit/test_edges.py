"""Edges: what becomes of a preset, its capabilities and an environment, and which engine stands behind one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from sailplan import listing, workflow
from sailplan.compose import components, compose, engine
from sailplan.describe import describe
from sailplan.model import EDGE, ENGINE, Catalog, Component, Document
from sailplan.rules.edges import TRAITS
from unit.catalogs import ROOT, repository
from unit.plain import PRODUCTION, app, document
from unit.plain import catalog as plain

URL = "http://ollama:11434/v1"
FIXED = {
    "status": "stable",
    "componentName": "chat",
    "backend": {"url": URL, "model": "llama"},
    "properties": {"logLevel": "debug"},
    "traits": {"model-config": {}},
}
FRONT = {"status": "stable", "componentName": "front", "backend": {"engine": True}, "traits": {}}
SPECIAL = {
    "small": {"component": EDGE, "edgeProperties": {"resources": {"limits": {"cpu": "200m"}}}},
    "prompt": {
        "component": EDGE,
        "traits": {"prompt-policy": {"systemPrompt": "Be brief."}},
        "knobs": {"prompt.system": {"target": "traits.prompt-policy.systemPrompt"}},
    },
    "queue": {"component": EDGE, "traits": {"inference-queue-scaling": {}}},
    "cpu": {"component": EDGE, "traits": {"inference-autoscaling": {}}},
}


def catalog() -> Catalog:
    made = plain(capabilities=SPECIAL)
    edges = {name: document("Edge", name, deepcopy(spec)) for name, spec in (("fixed", FIXED), ("edge", FRONT))}
    return replace(made, edges=edges, definitions={**made.definitions, EDGE: "2.0.0"})


def one(*parts: dict[str, Any], **spec: Any) -> Component:
    """The last component of an intent with these."""
    return components(catalog(), app(*parts, **spec))[-1]


def test_the_backend_is_said_once_and_reaches_component_and_trait() -> None:
    made = one({"model": "fixed"})
    assert (made.name, made.definition, made.profile) == ("chat", EDGE, "")
    assert (made.properties["backendURL"], made.properties["model"]) == (URL, "llama")
    assert made.traits == {"model-config": {"backendURL": URL, "model": "llama"}}
    assert made.properties["logLevel"] == "debug"
    assert str(made.origins["traits", "model-config", "model"]).startswith("model edge/fixed.yaml")


def test_capabilities_set_parameters_and_attach_traits() -> None:
    made = one({"model": "fixed", "capabilities": ["queue", "prompt", "small"], "set": {"prompt.system": "Sing."}})
    assert list(made.traits) == ["model-config", "prompt-policy", "inference-queue-scaling"]
    assert made.traits["prompt-policy"] == {"systemPrompt": "Sing."}
    assert made.properties["resources"] == {"limits": {"cpu": "200m"}}
    assert made.properties["annotations"]["oam.ai/catalog-capabilities"] == "queue,prompt,small"


def test_an_environment_says_of_an_edge_what_it_says_of_pods_and_metrics() -> None:
    there = deepcopy(PRODUCTION)
    there["overrides"]["edgeProperties"] = {"logLevel": "error"}
    found = replace(catalog(), environments={"production": document("Environment", "production", there)})
    intent = app({"model": "fixed", "capabilities": ["queue"]}, environments=("production",))
    properties, traits = components(found, intent)[0].environments["production"]
    assert properties["image"] == "mirror.example/hub/inference-api:1.0.0"
    assert properties["imagePullSecrets"] == {"pull": True}
    assert (properties["priorityClassName"], properties["logLevel"]) == ("high", "error")
    assert traits["inference-queue-scaling"] == {"serverAddress": "http://metrics:1", "scrape": "ServiceMonitor"}
    # What belongs to engines: where weights are, and parameters of vllm-model.
    assert not {"weights", "env"} & properties.keys()


def test_the_only_engine_stands_behind() -> None:
    made = one({"model": "coder", "name": "own"}, {"model": "edge"})
    assert (made.properties["backendURL"], made.properties["model"]) == ("http://own:8000/v1", "own")
    # One value in every environment: nothing to override.
    assert {values[0]["backendURL"] for values in made.environments.values()} == {"http://own:8000/v1"}


def test_of_several_engines_the_intent_names_one() -> None:
    engines = {"model": "coder", "name": "a"}, {"model": "coder", "name": "b"}
    assert one(*engines, {"model": "edge", "backend": "b"}).properties["model"] == "b"
    assert engine(catalog(), app(*engines, {"model": "edge"}), 2) == ""
    assert engine(catalog(), app(*engines, {"model": "edge", "backend": "c"}), 2) == ""


def test_a_locked_down_engine_lets_its_edge_in() -> None:
    parts = {"model": "coder", "name": "a", "capabilities": ["locked-down"]}, {"model": "coder", "name": "b"}
    first, second, _ = components(catalog(), app(*parts, {"model": "edge", "backend": "a"}))
    for environment, (_, traits) in first.environments.items():
        peer = traits["network-policy"]["clients"]["front"]
        assert peer["labels"] == {"app.kubernetes.io/name": "front"}
        assert peer["namespace"] == catalog().environments[environment].spec["namespace"]
    assert "clients" not in first.traits["network-policy"]
    assert all("network-policy" not in traits for _, traits in second.environments.values())


def test_each_component_is_pinned_to_its_own_definition() -> None:
    made = compose(catalog(), app({"model": "coder"}, {"model": "fixed"}), {EDGE: "1.5.0"}).application
    assert [part["type"] for part in made["spec"]["components"]] == ["vllm-model@v1.2.3", "inference-api@v1.5.0"]


@pytest.mark.parametrize("capability", ["cpu", "queue"])
def test_the_number_of_scaled_pods_is_left_alone(capability: str) -> None:
    made = compose(catalog(), app({"model": "fixed", "capabilities": [capability]})).application
    (rule,) = [policy for policy in made["spec"]["policies"] if policy["name"] == "apply-once"]
    assert rule["properties"]["rules"][0]["selector"]["componentNames"] == ["chat"]


def test_an_edge_has_no_weights_to_wait_for() -> None:
    assert workflow.startup_seconds({"model": "llama"}) == 330


def test_presets_of_both_kinds_are_listed_and_described() -> None:
    items = {item.name: item for item in listing.kind("models").items(repository())}
    assert items["llama32-1b"].cells[2] == "edge"
    assert items["qwen-coder"].cells[2] == "medium/code"
    text = describe(repository(), "models", "llama32-1b")
    assert "http://host.docker.internal:11434/v1" in text
    assert "prompt-sre" in text
    assert "saturation-scaling" not in text
    assert "prompt-sre" not in describe(repository(), "models", "qwen-coder")


def test_the_swap_is_one_word_of_the_intent() -> None:
    """From the simulator to a model of ours; name, Service, prompt and scaling stay."""
    before = edge_of("simulator")
    after = edge_of("engine-edge")
    assert before["traits"] == after["traits"]
    assert before["name"] == after["name"]
    changed = {key for key in after["properties"] if before["properties"][key] != after["properties"][key]}
    assert changed == {"backendURL", "model", "annotations"}


def edge_of(model: str) -> dict[str, Any]:
    found = repository().apps["chat-edge"]
    data = deepcopy(dict(found.data))
    data["spec"]["components"][1]["model"] = model
    made = compose(repository(), Document("App", found.name, found.file, data, found.positions)).application
    part: dict[str, Any] = made["spec"]["components"][1]
    return part


def test_constants_are_those_of_the_definitions() -> None:
    from sailplan import facts

    edge = (ROOT / "definitions/component/inference-api.cue").read_text(encoding="utf-8")
    assert f'image: *"{facts.EDGE_IMAGE}"' in edge
    served = (ROOT / "definitions/component/vllm-model.cue").read_text(encoding="utf-8")
    assert f"port: {facts.PORT}, targetPort" in served


def test_which_trait_goes_with_which_component_is_what_definitions_say() -> None:
    said = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "definitions/trait").glob("*.cue")}
    for component, words in ((EDGE, "goes with an inference-api component"), (ENGINE, "goes with a vllm-model")):
        assert {name for name, text in said.items() if f"{name} {words}" in text} == set(TRAITS[component])
    assert set(said) == {name for names in TRAITS.values() for name in names}
