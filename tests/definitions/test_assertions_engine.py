"""Assertions about the engine's Deployment and Service; numbers as in tests/README.md."""

from __future__ import annotations

import pytest

from conformance.pod_security import pod_security_violations
from definitions.engine import args_of, engine_of, kinds, one, refusal
from definitions.fleet import CHAT, CODER, FIM, GUARD, MODELS, SECURE, SQL, fleet

every = pytest.mark.parametrize("model", MODELS)


def following(args: list[str], flag: str) -> str:
    return args[args.index(flag) + 1]


def test_assertion_01_thirteen_tokens() -> None:
    """Decision: the model comes first, as in `vllm serve MODEL`."""
    assert args_of(fleet()[FIM], FIM) == [
        "/models/df3ce67c0e24480f20468b6ef2894622d69eb73b",
        "--served-model-name", FIM,
        "--max-model-len", "8192",
        "--max-num-seqs", "64",
        "--gpu-memory-utilization", "0.92",
        "--quantization", "fp8",
        "--enable-prefix-caching",
    ]  # fmt: skip


def test_assertion_02_no_quantization_for_16_bit() -> None:
    args = args_of(fleet()[GUARD], GUARD)
    assert "--quantization" not in args and following(args, "--dtype") == "float16"


def test_assertion_03_groups_in_order() -> None:
    args = args_of(fleet()[CODER], CODER)
    groups = [
        "--quantization",
        "--enable-prefix-caching",
        "--kv-offloading-size",
        "--tool-call-parser",
        "--enable-lora",
    ]
    assert [flag for flag in args if flag in groups] == groups
    assert "--cpu-offload-gb" not in args
    assert (following(args, "--max-loras"), following(args, "--max-lora-rank")) == ("2", "64")
    assert {module.split("=")[0] for module in args[args.index("--lora-modules") + 1 :]} == {SQL, SECURE}


def test_assertion_04_tools_without_adapters() -> None:
    args = args_of(fleet()[CHAT], CHAT)
    assert following(args, "--tool-call-parser") == "hermes"
    assert not [token for token in args if "lora" in token]


@every
def test_assertion_05_weights_are_local(model: str) -> None:
    """Decision: no --model; the path is the first token."""
    args = args_of(fleet()[model], model)
    assert args[0].startswith("/models/") and "--model" not in args
    assert not [token for token in args if "s3://" in token or token.startswith(("Qwen/", "meta-llama/"))]


def test_assertion_06_user_tokens_last_and_as_they_are() -> None:
    tokens = ["--seed=1", '--hf-overrides={"a": "b"}', "--enable-log-requests", "--block-size=32"]
    traits = {"gpu": {"count": 2}, "prefix-cache": {}, "kv-offload": {}}
    properties = {"model": {"toolCallParser": "hermes", "streaming": {"enabled": True}}}
    plain = args_of(one(traits, properties))
    assert args_of(one(traits, {**properties, "extraArgs": tokens})) == [*plain, *tokens]
    assert args_of(one(traits, {**properties, "extraArgs": []})) == plain


def test_assertion_07_concurrency_alone_streams_nothing() -> None:
    args = args_of(one(properties={"model": {"streaming": {"concurrency": 16}}}))
    assert not {"--load-format", "--model-loader-extra-config"} & set(args)


@every
def test_assertion_08_no_replicas_and_no_second_gpu(model: str) -> None:
    """Decision: a rolling update that takes the old pod first; Recreate is an option."""
    spec = fleet()[model][f"Deployment/{model}"]["spec"]
    assert "replicas" not in spec
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


@every
def test_assertion_09_service_finds_the_engine_only(model: str) -> None:
    objects = fleet()[model]
    (service,), (deployment,), (job,) = kinds(objects, "Service"), kinds(objects, "Deployment"), kinds(objects, "Job")
    selector = service["spec"]["selector"].items()
    assert service["spec"]["ports"] == [{"name": "http", "port": 8000, "targetPort": "http", "protocol": "TCP"}]
    assert selector <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert not selector <= job["spec"]["template"]["metadata"]["labels"].items()


@every
def test_assertion_10_probes_and_budget(model: str) -> None:
    container = engine_of(fleet()[model], model)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    assert container["startupProbe"]["failureThreshold"] * container["startupProbe"]["periodSeconds"] >= 330


@every
def test_assertion_11_every_pod_is_restricted(model: str) -> None:
    pods = kinds(fleet()[model], "Deployment", "Job")
    assert len(pods) == 2
    for item in pods:
        template = item["spec"]["template"]
        assert not pod_security_violations(template)
        assert all(
            container["securityContext"]["readOnlyRootFilesystem"] for container in template["spec"]["containers"]
        )
        assert template["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("count", [1, 2, 8])
def test_assertion_12_gpus(count: int) -> None:
    objects = one({"gpu": {"count": count, "nodeSelector": {"pool": "gpu"}}})
    pod = objects["Deployment/model"]["spec"]["template"]["spec"]
    resources = engine_of(objects)["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == str(count)
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]
    assert pod["nodeSelector"] == {"pool": "gpu"}
    # Decision: tensor parallel over all GPUs, and only when there are several.
    assert ("--tensor-parallel-size" in args_of(objects)) == (count > 1)


def test_assertion_13_resources_of_the_small_and_the_others() -> None:
    """Decision: kv-offload adds what it takes (28 GiB for 28 layers)."""
    assert engine_of(fleet()[GUARD], GUARD)["resources"] == {
        "requests": {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "1"},
        "limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
    }
    for model, memory in ((FIM, ("16Gi", "32Gi")), (CODER, ("44Gi", "60Gi")), (CHAT, ("34Gi", "50Gi"))):
        resources = engine_of(fleet()[model], model)["resources"]
        assert (resources["requests"]["cpu"], resources["limits"]["cpu"]) == ("2", "8")
        assert (resources["requests"]["memory"], resources["limits"]["memory"]) == memory


def test_assertion_14_partial_resources_keep_the_rest() -> None:
    resources = engine_of(one(properties={"resources": {"requests": {"cpu": "1"}}}))["resources"]
    assert resources == {"requests": {"cpu": "1", "memory": "16Gi"}, "limits": {"cpu": "8", "memory": "32Gi"}}


@pytest.mark.parametrize("tokens", [["--max_num_seqs=1"], ["--served-model-name=x"], ["--port=9"], ["foo"]])
def test_assertion_33_managed_and_bare_tokens(tokens: list[str]) -> None:
    assert "extraArgs" in refusal(properties={"extraArgs": tokens})


def test_assertion_38_prefix_cache_switched_off_in_words() -> None:
    assert "--no-enable-prefix-caching" in args_of(one({"prefix-cache": {"enabled": False}}))


def test_assertion_39_a_pod_can_be_kept_from_disruption() -> None:
    """On the pod template, where Karpenter looks."""
    metadata = fleet()[FIM][f"Deployment/{FIM}"]["spec"]["template"]["metadata"]
    assert metadata["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
