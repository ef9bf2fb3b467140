"""What clusters hold follows from the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from localplane import platform
from localplane.errors import PlaneError
from localplane.simulation import answers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> platform.Catalog:
    return platform.read(ROOT)


def of(items: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in items if item["kind"] == kind}


def test_clusters_are_those_of_the_environments(catalog: platform.Catalog) -> None:
    assert catalog.clusters == ("hub", "staging", "production")


def test_gpu_nodes_are_as_many_as_the_budgets_allow(catalog: platform.Catalog) -> None:
    for cluster in catalog.clusters:
        budget = sum(one["gpu"]["budget"] for one in catalog.of(cluster).values())
        nodes = of(platform.nodes(catalog, cluster), "Node").values()
        assert sum(int(one["status"]["allocatable"].get("nvidia.com/gpu", 0)) for one in nodes) == budget


def test_a_gpu_node_carries_what_pods_look_for(catalog: platform.Catalog) -> None:
    node = of(platform.nodes(catalog, "production"), "Node")["gpu-1"]
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "gpu-l4"
    assert node["metadata"]["labels"]["karpenter.k8s.aws/instance-gpu-memory"] == "23040"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]


def test_a_node_without_taints_takes_preload_jobs(catalog: platform.Catalog) -> None:
    assert of(platform.nodes(catalog, "staging"), "Node")["general-1"]["spec"] == {}


def test_namespaces_of_models_enforce_restricted(catalog: platform.Catalog) -> None:
    for cluster in catalog.clusters:
        namespaces = of(platform.objects(catalog, cluster), "Namespace")
        for one in catalog.of(cluster).values():
            labels = namespaces[one["namespace"]]["metadata"]["labels"]
            assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_what_an_environment_takes_for_granted_is_there(catalog: platform.Catalog) -> None:
    items = platform.objects(catalog, "production")
    assert of(items, "PersistentVolumeClaim")["llm-models"]["metadata"]["namespace"] == "llm"
    assert "xplane-llm-models-preload" in of(items, "ServiceAccount")
    assert of(items, "Secret")["hf-token"]["stringData"] == {"HF_TOKEN": "stand-in"}
    assert {"ai-gateway", "platform-tailscale-general"} <= of(items, "Gateway").keys()
    assert "nvidia" in of(items, "RuntimeClass")
    assert "nfs" in of(platform.objects(catalog, "hub"), "StorageClass")


def test_objects_come_after_what_they_need(catalog: platform.Catalog) -> None:
    for cluster in catalog.clusters:
        seen: set[str] = set()
        for item in platform.objects(catalog, cluster):
            namespace = item["metadata"].get("namespace")
            assert namespace is None or namespace in seen
            if item["kind"] == "Namespace":
                seen.add(item["metadata"]["name"])


def test_a_toleration_of_an_environment_is_a_taint_of_its_nodes() -> None:
    wish = {"class": "l4", "nodeSelector": {"team": "ml"}, "tolerations": {"team": {"value": "ml"}}}
    classes = {"l4": {"resourceName": "nvidia.com/gpu", "memoryGiB": 22.5}}
    node = platform._gpu_node("gpu-1", wish, classes)
    assert node["metadata"]["labels"]["team"] == "ml"
    assert {"key": "team", "value": "ml", "effect": "NoSchedule"} in node["spec"]["taints"]


def test_a_broken_catalog_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlaneError, match="cannot read the catalog"):
        platform.read(tmp_path)


def test_somebody_stands_in_for_every_status_that_health_waits_for() -> None:
    assert {"ScaledObject", "AIGatewayRoute", "HTTPRoute", "ExternalSecret"} <= answers().keys()


def test_stages_are_named_as_their_files() -> None:
    for file in (ROOT / "tools/localplane/stages").glob("*.yaml"):
        assert yaml.safe_load(file.read_text())["metadata"]["name"] == file.stem
