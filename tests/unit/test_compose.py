"""From an intent to an Application: layers, facts, knobs, policies and workflow, on small documents in memory."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from sailplan.compose import TRAIT_ORDER, component_name, components, compose, knobs, profile_name
from sailplan.facts import mirrored
from sailplan.model import Catalog, Component, Document
from unit.plain import CAPABILITIES, COMMIT, DEV, MODEL, PRODUCTION, app, catalog, document


def component(intent: dict[str, Any], made: Catalog | None = None, **spec: Any) -> Component:
    found = made or catalog()
    return components(found, app({"model": "coder", **intent}, **spec))[0]


def policy(application: Any, name: str) -> Any:
    return next((item for item in application["spec"]["policies"] if item["name"] == name), None)


def test_facts_become_parameters() -> None:
    made = component({"capabilities": ["scaling"]})
    assert made.properties["model"] == {
        "repository": "acme/coder",
        "revision": COMMIT,
        "weightsGB": 15.2,
        "quantization": "fp8",
        "maxNumSeqs": 32,
    }
    assert made.properties["image"] == "vllm/vllm-openai:v1"
    assert made.traits["gpu"] == {
        "count": 1,
        "minVRAM": "16Gi",
        "class": "l4",
        "nodeSelector": {"pool": "gpu-l4"},
        "memoryLabel": "gpu-memory",
    }
    assert made.traits["keda-saturation-scaling"] == {"minReplicas": 1, "maxReplicas": 2}


def test_facts_never_attach_a_trait() -> None:
    made = component({})
    assert set(made.traits) == {"gpu", "prefix-cache", "preload"}
    for _, traits in made.environments.values():
        assert set(traits) == {"gpu", "prefix-cache", "preload"}


def test_settings_wait_for_a_trait() -> None:
    assert "keda-saturation-scaling" not in component({}).traits
    assert component({"capabilities": ["scaling"]}).traits["keda-saturation-scaling"]["maxReplicas"] == 2


def test_each_layer_wins_over_the_one_below() -> None:
    """Rule 7: definition < model < profile < capability < environment < app; each is asked for the same value."""
    model = deepcopy(MODEL)
    model["properties"]["env"] = dict.fromkeys(("a", "b", "c", "d", "e"), "model")
    model["profiles"]["l4"]["properties"] = {"env": dict.fromkeys("bcde", "profile")}
    model["knobs"]["env.e"] = {"target": "properties.env.e"}
    capability = {"traits": {}, "properties": {"env": dict.fromkeys("cde", "capability")}}
    environment = {**DEV, "overrides": {"properties": {"env": dict.fromkeys("de", "environment")}}}
    made = component(
        {"capabilities": ["more"], "set": {"env.e": "app"}},
        catalog(model, {"dev": environment}, {"more": capability}),
        environments=("dev",),
    )
    layers = {"a": "model", "b": "profile", "c": "capability", "d": "environment", "e": "app"}
    assert made.environments["dev"][0]["env"] == layers
    assert made.properties["env"] == {**layers, "d": "capability"}
    for key, layer in layers.items():
        assert made.origins["environments", "dev", "properties", "env", key].layer == layer


def test_every_value_has_an_origin() -> None:
    made = component({"capabilities": [*CAPABILITIES], "set": {"scaling.maxReplicas": 3}})
    for base, values in (("properties", made.properties), ("traits", made.traits)):
        for path in _leaves(values):
            assert (base, *path) in made.origins
    for name, (properties, traits) in made.environments.items():
        for base, values in (("properties", properties), ("traits", traits)):
            for path in _leaves(values):
                assert ("environments", name, base, *path) in made.origins


def _leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        return [path] if path else []
    return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]


def test_origins_name_the_line() -> None:
    found = catalog()
    intent = app({"model": "coder", "capabilities": ["scaling"], "set": {"scaling.maxReplicas": 3}})
    made = components(found, intent)[0]
    turned = made.origins["traits", "keda-saturation-scaling", "maxReplicas"]
    assert str(turned) == f"app {intent.at('spec', 'components', 0, 'set', 'scaling.maxReplicas')}"
    attached = made.origins["traits", "keda-saturation-scaling"]
    assert attached.position.file == "capability/scaling.yaml"
    secret = made.origins["environments", "production", "traits", "preload", "secrets", "token"]
    assert secret.position == found.environments["production"].at("spec", "hub", "tokenSecret")


def test_the_web_gateway_comes_in_where_there_is_a_host_name() -> None:
    carriers = {"namespace": "edge", "labels": {"app": "edge"}}
    made = catalog(environments={"production": {**PRODUCTION, "web": {**PRODUCTION["web"], "dataPlane": carriers}}})
    with_host = component({"capabilities": [*CAPABILITIES]}, made, environments=["production"])
    assert with_host.environments["production"][1]["network-policy"]["clients"]["web-gateway"] == carriers
    without = [name for name in CAPABILITIES if "http-route" not in CAPABILITIES[name].get("traits", {})]
    closed = component({"capabilities": without}, made, environments=["production"])
    assert "web-gateway" not in closed.environments["production"][1]["network-policy"].get("clients", {})


def test_environment_facts() -> None:
    properties, traits = component({"capabilities": [*CAPABILITIES]}).environments["production"]
    assert traits["gpu"]["nodeSelector"] == {"pool": "gpu-l4", "zone": "a"}
    assert traits["gpu"]["tolerations"] == {"dedicated": {"operator": "Exists"}}
    assert traits["gpu"]["runtimeClassName"] == ""
    assert properties["weights"] == {"claimName": "models"}
    assert traits["preload"] == {
        "createClaim": False,
        "secrets": {"token": True},
        "policy": "cilium",
        "serviceAccountName": "loader",
    }
    assert traits["external-secret"] == {
        "secrets": {"token": {"key": "hub/token"}},
        "store": {"name": "vault", "kind": "SecretStore"},
    }
    assert traits["ai-gateway-route"]["gateway"] == {"name": "ai", "namespace": "gateways", "sectionName": "https"}
    assert traits["http-route"] == {
        "hostname": "coder.example.org",
        "gateway": {"name": "web", "namespace": "gateways"},
    }
    assert traits["keda-saturation-scaling"]["serverAddress"] == "http://metrics:1"
    assert traits["observability"]["kind"] == "ServiceMonitor"
    assert traits["network-policy"] == {
        "engine": "cilium",
        "gateway": {"namespace": "envoy", "labels": {"a": "b"}},
        "metrics": {"namespace": "obs", "labels": {"c": "d"}},
        "clients": {"chat": {"namespace": "apps", "labels": {"e": "f"}}},
    }
    assert properties["image"] == "mirror.example/hub/vllm/vllm-openai:v1"
    assert properties["imagePullSecrets"] == {"pull": True}
    assert properties["priorityClassName"] == "high"
    assert properties["topologySpread"] == {"zone": {"maxSkew": 1}}
    assert properties["disruptionBudget"] == {"minAvailable": 1}
    assert properties["env"] == {"A": "1"}
    assert "kv-offload" not in traits, "an environment's override never attaches a trait"


def test_a_rendered_claim() -> None:
    properties, traits = component({}).environments["dev"]
    assert "weights" not in properties
    assert traits["preload"] == {
        "storageClassName": "fast",
        "size": "50Gi",
        "accessMode": "ReadWriteOnce",
        "policy": "kubernetes",
    }


@pytest.mark.parametrize(
    ("image", "registry", "expected"),
    [
        ("vllm/vllm-openai:v1", "", "vllm/vllm-openai:v1"),
        ("vllm/vllm-openai:v1", "mirror.example", "mirror.example/vllm/vllm-openai:v1"),
        ("vllm/vllm-openai:v1", "mirror.example/hub/", "mirror.example/hub/vllm/vllm-openai:v1"),
        ("quay.io/a/b@sha256:0", "mirror.example", "mirror.example/a/b@sha256:0"),
        ("localhost:5000/a:v1", "mirror.example:5000", "mirror.example:5000/a:v1"),
        ("engine:v1", "mirror.example", "mirror.example/engine:v1"),
    ],
)
def test_mirrored(image: str, registry: str, expected: str) -> None:
    assert mirrored(image, registry) == expected


def test_names() -> None:
    found = catalog()
    assert component_name(found, {"model": "coder"}) == "coder"
    assert component_name(found, {"model": "coder", "name": "own"}) == "own"


def test_served_name_only_when_it_differs() -> None:
    model = deepcopy(MODEL)
    model["properties"]["servedName"] = "coder"
    assert "servedName" not in component({}, catalog(model)).properties
    assert component({"name": "own"}, catalog(model)).properties["servedName"] == "coder"


def test_profile() -> None:
    model = deepcopy(MODEL)
    model["profiles"] = {"a100": {"gpus": 2, "pipelineParallel": 2}, "l4": {"gpus": 1}}
    found = catalog(model)
    assert profile_name(found, app(), {"model": "coder"}) == "l4", "the environment's class"
    assert profile_name(found, app(), {"model": "coder", "profile": "a100"}) == "a100"
    assert component({"profile": "a100"}, found).traits["gpu"] == {"count": 2, "pipelineParallel": 2, "class": "a100"}
    del model["profiles"]["l4"]
    assert profile_name(catalog(model), app(), {"model": "coder"}) == "a100", "the only one"


def test_canonical_trait_order() -> None:
    """Assertion 41: model traits first, then the capabilities', whatever order they were written in."""
    made = component({"capabilities": ["watched", "locked-down", "web", "gateway", "scaling", "hub-token"]})
    expected = [
        *("gpu", "prefix-cache", "preload"),
        *("external-secret", "keda-saturation-scaling", "ai-gateway-route", "http-route", "network-policy"),
        "observability",
    ]
    assert list(made.traits) == expected
    assert list(made.environments["production"][1]) == expected
    edges = {"model-config", "llmd-routing", "prompt-policy", "inference-autoscaling", "inference-queue-scaling"}
    assert sorted(TRAIT_ORDER) == sorted({*expected, "kv-offload", "lora-canary", *edges})


def test_a_models_own_trait_stays_in_front() -> None:
    model = deepcopy(MODEL)
    model["traits"]["observability"] = {}
    made = component({"capabilities": ["scaling"]}, catalog(model))
    assert list(made.traits) == ["gpu", "prefix-cache", "preload", "observability", "keda-saturation-scaling"]


class TestKnobs:
    def test_a_model_narrows_a_capabilitys_knob(self) -> None:
        found = catalog()
        turnable = knobs(found.models["coder"], [found.capabilities["scaling"]])
        assert turnable["scaling.maxReplicas"].max == 4
        assert turnable["scaling.maxReplicas"].min == 1
        assert turnable["scaling.maxReplicas"].type == "integer"
        assert turnable["scaling.maxReplicas"].target == ("traits", "keda-saturation-scaling", "maxReplicas")
        assert turnable["scaling.maxReplicas"].range == "1 to 4"

    def test_a_knob_without_its_trait_is_none(self) -> None:
        assert set(knobs(catalog().models["coder"], [])) == {"model.maxNumSeqs"}

    def test_the_tightest_bounds_and_the_common_choices_hold(self) -> None:
        first = document(
            "Capability", "a", {"traits": {"t": {}}, "knobs": {"k": _knob(min=1, max=9, allowed=[1, 2, 3])}}
        )
        second = document("Capability", "b", {"knobs": {"k": _knob(min=2, allowed=[2, 3, 4])}})
        found = knobs(document("Model", "m", {"knobs": {"k": {"max": 5}}}), [first, second])["k"]
        assert (found.min, found.max, found.allowed) == (2, 5, (2, 3))
        assert found.range == "2, 3"

    @pytest.mark.parametrize(
        ("knob", "kind", "shown"),
        [
            ({"min": 1, "max": 2}, "integer", "1 to 2"),
            ({"min": 0.3, "max": 1}, "number", "0.3 to 1"),
            ({"allowed": ["a", "b"]}, "string", "a, b"),
            ({"allowed": [True, False]}, "boolean", "True, False"),
            ({"min": 3}, "integer", "at least 3"),
            ({"max": 3}, "integer", "at most 3"),
            ({}, "", "any"),
        ],
    )
    def test_type_and_range(self, knob: dict[str, Any], kind: str, shown: str) -> None:
        model = document("Model", "m", {"knobs": {"k": {"target": "properties.x", **knob}}})
        found = knobs(model, [])["k"]
        assert (found.type, found.range) == (kind, shown)

    def test_set_and_overrides_go_through_knobs(self) -> None:
        made = component(
            {"capabilities": ["scaling"], "set": {"scaling.maxReplicas": 3}},
            overrides={"production": {"coder": {"scaling.maxReplicas": 1}}},
        )
        replicas = {
            name: traits["keda-saturation-scaling"]["maxReplicas"] for name, (_, traits) in made.environments.items()
        }
        assert made.traits["keda-saturation-scaling"]["maxReplicas"] == 3
        assert replicas == {"dev": 3, "production": 1}


def _knob(**bounds: Any) -> dict[str, Any]:
    return {"target": "traits.t.x", **bounds}


class TestApplication:
    def test_annotations_are_the_inputs_in_order(self) -> None:
        """Assertion 41."""
        parts = [
            {"model": "coder", "name": "a", "capabilities": ["gateway", "scaling"]},
            {"model": "coder", "name": "b", "capabilities": ["scaling", "warm"]},
        ]
        made = compose(catalog(), app(*parts)).application
        assert made["metadata"] == {
            "name": "shop",
            "annotations": {
                "oam.ai/catalog-model": "coder,coder",
                "oam.ai/catalog-capabilities": "gateway,scaling,warm",
            },
        }
        own = [part["properties"]["annotations"] for part in made["spec"]["components"]]
        assert own == [
            {"oam.ai/catalog-model": "coder", "oam.ai/catalog-capabilities": "gateway,scaling"},
            {"oam.ai/catalog-model": "coder", "oam.ai/catalog-capabilities": "scaling,warm"},
        ]

    def test_the_hubs_namespace(self) -> None:
        intent = document("App", "shop", app().spec, owner="t", namespace="teams")  # type: ignore[arg-type]
        assert compose(catalog(), intent).application["metadata"]["namespace"] == "teams"

    def test_components_are_pinned_and_traits_are_not(self) -> None:
        """R11, and the decision that an override could not find a pinned trait."""
        made = compose(catalog(), app()).application["spec"]["components"][0]
        assert made["type"] == "vllm-model@v1.2.3"
        assert [trait["type"] for trait in made["traits"]] == ["gpu", "prefix-cache", "preload"]
        kept = compose(catalog(), app(), {"vllm-model": "1.0.0"}).application
        assert kept["spec"]["components"][0]["type"] == "vllm-model@v1.0.0"

    def test_override_policies(self) -> None:
        """R01, R24: names anchored, no component type, each trait at most once, only what differs."""
        made = compose(catalog(), app({"model": "coder", "capabilities": ["scaling"]})).application
        for name in ("dev", "production"):
            for part in policy(made, f"override-{name}")["properties"]["components"]:
                assert part["name"] == "^coder$"
                assert "type" not in part
                types = [trait["type"] for trait in part["traits"]]
                assert len(types) == len(set(types))
        dev = policy(made, "override-dev")["properties"]["components"][0]
        assert "properties" not in dev
        assert [trait["type"] for trait in dev["traits"]] == ["preload"]

    def test_siblings_with_one_name_inside_the_other(self) -> None:
        """R01: an override for `coder` must not reach `coder-big`."""
        import re

        parts = [{"model": "coder", "name": "coder"}, {"model": "coder", "name": "coder-big"}]
        made = compose(catalog(), app(*parts)).application
        names = [part["name"] for part in made["spec"]["components"]]
        for entry in made["spec"]["policies"]:
            for part in entry["properties"].get("components", ()):
                assert sum(bool(re.search(part["name"], name)) for name in names) == 1

    def test_an_environment_that_changes_nothing_has_no_override(self) -> None:
        model = deepcopy(MODEL)
        model["traits"] = {"gpu": {}}
        same = {key: DEV[key] for key in ("clusters", "namespace", "gate", "gpu")} | {
            "network": "cilium",
            "storage": {},
        }
        made = compose(catalog(model, {"dev": same}), app(environments=("dev",))).application
        assert [item["name"] for item in made["spec"]["policies"]] == ["topology-dev"]
        assert made["spec"]["workflow"]["steps"] == [
            {"name": "deploy-dev", "type": "deploy", "timeout": "24m", "properties": {"policies": ["topology-dev"]}}
        ]

    def test_topology_names_clusters_and_namespace(self) -> None:
        """R23."""
        made = compose(catalog(), app()).application
        assert policy(made, "topology-production")["properties"] == {"clusters": ["one", "two"], "namespace": "llm"}

    def test_workflow(self) -> None:
        """Routes are held back until the model is healthy, then added; a gate before who asks for one."""
        made = compose(catalog(), app({"model": "coder", "capabilities": ["gateway"]})).application
        steps = made["spec"]["workflow"]["steps"]
        assert [(step["name"], step["type"]) for step in steps] == [
            ("deploy-dev-withheld", "deploy"),
            ("deploy-dev", "deploy"),
            ("approve-production", "suspend"),
            ("deploy-production-withheld", "deploy"),
            ("deploy-production", "deploy"),
        ]
        assert steps[0]["properties"]["policies"] == ["topology-dev", "override-dev", "withhold-routes"]
        assert steps[1]["properties"]["policies"] == ["topology-dev", "override-dev"]
        assert policy(made, "withhold-routes")["properties"]["components"] == [
            {"name": "^coder$", "traits": [{"type": "ai-gateway-route", "disable": True}]}
        ]

    def test_without_a_route_there_is_one_step(self) -> None:
        made = compose(catalog(), app()).application
        assert [step["name"] for step in made["spec"]["workflow"]["steps"]] == [
            "deploy-dev",
            "approve-production",
            "deploy-production",
        ]
        assert policy(made, "withhold-routes") is None

    def test_apply_once(self) -> None:
        """R13-R15: one rule a scaled component, by name, on the replicas only; never without rules, never in a step."""
        parts = [
            {"model": "coder", "name": "a", "capabilities": ["scaling"]},
            {"model": "coder", "name": "b"},
            {"model": "coder", "name": "c", "capabilities": ["scaling"]},
        ]
        made = compose(catalog(), app(*parts)).application
        assert policy(made, "apply-once") == {
            "name": "apply-once",
            "type": "apply-once",
            "properties": {
                "enable": True,
                "rules": [
                    {
                        "selector": {"componentNames": [name], "resourceTypes": ["Deployment"]},
                        "strategy": {"path": ["spec.replicas"]},
                    }
                    for name in ("a", "c")
                ],
            },
        }
        for step in made["spec"]["workflow"]["steps"]:
            assert "apply-once" not in step.get("properties", {}).get("policies", ())
        assert policy(compose(catalog(), app()).application, "apply-once") is None

    def test_rendered_claims_are_kept_and_jobs_take_their_pods_along(self) -> None:
        made = compose(catalog(), app()).application
        claims = {"selector": {"resourceTypes": ["PersistentVolumeClaim"]}}
        jobs = {"selector": {"resourceTypes": ["Job"]}, "strategy": "onAppUpdate", "propagation": "cascading"}
        assert policy(made, "collect") == {
            "name": "collect",
            "type": "garbage-collect",
            "properties": {"rules": [{**claims, "strategy": "never"}, jobs]},
        }
        assert policy(made, "take-weights") == {
            "name": "take-weights",
            "type": "take-over",
            "properties": {"rules": [claims]},
        }, "an Application that is made again finds the claims of the one before it"
        only = compose(catalog(), app(environments=("production",))).application
        assert policy(only, "collect")["properties"] == {"rules": [jobs]}, "a claim that exists already is not ours"
        assert policy(only, "take-weights") is None

    def test_every_policy_that_a_step_names_exists(self) -> None:
        """R24: and every override and topology is used by a step."""
        made = compose(catalog(), app({"model": "coder", "capabilities": ["gateway", "scaling"]})).application
        policies = {item["name"]: item["type"] for item in made["spec"]["policies"]}
        named = {
            name
            for step in made["spec"]["workflow"]["steps"]
            for name in step.get("properties", {}).get("policies", ())
        }
        assert named == {name for name, kind in policies.items() if kind in ("topology", "override")}

    def test_composing_changes_nothing_it_was_given(self) -> None:
        found, intent = catalog(), app({"model": "coder", "capabilities": [*CAPABILITIES]})
        before = deepcopy([document.data for document in _documents(found)])
        first = compose(found, intent)
        assert [document.data for document in _documents(found)] == before
        assert compose(found, intent).application == first.application


def _documents(found: Catalog) -> list[Document]:
    return [*found.models.values(), *found.capabilities.values(), *found.environments.values()]


def test_environments_of_the_fixture_differ_in_everything() -> None:
    """The fixture must exercise every row of the table, or a row could be lost unnoticed."""
    from sailplan.facts import ENVIRONMENT

    both = [DEV, PRODUCTION]
    for fact in ENVIRONMENT:
        found = []
        for spec in both:
            value: Any = spec
            for key in fact.source:
                value = value.get(str(key), {}) if isinstance(value, dict) else {}
            found.append(value)
        assert any(value != {} for value in found), fact
