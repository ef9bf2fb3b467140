"""Rows of the list of pitfalls that concern the engine: names, probes, memory, adapters, weights."""

from __future__ import annotations

from typing import Any

import pytest

from definitions.engine import args_of, engine_of, kinds, one, refusal
from definitions.files import OTHER_REVISION
from definitions.test_commute import GIVEN, PROPERTIES


def pod(**properties: Any) -> Any:
    return one(properties=properties)["Deployment/model"]["spec"]["template"]["spec"]


def adapters(*ranks: int) -> dict[str, Any]:
    return {
        "adapters": {
            f"a{number}": {"repository": "team/a", "revision": OTHER_REVISION, "rank": rank}
            for number, rank in enumerate(ranks)
        }
    }


def test_R37_the_metric_that_this_engine_has() -> None:
    """Renamed by the engine; a name that is gone is an error (R31), not silence."""
    text = str(one({"keda-saturation-scaling": {}})["ScaledObject/model"])
    assert "vllm:kv_cache_usage_perc" in text and "gpu_cache_usage_perc" not in text


def test_R38_no_service_variables() -> None:
    assert pod()["enableServiceLinks"] is False
    assert kinds(one({"preload": {}}), "Job")[0]["spec"]["template"]["spec"]["enableServiceLinks"] is False
    assert 'may not be named "vllm"' in refusal(name="vllm")


@pytest.mark.parametrize(("gigabytes", "least"), [(None, 330), (0.5, 330), (16.4, 508), (140, 2980)])
def test_R39_start_up_budget_from_the_size(gigabytes: float | None, least: int) -> None:
    """180 s for the engine and the weights at 0.05 GB/s; liveness begins only after it; the Deployment waits longer."""
    model = {"model": {"weightsGB": gigabytes}} if gigabytes else {}
    objects = one(properties=model)
    startup = engine_of(objects)["startupProbe"]
    budget = startup["failureThreshold"] * startup["periodSeconds"]
    assert least <= budget < least + 10
    assert objects["Deployment/model"]["spec"]["progressDeadlineSeconds"] > budget


def test_R39_a_budget_below_the_least_is_refused() -> None:
    assert "parameter.startupSeconds" in refusal(properties={"startupSeconds": 45})
    assert engine_of(one(properties={"startupSeconds": 1800}))["startupProbe"]["failureThreshold"] == 180


def test_R40_shared_memory_is_there_once() -> None:
    """Decision: always, and within the memory limit; whatever traits add."""
    spec = one(GIVEN, PROPERTIES)["Deployment/model"]["spec"]["template"]["spec"]
    mounts = [mount for mount in spec["containers"][0]["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
    volumes = [volume for volume in spec["volumes"] if volume["name"] == "shm"]
    assert mounts == [{"name": "shm", "mountPath": "/dev/shm"}]
    assert volumes == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]


@pytest.mark.parametrize(
    ("ranks", "limit"),
    [((8, 64), 64), ((1,), 1), ((2,), 8), ((17,), 32), ((300,), 320), ((512, 8), 512)],
)
def test_R42_rank_limit_is_the_smallest_that_takes_all(ranks: tuple[int, ...], limit: int) -> None:
    args = args_of(one({"lora-canary": adapters(*ranks)}))
    assert args[args.index("--max-lora-rank") + 1] == str(limit)
    assert args[args.index("--max-loras") + 1] == str(len(ranks))


def test_R43_adapters_are_in_the_pod_template() -> None:
    """On every pod from the start; a new adapter or revision is a rollout; nothing is loaded at run time."""
    before = one({"lora-canary": adapters(8)})["Deployment/model"]["spec"]["template"]
    after = one({"lora-canary": adapters(8, 8)})["Deployment/model"]["spec"]["template"]
    assert before != after
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" not in str(after)
    assert "parameter.env" in refusal(properties={"env": {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}})


def test_R44_images_are_pinned() -> None:
    for image in ("vllm/vllm-openai", "vllm/vllm-openai:latest", "registry.example.com:5000/vllm"):
        assert "parameter.image" in refusal(properties={"image": image})


@pytest.mark.parametrize(("given", "name"), [({}, "model"), ({"servedName": "big-7b"}, "big-7b")])
def test_R45_one_served_name_everywhere(given: dict[str, str], name: str) -> None:
    traits = {"ai-gateway-route": {}, "keda-saturation-scaling": {}, "observability": {}}
    objects = one(traits, given)
    args = args_of(objects)
    assert args[args.index("--served-model-name") + 1] == name
    route = objects["AIGatewayRoute/model"]["spec"]["rules"][0]["matches"][0]["headers"][0]
    assert route["value"] == name
    queries = [found["metadata"]["query"] for found in objects["ScaledObject/model"]["spec"]["triggers"]]
    rules = [rule["expr"] for rule in objects["VMRule/model"]["spec"]["groups"][0]["rules"]]
    assert all(f'model_name="{name}"' in text for text in [*queries, *rules])


def test_R46_offline_with_preload_on_the_engine_only() -> None:
    objects = one({"preload": {}})
    engine = {item["name"]: item.get("value") for item in engine_of(objects)["env"]}
    (job,) = kinds(objects, "Job")
    loader = {item["name"] for item in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert (engine["HF_HUB_OFFLINE"], engine["TRANSFORMERS_OFFLINE"]) == ("1", "1")
    assert not loader & {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}
    assert args_of(objects)[0].startswith("/models/")
    assert "HF_HUB_OFFLINE" not in str(one())


def test_R47_one_writer_and_readers_that_only_read() -> None:
    objects = one({"preload": {}}, {"replicas": 4})
    (mount,) = [found for found in engine_of(objects)["volumeMounts"] if found["name"] == "models"]
    (job,) = kinds(objects, "Job")
    assert mount["readOnly"] is True
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (1, 1)


def test_R48_no_second_gpu_for_an_update() -> None:
    objects = one({"gpu": {"count": 8}})
    assert objects["Deployment/model"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert "are both 0" in refusal({"gpu": {"count": 8}}, {"rollout": {"maxSurge": 0, "maxUnavailable": 0}})


def test_R49_prefix_caching_brings_no_connector() -> None:
    args = " ".join(args_of(one({"prefix-cache": {}})))
    assert "kv-transfer" not in args and "--kv-offloading" not in args
