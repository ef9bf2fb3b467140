"""Whether a model fits a GPU: weights, the engine's own needs and the KV cache against the memory it may take. Pure.

Everything is computed from facts of the catalog. Sizes are bytes inside; GB is 10^9 bytes (weights), GiB 2^30 (memory).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sailplan.model import Catalog, Component, Document

GB = 10**9
GIB = 2**30

KV_BYTES = 2
"""Bytes of one number in the KV cache: 16 bit, which is what vLLM does unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What one GPU of a replica has to hold, in bytes.

    Attributes:
        memory: what the engine may take: GPU memory x utilization.
        weights: the GPU's share of the weights.
        overhead: activations and captured graphs.
        sequence: the GPU's share of the KV cache of one sequence of `tokens`.
        tokens: longest sequence that is served.
        tensor, pipeline: into how many parts layers, and the stack of layers, are split.
    """

    memory: float
    weights: float
    overhead: float
    sequence: float
    tokens: int
    tensor: int
    pipeline: int

    @property
    def room(self) -> float:
        """Bytes left for KV cache; negative when not even the weights fit."""
        return self.memory - self.weights - self.overhead

    @property
    def sequences(self) -> int:
        """How many sequences of full length fit at once; 0 when the model does not fit."""
        return max(0, int(self.room // self.sequence))


def kv_bytes_a_token(architecture: Mapping[str, Any]) -> int:
    """Bytes of KV cache that one token takes: a key and a value in every layer and KV head."""
    return int(2 * architecture["layers"] * architecture["keyValueHeads"] * architecture["headSize"] * KV_BYTES)


def fit(catalog: Catalog, component: Component, environment: str) -> Fit | None:
    """How a component fits its GPU class in an environment.

    Returns:
        None when the catalog does not say enough: no such class, no GPUs, or no size for that quantization. Rules of
        their own say so.
    """
    properties, traits = component.environments[environment]
    if "gpu" not in traits:
        return None
    return measure(catalog, catalog.models[component.model], component.profile, properties, traits["gpu"])


def measure(
    catalog: Catalog, model: Document, profile: str, properties: Mapping[str, Any], gpu: Mapping[str, Any]
) -> Fit | None:
    """How a model fits a GPU class.

    Args:
        catalog: for the class's facts.
        model: the preset, for the model's facts.
        profile: name of the GPU class.
        properties: parameters of `vllm-model`.
        gpu: parameters of the `gpu` trait.
    """
    gpu_class = gpu_classes(catalog).get(profile)
    asked = properties.get("model", {})
    loaded = model.spec["weights"]["loadedGB"].get(asked.get("quantization", "fp16"))
    if gpu_class is None or loaded is None:
        return None
    tensor, pipeline = split(gpu)
    architecture = model.spec["architecture"]
    # With more GPUs than KV heads every GPU still holds one whole head.
    share = max(1 / tensor, 1 / architecture["keyValueHeads"]) / pipeline
    tokens = int(asked.get("contextWindow", 4096))
    return Fit(
        memory=gpu_class["memoryGiB"] * GIB * float(properties.get("gpuMemoryUtilization", 0.92)),
        weights=loaded * GB / (tensor * pipeline),
        overhead=gpu_class["engineOverheadGiB"] * GIB,
        sequence=kv_bytes_a_token(architecture) * tokens * share,
        tokens=tokens,
        tensor=tensor,
        pipeline=pipeline,
    )


def split(gpu: Mapping[str, Any]) -> tuple[int, int]:
    """Tensor and pipeline parallel of a `gpu` trait: the GPUs are their product."""
    pipeline = int(gpu.get("pipelineParallel", 1))
    return max(1, int(gpu.get("count", 1)) // pipeline), pipeline


def gpu_classes(catalog: Catalog) -> Mapping[str, Any]:
    """GPU classes by name; none without catalog/gpus.yaml."""
    classes: Mapping[str, Any] = catalog.gpus.spec["classes"] if catalog.gpus else {}
    return classes


def gib(size: float) -> str:
    """Bytes as people read them: `1.75 GiB`."""
    return f"{size / GIB:.3g} GiB"
