"""Small documents made in memory, for tests of what is pure."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from sailplan.model import Catalog, Document

COMMIT = "a" * 40


def document(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> Document:
    data = {"kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return Document(kind, name, f"{kind.lower()}/{name}.yaml", data, _positions(data))


def _positions(data: Any) -> dict[Any, tuple[int, int]]:
    """A line of its own for every value, in the order of a walk, so that tests can tell them apart."""
    found: dict[Any, tuple[int, int]] = {}

    def walk(value: Any, path: tuple[Any, ...]) -> None:
        found[path] = (len(found) + 1, 1)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            walk(item, (*path, key))

    walk(data, ())
    return found


MODEL: dict[str, Any] = {
    "status": "stable",
    "source": {"repository": "acme/coder", "revision": COMMIT, "licence": "MIT", "gated": False},
    "weights": {"downloadGB": 15.2, "loadedGB": {"fp16": 15.2}},
    "servedName": "coder",
    "engine": "vllm",
    "properties": {"model": {"quantization": "fp8", "maxNumSeqs": 32}},
    "traits": {"preload": {}, "gpu": {}, "prefix-cache": {"enabled": True}},
    "settings": {"keda-saturation-scaling": {"minReplicas": 1, "maxReplicas": 2}},
    "profiles": {"l4": {"gpus": 1, "minVRAM": "16Gi"}},
    "knobs": {
        "model.maxNumSeqs": {"target": "properties.model.maxNumSeqs", "min": 1, "max": 64},
        "scaling.maxReplicas": {"max": 4},
    },
}

CAPABILITIES: dict[str, dict[str, Any]] = {
    "scaling": {
        "traits": {"keda-saturation-scaling": {}},
        "knobs": {
            "scaling.minReplicas": {"target": "traits.keda-saturation-scaling.minReplicas", "min": 1, "max": 8},
            "scaling.maxReplicas": {"target": "traits.keda-saturation-scaling.maxReplicas", "min": 1, "max": 8},
        },
    },
    "gateway": {"traits": {"ai-gateway-route": {}}},
    "locked-down": {"traits": {"network-policy": {}}},
    "hub-token": {"traits": {"external-secret": {}}},
    "web": {"traits": {"http-route": {}}},
    "watched": {"traits": {"observability": {}}},
    "warm": {"traits": {}, "properties": {"podAnnotations": {"karpenter.sh/do-not-disrupt": "true"}}},
}

DEV: dict[str, Any] = {
    "clusters": ["local"],
    "namespace": "llm-dev",
    "gate": "auto",
    "gpu": {"class": "l4", "budget": 4},
    "network": "kubernetes",
    "storage": {"storageClassName": "fast", "size": "50Gi", "accessMode": "ReadWriteOnce"},
}

PRODUCTION: dict[str, Any] = {
    "clusters": ["one", "two"],
    "namespace": "llm",
    "gate": "approve",
    "gpu": {
        "class": "l4",
        "budget": 4,
        "nodeSelector": {"zone": "a"},
        "tolerations": {"dedicated": {"operator": "Exists"}},
        "runtimeClassName": "",
    },
    "gateway": {
        "name": "ai",
        "namespace": "gateways",
        "sectionName": "https",
        "dataPlane": {"namespace": "envoy", "labels": {"a": "b"}},
    },
    "web": {"name": "web", "namespace": "gateways", "domain": "example.org"},
    "metrics": {
        "serverAddress": "http://metrics:1",
        "scrape": "ServiceMonitor",
        "peer": {"namespace": "obs", "labels": {"c": "d"}},
    },
    "clients": {"chat": {"namespace": "apps", "labels": {"e": "f"}}},
    "network": "cilium",
    "storage": {"claim": "models"},
    "hub": {"tokenSecret": "token", "store": {"name": "vault", "kind": "SecretStore", "key": "hub/token"}},
    "images": {"registry": "mirror.example/hub", "pullSecrets": ["pull"]},
    "scheduling": {
        "priorityClassName": "high",
        "spread": {"zone": {"maxSkew": 1}},
        "disruptionBudget": {"minAvailable": 1},
    },
    "overrides": {
        "properties": {"env": {"A": "1"}},
        "traits": {"preload": {"serviceAccountName": "loader"}, "kv-offload": {"sizeGB": 99}},
    },
}

GPUS = {
    "classes": {
        "l4": {"nodeSelector": {"pool": "gpu-l4"}, "memoryLabel": "gpu-memory", "resourceName": "nvidia.com/gpu"}
    }
}
IMAGES = {"engines": {"vllm": {"image": "vllm/vllm-openai:v1"}}}


def app(*components: dict[str, Any], environments: tuple[str, ...] = ("dev", "production"), **spec: Any) -> Document:
    parts = list(components) or [{"model": "coder"}]
    return document("App", "shop", {"components": parts, "environments": list(environments), **spec}, owner="team")


def catalog(
    model: dict[str, Any] | None = None,
    environments: dict[str, dict[str, Any]] | None = None,
    capabilities: dict[str, dict[str, Any]] | None = None,
) -> Catalog:
    made = environments or {"dev": DEV, "production": PRODUCTION}
    presets = {**CAPABILITIES, **(capabilities or {})}
    return Catalog(
        root="/nowhere",
        models={"coder": document("Model", "coder", deepcopy(model or MODEL))},
        capabilities={name: document("Capability", name, deepcopy(spec)) for name, spec in presets.items()},
        environments={name: document("Environment", name, deepcopy(spec)) for name, spec in made.items()},
        apps={},
        gpus=document("GPUClasses", "gpus", GPUS),
        images=document("Images", "images", IMAGES),
        apis=None,
        definitions={"vllm-model": "1.2.3"},
    )
