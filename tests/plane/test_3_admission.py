"""Every object that any app renders anywhere, before the real API servers with the real CRDs: nothing is kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from localplane import ApiError
from localplane.components import HUB
from plane.likeness import rendered
from plane.support import ROOT, Desk
from sailplan.compose import compose
from unit.catalogs import edited

APPS = sorted(file.parent.name for file in (ROOT / "applications").glob("*/app.yaml"))


def environments(app: str) -> list[str]:
    spec = yaml.safe_load((ROOT / "applications" / app / "app.yaml").read_text())["spec"]
    return list(spec["environments"])


CASES = [(app, environment) for app in APPS for environment in environments(app)]


@pytest.mark.parametrize(("app", "environment"), CASES)
def test_the_api_server_accepts_all_objects(desk: Desk, app: str, environment: str) -> None:
    client, namespace = desk.cluster(environment)
    refused = []
    objects = rendered(desk, app, environment)
    assert objects
    for item in objects:
        assert item["metadata"].get("namespace", namespace) == namespace
        try:
            client.apply(item, manager="test", dry_run=True)
        except ApiError as error:
            refused.append(f"{item['kind']} {item['metadata']['name']}: {error.message}")
    assert refused == []


@pytest.mark.parametrize(("app", "environment"), CASES)
def test_pod_security_restricted_admits_all_pods(desk: Desk, app: str, environment: str) -> None:
    """A Deployment is only warned about; its pods are what is refused, so they are tried themselves."""
    client, namespace = desk.cluster(environment)
    pods = list(pods_of(rendered(desk, app, environment)))
    assert pods
    refused = []
    for name, pod in pods:
        # Accounts come with the app; admission would ask for them first.
        spec = {**pod["spec"], "serviceAccountName": "default"}
        meta = {**pod.get("metadata", {}), "name": name, "namespace": namespace}
        try:
            client.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, dry_run=True)
        except ApiError as error:
            refused.append(f"{name}: {error.message}")
    assert refused == []


def pods_of(items: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in items:
        template = item.get("spec", {}).get("template", {})
        if "containers" in template.get("spec", {}):
            yield f"{item['kind']}-{item['metadata']['name']}".lower(), template


def test_the_server_would_notice(desk: Desk) -> None:
    """What the tests above rest on: a misspelt field of a CRD and a wrong type are refused."""
    app, environment = "inference-fleet", "production"
    client, _ = desk.cluster(environment)
    item = next(one for one in rendered(desk, app, environment) if one["kind"] == "ScaledObject")
    misspelt = copy.deepcopy(item)
    misspelt["spec"]["minReplicas"] = 1
    with pytest.raises(ApiError, match="minReplicas"):
        client.apply(misspelt, dry_run=True)
    mistyped = copy.deepcopy(item)
    mistyped["spec"]["maxReplicaCount"] = "3"
    with pytest.raises(ApiError, match="maxReplicaCount"):
        client.apply(mistyped, dry_run=True)


@pytest.mark.parametrize("said", [True, False], ids=["defaults said", "as KubeVela misses them"])
def test_the_hub_takes_an_override_of_an_inner_property(published: Desk, said: bool) -> None:
    """`defaults` exists for what is refused here; when it no longer is, `defaults` can go."""
    dev = {"rollout": {"maxUnavailable": 2}, "probes": {"liveness": {"periodSeconds": 20}}}
    catalog = edited({"environments/dev: spec overrides properties": dev})
    catalog = catalog if said else replace(catalog, parameters={})
    composed = compose(catalog, catalog.apps["inference-fleet"]).application
    application = {**composed, "metadata": {**composed["metadata"], "name": "inner", "namespace": "default"}}
    hub = published.plane.clusters[HUB].client
    if said:
        hub.apply(application, dry_run=True)
    else:
        with pytest.raises(ApiError, match="field not allowed"):
            hub.apply(application, dry_run=True)
