"""Assertions about scaling, and the arithmetic of the autoscaler behind them; numbers as in tests/README.md."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from definitions.engine import Object, application, args_of, component, dry_run, one, refusal
from definitions.fleet import CODER, MODELS, PROPERTIES, fleet


def triggers(scaled: Object) -> dict[str, Any]:
    return {trigger["name"]: trigger for trigger in scaled["spec"]["triggers"]}


def desired(trigger: Any, ready: int, metric: float) -> int:
    """What the HPA wants: Kubernetes' replica calculator, tolerance 0.1, for the two metric types of KEDA.

    Value compares the metric as it is and multiplies by the pods that are ready; AverageValue divides the metric by
    the threshold, however many pods there are.
    """
    threshold = float(trigger["metadata"]["threshold"])
    if trigger["metricType"] == "Value":
        ratio = metric / threshold
        return ready if abs(ratio - 1) <= 0.1 else math.ceil(ready * ratio)
    ratio = metric / (threshold * ready)
    return ready if abs(ratio - 1) <= 0.1 else math.ceil(metric / threshold)


@pytest.mark.parametrize("sequences", [1, 32, 64, 256])
def test_assertion_15_one_number_for_engine_and_signal(sequences: int) -> None:
    objects = one({"keda-saturation-scaling": {}}, {"model": {"maxNumSeqs": sequences}})
    args = args_of(objects)
    query = triggers(objects["ScaledObject/model"])["running"]["metadata"]["query"]
    assert args[args.index("--max-num-seqs") + 1] == str(sequences)
    assert query.endswith(f"}}) / {sequences}")


@pytest.mark.parametrize("model", MODELS)
def test_assertion_16_default_thresholds(model: str) -> None:
    scaled = fleet()[model][f"ScaledObject/{model}"]
    found = {name: trigger["metadata"]["threshold"] for name, trigger in triggers(scaled).items()}
    assert found == {"running": "0.7", "kv-cache": "0.6", "waiting": "8"}
    assert scaled["spec"]["pollingInterval"] == 15


@pytest.mark.parametrize(
    ("name", "ready", "metric", "wanted"),
    [
        ("running", 2, 0.70, 2),  # at the threshold: stays (AverageValue would want 1)
        ("running", 2, 0.76, 2),  # within the tolerance of a tenth
        ("running", 2, 0.78, 3),
        ("running", 3, 1.0, 5),  # AverageValue can never want more than 2
        ("running", 5, 1.0, 8),
        ("running", 3, 0.2, 1),
        ("kv-cache", 2, 0.60, 2),
        ("kv-cache", 2, 1.0, 4),
        ("kv-cache", 4, 0.65, 4),
        ("waiting", 1, 8, 1),
        ("waiting", 1, 17, 3),  # a sum, spread over the pods
        ("waiting", 3, 24, 3),
        ("waiting", 3, 48, 6),
        ("waiting", 3, 0, 0),  # the others, and minReplicas, hold the pods
    ],
)
def test_assertion_17_ratios_by_value(name: str, ready: int, metric: float, wanted: int) -> None:
    found = triggers(fleet()[CODER][f"ScaledObject/{CODER}"])
    assert {name: trigger["metricType"] for name, trigger in found.items()} == {
        "running": "Value",
        "kv-cache": "Value",
        "waiting": "AverageValue",
    }
    assert desired(found[name], ready, metric) == wanted


@pytest.mark.parametrize("load", [10, 40, 100, 150])
def test_assertion_17_a_closed_loop_settles(load: int) -> None:
    """The load spreads over the pods, 32 sequences each: the count settles, and does not flap."""
    running = triggers(fleet()[CODER][f"ScaledObject/{CODER}"])["running"]
    pods, seen = 1, []
    for _ in range(20):
        pods = max(1, min(20, desired(running, pods, min(1.0, load / pods / 32))))
        seen.append(pods)
    assert len(set(seen[-5:])) == 1
    assert load / seen[-1] / 32 <= 0.7 * 1.1


def test_assertion_18_zero_is_refused_not_turned_into_one() -> None:
    assert "parameter.minReplicas" in refusal({"keda-saturation-scaling": {"minReplicas": 0}})


def test_assertion_19_minimum_above_maximum() -> None:
    said = refusal({"keda-saturation-scaling": {"minReplicas": 3, "maxReplicas": 2}})
    assert "minReplicas 3 is above maxReplicas 2" in said


@pytest.mark.parametrize("seconds", [60, 300, 1800])
def test_assertion_20_the_way_down_is_the_hpas(seconds: int) -> None:
    spec = one({"keda-saturation-scaling": {"scaleDownStabilizationSeconds": seconds}})["ScaledObject/model"]["spec"]
    down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] == seconds
    assert "cooldownPeriod" not in spec


def test_assertion_21_environments_share_no_signal() -> None:
    """Everything that asks for metrics names the namespace, and differs by it alone."""
    found = []
    for namespace in ("llm-dev", "llm-staging"):
        part = component("model", PROPERTIES[CODER], {"keda-saturation-scaling": {}, "observability": {}})
        objects = dry_run(application([part], namespace=namespace))
        text = str([item["spec"] for item in objects if item["kind"] in ("ScaledObject", "VMRule")])
        series = re.findall(r"vllm:\w+\{[^}]*\}", text)
        assert len(series) == 6
        assert all(f'namespace="{namespace}"' in one_series for one_series in series)
        found.append(text)
    assert found[0] != found[1] == found[0].replace("llm-dev", "llm-staging")
