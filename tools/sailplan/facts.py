"""Which fact of the catalog becomes which parameter of a definition: one table a kind of document.

A row reads: the fact at `source` of the document's `spec` goes to `target`, turned by `turn` when its shape differs. A
target under `traits` is filled only where that trait is attached, so a fact can never attach one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sailplan.model import Path

Turn = Callable[[Any, Mapping[str, Any]], Any]
"""Changes a fact's shape; gets the fact and the whole `spec`. None means: nothing to say."""


def _as_it_is(value: Any, _: Mapping[str, Any]) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: from where in `spec`, to which parameter, and how its shape changes on the way."""

    source: Path
    target: Path
    turn: Turn = _as_it_is


def _names(value: Any, _: Mapping[str, Any]) -> Any:
    # Parameters are maps where KubeVela would replace a list whole: {NAME: true} merges.
    return dict.fromkeys(value, True) or None


def _never(_: Any, __: Mapping[str, Any]) -> Any:
    return False


def _only(*keys: str) -> Turn:
    def turn(value: Any, _: Mapping[str, Any]) -> Any:
        return {key: value[key] for key in keys if key in value}

    return turn


def _token(value: Any, _: Mapping[str, Any]) -> Any:
    return {value: True}


def _fetched_token(value: Any, spec: Mapping[str, Any]) -> Any:
    # `external-secret` makes the secret that `preload` reads; the store knows it under a key of its own.
    store = spec["hub"].get("store")
    return {value: {key: store[key] for key in ("key", "property") if key in store}} if store else None


MODEL = (
    Fact(("source", "repository"), ("properties", "model", "repository")),
    Fact(("source", "revision"), ("properties", "model", "revision")),
    Fact(("weights", "downloadGB"), ("properties", "model", "weightsGB")),
    Fact(("architecture", "layers"), ("traits", "kv-offload", "layers")),
)

BACKENDS = ("model-config", "llmd-routing")
"""Traits of an edge that say what it asks, in place of its component."""

_ASKED: tuple[Path, ...] = (("properties",), *(("traits", trait) for trait in BACKENDS))

EDGE = (
    *(Fact(("backend", "url"), (*place, "backendURL")) for place in _ASKED),
    *(Fact(("backend", "model"), (*place, "model")) for place in _ASKED),
)

PROFILE = (
    Fact(("gpus",), ("traits", "gpu", "count")),
    Fact(("pipelineParallel",), ("traits", "gpu", "pipelineParallel")),
    Fact(("minVRAM",), ("traits", "gpu", "minVRAM")),
)

GPU_CLASS = (
    Fact(("nodeSelector",), ("traits", "gpu", "nodeSelector")),
    Fact(("memoryLabel",), ("traits", "gpu", "memoryLabel")),
)

GATEWAY = _only("name", "namespace", "sectionName")
PEER = _only("namespace", "labels")

ENVIRONMENT = (
    Fact(("gpu", "nodeSelector"), ("traits", "gpu", "nodeSelector")),
    Fact(("gpu", "tolerations"), ("traits", "gpu", "tolerations")),
    Fact(("gpu", "runtimeClassName"), ("traits", "gpu", "runtimeClassName")),
    Fact(("storage", "claim"), ("properties", "weights", "claimName")),
    Fact(("storage", "claim"), ("traits", "preload", "createClaim"), _never),
    Fact(("storage", "storageClassName"), ("traits", "preload", "storageClassName")),
    Fact(("storage", "size"), ("traits", "preload", "size")),
    Fact(("storage", "accessMode"), ("traits", "preload", "accessMode")),
    Fact(("hub", "tokenSecret"), ("traits", "preload", "secrets"), _token),
    Fact(("hub", "tokenSecret"), ("traits", "external-secret", "secrets"), _fetched_token),
    Fact(("hub", "store"), ("traits", "external-secret", "store"), _only("name", "kind")),
    Fact(("network",), ("traits", "preload", "policy")),
    Fact(("network",), ("traits", "network-policy", "engine")),
    Fact(("gateway",), ("traits", "ai-gateway-route", "gateway"), GATEWAY),
    Fact(("gateway", "dataPlane"), ("traits", "network-policy", "gateway"), PEER),
    Fact(("web",), ("traits", "http-route", "gateway"), GATEWAY),
    Fact(("metrics", "serverAddress"), ("traits", "keda-saturation-scaling", "serverAddress")),
    Fact(("metrics", "serverAddress"), ("traits", "inference-queue-scaling", "serverAddress")),
    Fact(("metrics", "scrape"), ("traits", "observability", "kind")),
    Fact(("metrics", "scrape"), ("traits", "inference-queue-scaling", "scrape")),
    Fact(("metrics", "peer"), ("traits", "network-policy", "metrics"), PEER),
    Fact(("clients",), ("traits", "network-policy", "clients")),
    Fact(("images", "pullSecrets"), ("properties", "imagePullSecrets"), _names),
    Fact(("scheduling", "priorityClassName"), ("properties", "priorityClassName")),
    Fact(("scheduling", "spread"), ("properties", "topologySpread")),
    Fact(("scheduling", "disruptionBudget"), ("properties", "disruptionBudget")),
)

EDGE_ENVIRONMENT = tuple(fact for fact in ENVIRONMENT if fact.target[:2] != ("properties", "weights"))
"""What an environment says about edges: all of it but where weights are, as an edge has none."""

EDGE_IMAGE = "inference-api:1.0.0"
"""What an edge runs unless something says otherwise; source: definitions/component/inference-api.cue."""

PORT = 8000
"""Of every vllm-model's Service; source: definitions/component/vllm-model.cue."""


def engine_url(component: str) -> str:
    """Where an edge finds a vllm-model of its own namespace: by the short name, the same in every environment."""
    return f"http://{component}:{PORT}/v1"


def mirrored(image: str, registry: str) -> str:
    """The image as a mirror names it: `registry` takes the place of the image's own host, or comes in front of it.

    `vllm/vllm-openai:v1` becomes `mirror.example/hub/vllm/vllm-openai:v1` with the registry `mirror.example/hub`.
    """
    if not registry:
        return image
    host, _, rest = image.partition("/")
    own_host = rest and ("." in host or ":" in host or host == "localhost")
    return f"{registry.rstrip('/')}/{rest if own_host else image}"


def host_name(component: str, domain: str) -> str:
    """Host under which `http-route` publishes a component: its name, in the environment's domain."""
    return f"{component}.{domain}"
