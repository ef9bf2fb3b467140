"""Every rule: one change to the repository's own catalog that breaks it, and what is then said."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sailplan import rules
from sailplan.compose import compose
from sailplan.errors import SailplanError
from sailplan.model import Catalog, Document
from sailplan.rules import flags
from unit.catalogs import GONE, ROOT, document, edited, findings, repository

FLEET = "apps/inference-fleet"


def turnable(target: str) -> dict[str, Any]:
    """A knob `own` of the edge that catalog-sre uses, without bounds."""
    return {"edges/llama32-1b: spec knobs own": {"target": target, "description": "d"}}


OLLAMA, SRE, EDGE_APP = "apps/inference-ollama", "apps/catalog-sre", "apps/chat-edge"
CODER = "models/qwen-coder"
ADAPTERS = f"{CODER}: spec settings lora-canary adapters"
DPO = "xplane-qwen-coder-sql-dpo"


@dataclass(frozen=True)
class Case:
    """A change, and what a finding then says."""

    rule: str
    edits: dict[str, Any]
    words: str
    nearest: str = ""
    app: str = "inference-fleet"


def override(environment: str, trait: str, value: Any) -> dict[str, Any]:
    return {f"environments/{environment}: spec overrides traits {trait}": value}


def properties(value: dict[str, Any]) -> dict[str, Any]:
    return {f"{CODER}: spec properties {key}": item for key, item in value.items()}


def second_app(**changes: Any) -> Document:
    """Another intent: the guardrail application, under another name, in the fleet's environments."""
    app = document("apps/guardrail", repository())
    data = json.loads(json.dumps(app.data))
    data["metadata"]["name"] = "other"
    data["spec"]["environments"] = ["dev"]
    data["spec"]["components"][0].update(changes)
    return replace(app, name="other", data=data)


UNSCRAPED = {f"{FLEET}: spec components 0 capabilities": ["gateway", "saturation-scaling"]}
CASES = [
    # Edges.
    Case("SP126", {"edges/engine-edge: spec backend url": "http://a/v1"}, "one of the two", app="chat-edge"),
    Case("SP126", {"edges/llama32-1b: spec backend": {"url": "http://a/v1"}}, "model of a url", app="catalog-sre"),
    Case("SP126", {"edges/engine-edge: spec backend model": "m"}, "serves its own model", app="chat-edge"),
    Case("SP127", {f"{OLLAMA}: spec components 0 model": "engine-edge"}, "there is no engine", app="inference-ollama"),
    Case(
        "SP127",
        {f"{EDGE_APP}: spec components 1 backend": "chat-edge-modle"},
        "behind it; chat-edge-modle is none",
        "chat-edge-model",
        "chat-edge",
    ),
    Case("SP127", {f"{OLLAMA}: spec components 0 backend": "x"}, "backend changes nothing", app="inference-ollama"),
    Case(
        "SP320",
        {f"{SRE}: spec components 0 capabilities 1": "saturation-scaling"},
        "saturation-scaling is for a model that we serve (vllm-model); llama32-1b is inference-api",
        "autoscaling",
        "catalog-sre",
    ),
    Case("SP320", {f"{FLEET}: spec components 0 capabilities 0": "prompt-sre"}, "prompt-sre is for an edge"),
    Case(
        "SP128",
        {"capabilities/resource-small: spec properties": {"replicas": 1}},
        "not those of inference-api",
        app="catalog-sre",
    ),
    Case(
        "SP129",
        {"edges/llama32-1b: spec traits gpu": {}},
        "gpu is a trait of vllm-model; llama32-1b is for inference-api",
        app="catalog-sre",
    ),
    Case(
        "SP129",
        {"models/qwen3-8b: spec traits prompt-policy": {}},
        "prompt-policy is a trait of inference-api; qwen3-8b is for vllm-model",
    ),
    Case(
        "SP301",
        {f"{SRE}: spec components 0 capabilities 1": "pool-routing"},
        "the traits model-config and llmd-routing: both say which backend is asked",
        app="catalog-sre",
    ),
    Case(
        "SP307",
        {f"{SRE}: spec components 0 set": {"scaling.minReplicas": 4}},
        "minReplicas 4 is above maxReplicas 3",
        app="catalog-sre",
    ),
    # Names in an intent.
    Case("SP101", {f"{FLEET}: spec components 0 model": "qwen-codr"}, "unknown model qwen-codr", "qwen-coder"),
    Case("SP102", {f"{FLEET}: spec components 0 capabilities 2": "gatway"}, "unknown capability gatway", "gateway"),
    Case("SP103", {f"{FLEET}: spec environments 2": "prodction"}, "unknown environment prodction", "production"),
    Case("SP104", {f"{FLEET}: spec overrides": {"stagin": {}}}, "does not exist", "staging"),
    Case("SP104", {f"{FLEET}: spec overrides": {"sandbox": {}}}, "does not go to"),
    Case(
        "SP105", {f"{FLEET}: spec overrides": {"dev": {"xplane-qwen-codr": {}}}}, "does not have", "xplane-qwen-coder"
    ),
    Case(
        "SP106", {f"{FLEET}: spec components 0 set": {"scaling.maxReplcas": 1}}, "cannot be set", "scaling.maxReplicas"
    ),
    Case("SP106", {f"{FLEET}: spec components 0 set": {"model.quantization": "fp16"}}, "does not let a product team"),
    Case(
        "SP106", {f"{FLEET}: spec components 2 set": {"cache.offloadGB": 2}}, "belongs to the capability long-context"
    ),
    # Capabilities of the other component are no advice.
    Case("SP106", {f"{FLEET}: spec components 0 set": {"prompt.system": "x"}}, "does not let a product team"),
    Case("SP106", {f"{OLLAMA}: spec components 0 set": {"cache.offloadGB": 2}}, "does not let", app="inference-ollama"),
    Case(
        "SP106",
        {f"{OLLAMA}: spec components 0 set": {"scaling.maxReplicas": 2}},
        "belongs to the capability autoscaling or queue-scaling, which",
        app="inference-ollama",
    ),
    Case("SP107", {f"{FLEET}: spec components 0 set": {"scaling.maxReplicas": 3}}, "3 is out of the range"),
    Case("SP107", {f"{FLEET}: spec components 0 set": {"scaling.minReplicas": 0}}, "0 is out of the range"),
    Case("SP107", {f"{FLEET}: spec components 0 set": {"scaling.maxReplicas": "2"}}, "is text, not a whole number"),
    Case("SP107", {f"{FLEET}: spec components 0 set": {"scaling.maxReplicas": True}}, "not a whole number"),
    Case("SP107", {f"{FLEET}: spec components 0 set": {"scaling.maxReplicas": 1.5}}, "not a whole number"),
    Case(
        "SP107", {f"{FLEET}: spec components 0 set": {"gateway.requestTimeout": "1801s"}}, "out of the range", "1800s"
    ),
    Case("SP107", {f"{FLEET}: spec overrides": {"dev": {"xplane-qwen-coder": {"scaling.maxReplicas": 9}}}}, "9 is out"),
    Case("SP107", {f"{SRE}: spec components 0 set": {"prompt.system": " "}}, "says nothing", app="catalog-sre"),
    Case(
        "SP107",
        {f"{SRE}: spec components 0 set": {"prompt.system": "x" * 16385}},
        "has 16385 characters; at most 16384",
        app="catalog-sre",
    ),
    *(
        Case("SP107", {**turnable(target), f"{SRE}: spec components 0 set": {"own": value}}, words, app="catalog-sre")
        for target, value, words in (
            ("properties.port", 65536, "own is out of range"),
            ("properties.backendURL", "http://a:65536/v1", "is not of the form that is wanted"),
            ("properties.image", "r.example:70000/a:1", "own is of a form that is refused"),
        )
    ),
    Case("SP108", {f"{FLEET}: spec components 0 profile": "l40"}, "unknown profile of qwen-coder l40", "l4"),
    Case("SP109", {f"{FLEET}: spec components": []}, "components is empty"),
    Case("SP109", {f"{FLEET}: spec environments": []}, "environments is empty"),
    Case(
        "SP110", {f"{FLEET}: spec components 1 name": "xplane-qwen-coder"}, "two components are named xplane-qwen-coder"
    ),
    Case("SP111", {f"{FLEET}: spec components 0 name": "vllm"}, "VLLM_PORT"),
    Case("SP111", {f"{CODER}: spec servedName": "vllm"}, "VLLM_PORT"),
    Case("SP111", {f"{FLEET}: spec components 0 name": "default"}, "ServiceAccount"),
    # Presets and environments.
    Case("SP114", {"environments/dev: spec clusters": []}, "nothing would be deployed"),
    Case("SP115", {f"{CODER}: spec engine": "vllm-0.25"}, "unknown engine vllm-0.25", "vllm-0.25.0"),
    Case("SP116", {f"{CODER}: spec profiles": {"l40": {"gpus": 1}}}, "unknown GPU class l40", "l4"),
    Case("SP116", {"environments/dev: spec gpu class": "l40"}, "unknown GPU class l40", "l4"),
    Case("SP117", {"environments/dev: spec provides 0": "envoy-gatewy"}, "unknown API", "envoy-gateway"),
    Case("SP117", {"capabilities/gateway: spec needs 0": "gateway-apis"}, "unknown API", "gateway-api"),
    Case("SP118", {"capabilities/sql-canary: spec models 0": "qwen-codr"}, "unknown model", "qwen-coder"),
    Case("SP118", {"capabilities/gateway: spec conflicts": ["webroute"]}, "unknown capability", "web-route"),
    Case("SP119", {f"{CODER}: spec knobs": {"Scaling": {"max": 1}}}, "is no name for a knob"),
    Case("SP119", {f"{CODER}: spec knobs": {"scaling.max": {"max": 1}}}, "no target"),
    Case("SP119", {f"{CODER}: spec knobs": {"model.x": {"target": "properties.model.x"}}}, "is no parameter"),
    Case("SP119", {f"{CODER}: spec knobs": {"model.x": {"target": "traits.gpuu.count"}}}, "is no parameter"),
    Case("SP119", {"capabilities/gateway: spec knobs gateway.requestTimeout allowed": []}, "allows no value"),
    Case("SP119", {"capabilities/observability: spec knobs observability.intervalSeconds min": 900}, "above its max"),
    Case("SP120", {f"{CODER}: spec assumed 0": "settings.lora-canary.adapters.x.rank"}, "has no such value"),
    Case("SP122", {"environments/dev: spec clients": {"Open_UI": {"namespace": "a", "labels": {"a": "b"}}}}, "no name"),
    Case("SP122", {"environments/dev: spec clients": {"ui": {"namespace": "a", "labels": {}}}}, "every pod"),
    Case("SP123", {f"{CODER}: spec profiles": {}}, "runs on no GPU class"),
    Case(
        "SP124", {f"{CODER}: spec settings keda-saturation-scaling maxReplicas": 3}, "itself has 3 for scaling.maxRep"
    ),
    Case("SP124", {f"{CODER}: spec properties model maxNumSeqs": 128}, "itself has 128 for model.maxNumSeqs"),
    # Overrides that do nothing.
    Case("SP121", override("dev", "http-route", {"path": "/x"}), "no component in dev has the trait http-route"),
    Case("SP121", {f"{FLEET}: spec overrides": {"dev": {"xplane-qwen-coder": {"scaling.maxReplicas": 2}}}}, "without"),
    # GPUs.
    Case("SP201", {"environments/dev: spec gpu budget": 3}, "dev has 3 GPUs, and its applications need 4 at minimum"),
    Case("SP202", {}, "dev has 4 GPUs; its applications need 4 at minimum replicas and 8 at maximum"),
    Case("SP203", {f"{CODER}: spec weights loadedGB fp8": 20.5}, "does not fit l4 in dev, staging, production"),
    Case("SP204", {}, "6 sequences of 32768 tokens fit at once (12.1 GiB of KV cache, 1.75 GiB each)"),
    Case("SP205", {f"{CODER}: spec profiles l4 gpus": 8}, "over 8 GPUs (tensor parallel)"),
    Case("SP205", {f"{CODER}: spec profiles l4 gpus": 3}, "over 3 GPUs (tensor parallel)"),
    Case("SP206", {f"{CODER}: spec architecture tensorParallel": [1, 8]}, "8 does not divide 28 attention heads"),
    Case("SP207", {f"{CODER}: spec profiles l4": {"gpus": 3, "pipelineParallel": 2}}, "cannot be shared equally"),
    Case("SP208", {f"{CODER}: spec profiles l4 gpus": 2}, "2 GPUs in one pod; a node of l4 has 1"),
    Case("SP209", {f"{CODER}: spec profiles l4 minVRAM": "24Gi"}, "wants 24Gi of GPU memory; l4 has 22.5 GiB"),
    Case("SP210", {"gpus: spec classes l4 fp8": False}, "fp8, which l4 does not compute"),
    Case("SP211", {f"{CODER}: spec properties model quantization": "awq"}, "gives no size in GPU memory for awq"),
    Case("SP214", {f"{CODER}: spec traits gpu": GONE}, "nor a capability attaches gpu"),
    Case(
        "SP212",
        {
            "gpus: spec classes h100": {"memoryGiB": 80, "fp8": True, "engineOverheadGiB": 1.5, "maxPerNode": 8},
            "environments/dev: spec gpu class": "h100",
        },
        "runs on l4, and dev has h100",
    ),
    Case(
        "SP213",
        {f"{CODER}: spec properties model contextWindow": 65536, f"{CODER}: spec knobs": {}},
        "asked for 65536 tokens; qwen-coder knows 32768",
    ),
    # What goes together.
    Case("SP301", {"capabilities/gateway: spec traits hpa": {}}, "keda-saturation-scaling and hpa"),
    Case("SP301", {"capabilities/gateway: spec traits scaler": {}}, "keda-saturation-scaling and scaler"),
    Case(
        "SP303", {"capabilities/gateway: spec conflicts": ["locked-down"]}, "gateway and locked-down exclude each other"
    ),
    Case(
        "SP304", {f"{FLEET}: spec components 0 capabilities": ["sql-canary"]}, "sql-canary needs the capability gateway"
    ),
    Case(
        "SP305", {f"{FLEET}: spec components 1 capabilities": ["gateway", "sql-canary"]}, "not for the model qwen3-8b"
    ),
    Case("SP306", {"environments/dev: spec provides": ["cilium"]}, "scaledobjects.keda.sh"),
    Case("SP306", {"environments/dev: spec network": "cilium"}, "ciliumnetworkpolicies.cilium.io"),
    Case("SP306", {"environments/dev: spec metrics scrape": "ServiceMonitor"}, "servicemonitors.monitoring.coreos.com"),
    Case("SP307", {f"{CODER}: spec settings keda-saturation-scaling minReplicas": 3}, "minReplicas 3 is above maxRep"),
    Case("SP308", properties({"replicas": 3}), "has replicas 3 and a scaler"),
    Case("SP309", {f"{CODER}: spec settings keda-saturation-scaling minReplicas": 0}, "no engine metric is left"),
    Case("SP310", {"environments/production: spec storage size": "10Gi"}, "existing claim, and size"),
    Case("SP311", properties({"rollout": {"maxSurge": 0, "maxUnavailable": 0}}), "no pod could ever be replaced"),
    Case(
        "SP312",
        {
            f"{CODER}: spec properties weights": {"subPath": "one"},
            "models/qwen3-8b: spec properties weights": {"subPath": "one"},
        },
        "write the folder one of the claim llm-models in production",
    ),
    Case("SP313", {"environments/dev: spec scheduling": {"disruptionBudget": {}}}, "one of the two"),
    Case("SP314", {"environments/dev: spec gateway": GONE}, "dev does not have an AI gateway"),
    Case("SP314", {f"{FLEET}: spec components 0 capabilities": ["web-route"]}, "dev does not have a gateway for host"),
    Case("SP315", {f"{FLEET}: spec components 0 capabilities": ["web-route"]}, "hostname of http-route is missing"),
    Case("SP316", {"environments/dev: spec metrics peer": GONE}, "dev does not say who scrapes"),
    Case("SP322", UNSCRAPED, "xplane-qwen-coder scales by metrics that nobody scrapes in dev, staging, production"),
    Case(
        "SP319",
        {f"{FLEET}: spec components 0 capabilities": ["web-route", "locked-down"]},
        "production does not say which pods carry",
    ),
    Case(
        "SP317",
        {
            f"{FLEET}: spec components 0 capabilities": ["hub-token"],
            f"{FLEET}: spec components 1 capabilities": ["hub-token"],
        },
        "both make the secret hf-token",
    ),
    Case("SP318", {f"{CODER}: spec traits preload": GONE}, "weights must be there already"),
    # Names and splits on gateways.
    Case(
        "SP112",
        {"apps/other": second_app(name="xplane-qwen-coder")},
        "have the same name in namespace llm-dev",
        app="other",
    ),
    Case("SP113", {f"{FLEET}: spec components 1 name": "xplane-qwen-coder-preload"}, "the ServiceAccount"),
    Case("SP113", {f"{FLEET}: spec components 1 name": f"xplane-qwen-coder-canary-{DPO}"}, "the AIServiceBackend"),
    Case(
        "SP113",
        {"apps/other": second_app(name="xplane-qwen-coder-preload")},
        "other/xplane-qwen-coder-preload and inference-fleet/xplane-qwen-coder both make",
        app="other",
    ),
    Case(
        "SP113",
        {"environments/dev: spec overrides": {"properties": {"weights": {"claimName": "all"}}}},
        "the PersistentVolumeClaim all",
    ),
    Case("SP125", {f"{FLEET}: spec components 1 name": "x" * 45}, "has 45 characters"),
    Case("SP401", {f"{ADAPTERS} xplane-qwen-coder-securecode weightPercent": 90}, "add up to 100 percent"),
    Case(
        "SP402",
        {"capabilities/sql-canary: spec traits lora-canary adapters": {f"{DPO}s": {"weightPercent": 10}}},
        f"qwen-coder describes no adapter {DPO}s",
        DPO,
    ),
    Case("SP402", {f"{ADAPTERS} {DPO} rank": GONE, f"{CODER}: spec assumed": []}, "has no rank"),
    Case("SP402", {f"{ADAPTERS} {DPO} revision": GONE}, "has no revision"),
    Case(
        "SP403",
        {f"{ADAPTERS} xplane-qwen3-8b": {"repository": "a/b", "revision": "0" * 40, "rank": 8}},
        "xplane-qwen3-8b is served twice on the gateway ai-gateway of dev",
    ),
    Case(
        "SP403",
        {f"{ADAPTERS} xplane-qwen-coder": {"repository": "a/b", "revision": "0" * 40, "rank": 8}},
        "serves it as an adapter",
    ),
    Case(
        "SP403",
        {"models/qwen3-8b: spec properties servedName": "xplane-qwen-coder"},
        "xplane-qwen-coder is served twice",
    ),
    Case("SP404", {f"{ADAPTERS} {DPO} rank": 24}, "rank 24; the engine sets memory aside for 32"),
    Case("SP405", {"capabilities/gateway: spec traits": {}}, "has a canary and no ai-gateway-route"),
    Case("SP406", {"capabilities/gateway: spec traits endpoint-picker": {}}, "canary and endpoint-picker"),
    Case("SP407", {"capabilities/gateway: spec traits ai-gateway-route requestTimeout": "45s"}, "cut off after 45s"),
    Case(
        "SP407", {"capabilities/gateway: spec traits ai-gateway-route requestTimeout": "1m30s"}, "cut off after 1m30s"
    ),
    Case(
        "SP408",
        {
            f"{ADAPTERS} twin": {
                "repository": "jk200201/qwen2.5-coder-7b-sql-dpo",
                "revision": "54344a00bd90d153fe8710abb8d600ceb4ed8458",
                "rank": 64,
            }
        },
        "are the same",
    ),
    # Weights, secrets, images, flags.
    Case("SP501", {"environments/dev: spec hub": GONE}, "llamaguard3-1b is gated, and dev has no hub token"),
    Case("SP502", {"images: spec engines vllm-0.25.0 image": "vllm/vllm-openai:latest"}, "is latest, which moves"),
    Case("SP502", {"images: spec engines vllm-0.25.0 image": "host:5000/vllm"}, "has neither tag nor digest"),
    Case("SP502", properties({"image": "vllm/vllm-openai"}), "has neither tag nor digest"),
    Case("SP506", {}, "assumed, not measured"),
    Case("SP506", {}, "estimated, not measured"),
    Case("SP507", {f"{CODER}: spec status": "deprecated"}, "qwen-coder is deprecated"),
    Case("SP508", properties({"secrets": {"hf-token": True}}), "the engine would get the hub token hf-token"),
    Case("SP509", {f"{CODER}: spec status": "experimental"}, "qwen-coder is experimental"),
]


PITFALLS = {
    "SP105": "R02",
    "SP301": "R06",
    "SP308": "R13",
    "SP114": "R23",
    "SP306": "R23",
    "SP111": "R38",
    "SP402": "R42",
    "SP404": "R42",
    "SP403": "R45",
    "SP501": "R46",
    "SP312": "R47",
    "SP318": "R47",
    "SP311": "R48",
    "SP407": "R50",
    "SP406": "R52",
    "SP316": "R57",
}
"""Rows of pitfalls.md by the rule that ends them; `pytest -k R48` runs its cases."""

ASSERTIONS = {"SP307": 19, "SP401": 24, "SP309": 18, "SP201": 40, "SP202": 40, "SP104": 42}
"""Assertions of the seed facts, by the rule that checks them."""


def named(case: Case) -> str:
    known = [PITFALLS.get(case.rule, ""), f"A{ASSERTIONS[case.rule]}" if case.rule in ASSERTIONS else ""]
    return "-".join([case.rule, *filter(None, known), case.words[:30]])


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_broken_rule_is_said(case: Case) -> None:
    said = [found for found in findings(case.edits, case.app) if found.id == case.rule]
    assert said, f"{case.rule} says nothing"
    matching = [found for found in said if case.words in found.message]
    assert matching, [found.message for found in said]
    assert matching[0].severity == rules.RULES[case.rule].severity
    assert matching[0].nearest == case.nearest
    assert matching[0].position.line > 0
    assert matching[0].field


def test_every_rule_has_a_case() -> None:
    elsewhere = {rule.id for rule in rules.listed() if rule.subject in ("elsewhere", "checkout")}
    elsewhere |= {"SP012", "SP503", "SP504", "SP505"}  # below
    assert {case.rule for case in CASES} | elsewhere == set(rules.RULES)


def test_every_rule_says_what_it_is_for() -> None:
    for rule in rules.listed():
        assert rule.reason.endswith("."), rule.id
        assert rule.title, rule.id


def test_the_repository_has_no_errors() -> None:
    said = [found for found in findings({}) if found.severity == "error"]
    assert said == []


def test_40_the_fleet_of_four_against_four_gpus() -> None:
    said = [found for found in findings({}, "inference-fleet") if found.id == "SP202"]
    assert {found.field for found in said} == {"spec.gpu.budget"}
    assert {found.position.file for found in said} == {
        f"catalog/environments/{name}.yaml" for name in ("dev", "staging", "production")
    }
    assert all(found.given == "8" and found.allowed == "at most 4" for found in said)
    assert not [found for found in findings({}) if found.id == "SP201"]


def test_other_applications_hold_gpus_too() -> None:
    said = [
        found for found in findings({"apps/other": second_app(name="other")}, "inference-fleet") if found.id == "SP201"
    ]
    assert ["other/other 1" in found.message for found in said] == [True]


def test_two_environments_of_one_cluster_do_not_share_a_gateway_or_a_namespace() -> None:
    dev = document("environments/dev", repository())
    twin = replace(dev, name="twin", data={**dev.data, "metadata": {**dev.data["metadata"], "name": "twin"}})
    edits = {"environments/twin": twin, f"{FLEET}: spec environments": ["dev", "twin"]}
    said = {found.id for found in findings(edits, "inference-fleet") if found.severity == "error"}
    assert {"SP112", "SP403"} <= said
    apart = {
        **edits,
        "environments/twin: spec namespace": "llm-twin",
        "environments/twin: spec gateway name": "ai-gateway-twin",
    }
    assert [found for found in findings(apart, "inference-fleet") if found.severity == "error"] == []


def test_names_are_counted_over_applications_in_other_namespaces_too() -> None:
    dev = document("environments/dev", repository())
    twin = replace(dev, name="twin", data={**dev.data, "metadata": {**dev.data["metadata"], "name": "twin"}})
    other = second_app(name="xplane-qwen-coder")
    edits = {
        "environments/twin": twin,
        "environments/twin: spec namespace": "llm-twin",
        "apps/other": other,
        "apps/other: spec environments": ["twin"],
    }
    said = [found for found in findings(edits, "other") if found.severity == "error"]
    assert [found.id for found in said] == ["SP403"]
    assert "other/xplane-qwen-coder serves it as the model" in said[0].message


def test_an_intent_that_is_broken_does_not_stop_the_others() -> None:
    broken = second_app(model="nothing")
    assert [
        found.id for found in findings({"apps/other": broken}, "inference-fleet") if found.severity == "error"
    ] == []


def test_a_name_taken_twice(tmp_path: Path) -> None:
    catalog = repository()
    twin = document(CODER, catalog)
    said = rules.check(replace(catalog, duplicates=(twin,)), [])
    assert [found.message for found in said if found.id == "SP012"] == ["another Model is named qwen-coder too"]


def test_scaling_without_scraping_is_said_where_the_capability_is_picked() -> None:
    edits = {**UNSCRAPED, "environments/dev: spec metrics scrapesEverything": True}
    (said,) = [found for found in findings(edits) if found.id == "SP322"]
    assert said.message.endswith("in staging, production")
    assert (said.field, said.given) == ("spec.components[0].capabilities[1]", "saturation-scaling")
    assert said.position.file == "applications/inference-fleet/app.yaml"
    assert "add observability" in said.fix and "catalog/environments/staging.yaml" in said.fix


def test_an_empty_prompt_is_told_what_to_do() -> None:
    said = findings({f"{SRE}: spec components 0 set": {"prompt.system": ""}}, "catalog-sre")
    [found] = [one for one in said if one.id == "SP107"]
    assert (found.given, found.allowed) == ("", "text that is not empty")
    assert found.fix == "write some text, or leave prompt.system out"


def test_bounds_of_the_preset_narrow_those_of_the_capability() -> None:
    said = findings({f"{FLEET}: spec components 0 set": {"scaling.maxReplicas": 3}}, "inference-fleet")
    assert [found.allowed for found in said if found.id == "SP107"] == ["1 to 2"]
    said = findings({f"{FLEET}: spec components 1 set": {"scaling.maxReplicas": 3}}, "inference-fleet")
    assert [found.id for found in said if found.id == "SP107"] == []


FLAGS = {
    "engine": "vllm",
    "version": "0.25.0",
    "flags": [
        {"name": "--max-num-seqs", "takes": "value", "type": "int"},
        {"name": "--max-num-batched-tokens", "takes": "value", "type": "int"},
        {"name": "--swap-space", "takes": "value", "type": "float"},
        {"name": "--seed", "takes": "value", "type": "int"},
        {"name": "--dtype", "takes": "value", "choices": ["auto", "float16"], "aliases": []},
        {"name": "--kv-cache-dtype", "takes": "value", "choices": ["auto", "fp8"]},
        {"name": "--enforce-eager", "takes": "none", "negation": "--no-enforce-eager"},
        {"name": "--tensor-parallel-size", "aliases": ["-tp"], "takes": "value"},
        {"name": "--enable-log-requests", "takes": "none", "negation": "--no-enable-log-requests"},
        {"name": "--lora-modules", "takes": "values"},
        {"name": "--served-model-name", "takes": "values"},
        {"name": "--port", "takes": "value"},
    ],
    "removed": {"--disable-log-requests": "leave it out: not logging is the default now"},
}


@pytest.fixture
def with_flags(tmp_path: Path) -> Catalog:
    """A catalog whose engine has the flags above, and the definitions of this repository."""
    folder = tmp_path / "catalog/engine-flags"
    folder.mkdir(parents=True)
    (folder / "vllm-0.25.0.json").write_text(json.dumps(FLAGS), encoding="utf-8")
    (tmp_path / "definitions").symlink_to(ROOT / "definitions")
    (tmp_path / "catalog/schema").symlink_to(ROOT / "catalog/schema")
    return replace(repository(), root=str(tmp_path))


def arguments(catalog: Catalog, *given: str) -> list[tuple[str, str]]:
    changed = edited({f"{CODER}: spec properties extraArgs": list(given)}, catalog)
    said = rules.check(changed, [compose(changed, changed.apps["inference-fleet"])])
    return [(found.id, f"{found.message} {found.fix}") for found in said if found.id in ("SP503", "SP504", "SP505")]


@pytest.mark.parametrize(
    "given",
    (
        "--max-num-seqs=9",
        "--max_num_seqs=9",
        "--max-num-s=9",
        "--served_model_name=x",
        "--port=9",
        "--po=1",
        "--dtyp=auto",
        "--tensor-parallel-size=2",
        "--tensor-par=2",
        "--lora_modules=a=b",
        "--no-enable-prefix-caching",
        "--enable_pref",
    ),
)
def test_33_managed_flags_are_refused_in_every_spelling(with_flags: Catalog, given: str) -> None:
    assert "SP504" in [rule for rule, _ in arguments(with_flags, given)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("--sed=1", "does not know --sed did you mean --seed?"),
        ("--foo=1", "does not know --foo"),
        ("--disable-log-requests", "no longer has --disable-log-requests leave it out"),
        ("--disable_log_requests", "no longer has --disable_log_requests leave it out"),
        ("--e", "--e may be any of --enable-log-requests, --enforce-eager"),
        ("--seed", "--seed needs a value"),
        ("--enforce-eager=true", "takes no value"),
        ("--no-enforce-eager=1", "takes no value"),
        ("--kv-cache-dtype=fp16", "does not take fp16, only auto, fp8 write --kv-cache-dtype=VALUE"),
    ],
)
def test_r44_flags_that_the_engine_does_not_take(with_flags: Catalog, given: str, words: str) -> None:
    said = arguments(with_flags, given)
    assert words in dict(said)["SP503"]


def test_flags_that_the_engine_takes(with_flags: Catalog) -> None:
    assert arguments(with_flags, "--seed=1", "--swap_space=2", "--no-enforce-eager", "--kv-cache-dtype=fp8") == []


def test_r44_the_committed_list_is_that_of_the_pinned_engine() -> None:
    catalog = repository()
    for name, one in catalog.images.spec["engines"].items() if catalog.images else ():
        listed = json.loads((ROOT / "catalog" / one["flags"]).read_text(encoding="utf-8"))
        assert f"{listed['engine']}-{listed['version']}" == name
        assert listed["version"] == one["version"]
        assert one["image"].endswith(f":v{listed['version']}")
    assert arguments(catalog, "--max-num-batched-tokens=8192", "--seed=1", "--no-enable-log-requests") == []
    assert [rule for rule, _ in arguments(catalog, "--disable-log-requests")] == ["SP503"]
    assert [rule for rule, _ in arguments(catalog, "--kv_cache_dtype=fp16")] == ["SP503"]


def test_every_managed_flag_is_one_of_the_engine() -> None:
    catalog = repository()
    known, owned = flags.engine(catalog, "vllm-0.25.0"), flags.managed(catalog)
    assert known and len(owned) > 20
    assert [name for name in owned if name not in known.flags and name != "--model-tag"] == []


def test_a_missing_list_of_flags_is_said(with_flags: Catalog) -> None:
    (Path(with_flags.root) / "catalog/engine-flags/vllm-0.25.0.json").write_text("{", encoding="utf-8")
    said = rules.check(edited({"images: spec engines vllm-0.25.0 flags": "engine-flags/none.json"}, with_flags), [])
    assert "SP505" in [found.id for found in said]


def test_findings_are_sorted_worst_first() -> None:
    changed = edited({"environments/dev: spec gpu budget": 1, f"{CODER}: spec status": "deprecated"})
    said = rules.check(changed, [compose(changed, changed.apps["inference-fleet"])])
    severities = [found.severity for found in said]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_unknown_subjects_raise_nothing_odd() -> None:
    with pytest.raises(SailplanError):
        from sailplan.schema import json_schema

        json_schema("nothing", ROOT)


def test_advice_is_what_the_component_can_take() -> None:
    """A capability of engines, chosen for an edge by mistake, brings no keys that an edge could set."""
    part = f"{SRE}: spec components 0"
    edits = {f"{part} capabilities 1": "saturation-scaling", f"{part} set": {"scaling.queueLength": 1}}
    found = {one.id: one for one in findings(edits, "catalog-sre")}
    assert "scaling" not in found["SP106"].allowed + found["SP106"].nearest + found["SP106"].fix
    assert "sql-canary" not in findings({f"{FLEET}: spec components 1 capabilities 0": "prompt-sre"})[0].allowed
