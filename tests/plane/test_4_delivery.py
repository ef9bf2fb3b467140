"""The fleet goes live: dev, an approval, staging, an approval, production; in the right order, in the right places.

The tests of this file are one story and run in its order.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from plane.likeness import unlike
from plane.support import DEPLOYMENT, JOB, ROUTE, Desk, names

APP = "inference-fleet"
COMMANDS = {
    "vela up -f applications/inference-fleet/application.yaml",
    "vela workflow resume inference-fleet",
    "vela delete inference-fleet -n default --yes",
}
"""What README shows and this story does."""

MODELS = {"xplane-qwen-coder", "xplane-qwen3-8b", "xplane-qwen-coder-fim", "xplane-llamaguard3-1b"}


@pytest.fixture(scope="module")
def fleet(published: Desk) -> Any:
    """The desk, after README's `vela up`, with downloads that take six seconds."""
    for environment in ("dev", "staging", "production"):
        published.simulation(environment).preload(fail=(), seconds=6)
    published.told("vela up -f applications/inference-fleet/application.yaml")
    published.until(f"{APP} was taken up", lambda: published.taken_up(APP), app=APP)
    yield published
    published.remove(APP)


def test_the_workload_waits_for_its_weights(fleet: Desk) -> None:
    client, namespace = fleet.cluster("dev")
    fleet.until("four preload Jobs in dev", lambda: len(names(client, JOB, namespace)) == len(MODELS), app=APP)
    assert names(client, DEPLOYMENT, namespace) == set()
    assert names(client, ROUTE, namespace) == set()


def test_the_route_waits_for_the_workload(fleet: Desk) -> None:
    client, namespace = fleet.cluster("dev")
    fleet.simulation("dev").ready_after(6)
    fleet.until("four Deployments in dev", lambda: names(client, DEPLOYMENT, namespace) == MODELS, app=APP)
    assert names(client, ROUTE, namespace) == set()
    fleet.until("four routes in dev", lambda: names(client, ROUTE, namespace) == MODELS, app=APP)
    for item in client.list(*DEPLOYMENT, namespace):
        assert item["status"]["readyReplicas"] == 1


def test_dev_is_live_and_staging_waits_for_an_approval(fleet: Desk) -> None:
    fleet.until_phase(APP, "workflowSuspending")
    assert fleet.steps(APP)["deploy-dev"] == "succeeded"
    assert fleet.steps(APP)["approve-staging"] in ("running", "suspending")
    client, namespace = fleet.cluster("staging")
    assert names(client, DEPLOYMENT, namespace) == set()


def test_a_healthy_environment_releases_no_route_of_the_next(fleet: Desk) -> None:
    """Dev serves all along; in staging there is no route before its own pods are ready."""
    client, namespace = fleet.cluster("staging")
    fleet.simulation("staging").ready_after(12)
    fleet.approve(APP, "staging")
    fleet.until("four Deployments in staging", lambda: names(client, DEPLOYMENT, namespace) == MODELS, app=APP)
    dev, there = fleet.cluster("dev")

    def without_routes_until_ready() -> bool:
        # In this order: the last pod may become ready, and routes appear, between the two.
        routes = names(client, ROUTE, namespace)
        assert routes == set() or ready(client, namespace) == MODELS
        assert ready(dev, there) == names(dev, ROUTE, there) == MODELS
        return ready(client, namespace) == MODELS

    fleet.until("all of staging is ready", without_routes_until_ready, app=APP)


def ready(client: Any, namespace: str) -> set[str]:
    """Names of Deployments that have a ready pod."""
    found = client.list(*DEPLOYMENT, namespace)
    return {one["metadata"]["name"] for one in found if one.get("status", {}).get("readyReplicas")}


@pytest.mark.parametrize(("environment", "after"), [("staging", "workflowSuspending"), ("production", "running")])
def test_an_approval_lets_the_next_environment_go_live(fleet: Desk, environment: str, after: str) -> None:
    if environment != "staging":  # which was approved above
        fleet.approve(APP, environment)
    client, namespace = fleet.cluster(environment)
    fleet.until_step(APP, f"deploy-{environment}", "succeeded")
    fleet.until_phase(APP, after)
    assert names(client, DEPLOYMENT, namespace) == MODELS
    assert names(client, ROUTE, namespace) == MODELS


@pytest.mark.parametrize("environment", ["dev", "staging", "production"])
def test_each_step_came_after_the_one_before(fleet: Desk, environment: str) -> None:
    client, namespace = fleet.cluster(environment)
    jobs = {one["metadata"]["labels"]["app.kubernetes.io/name"]: one for one in client.list(*JOB, namespace)}
    routes = {one["metadata"]["name"]: one for one in client.list(*ROUTE, namespace)}
    for item in client.list(*DEPLOYMENT, namespace):
        name = item["metadata"]["name"]
        loaded = when(jobs[name]["status"]["completionTime"])
        made = when(item["metadata"]["creationTimestamp"])
        ready = when(next(c for c in item["status"]["conditions"] if c["type"] == "Available")["lastTransitionTime"])
        routed = when(routes[name]["metadata"]["creationTimestamp"])
        assert loaded <= made <= ready <= routed, name


def test_objects_carry_the_values_of_their_environment(fleet: Desk) -> None:
    claims = {}
    for environment in ("dev", "staging", "production"):
        client, namespace = fleet.cluster(environment)
        pod = client.get(*DEPLOYMENT, "xplane-qwen-coder", namespace)["spec"]["template"]["spec"]
        volume = next(one for one in pod["volumes"] if one["name"] == "models")
        claims[environment] = volume["persistentVolumeClaim"]["claimName"]
        host = client.get("gateway.envoyproxy.io/v1alpha1", "Backend", "xplane-qwen-coder-direct", namespace)
        assert host["spec"]["endpoints"][0]["fqdn"]["hostname"] == f"xplane-qwen-coder.{namespace}.svc.cluster.local"
    assert claims == {"dev": "xplane-qwen-coder-weights", "staging": "llm-models", "production": "llm-models"}


@pytest.mark.parametrize("environment", ["dev", "staging", "production"])
def test_each_cluster_got_what_was_rendered(fleet: Desk, environment: str) -> None:
    found = unlike(fleet, APP, environment)
    assert not found, "\n".join(found)


def uids(desk: Desk) -> dict[tuple[str, str], str]:
    """Of all routes, by environment and name."""
    found = {}
    for environment in ("dev", "staging", "production"):
        client, namespace = desk.cluster(environment)
        for one in client.list(*ROUTE, namespace):
            found[(environment, one["metadata"]["name"])] = one["metadata"]["uid"]
    return found


def test_routes_keep_their_uid_through_an_outage_an_update_and_the_way_back(fleet: Desk) -> None:
    """An update that goes all the way: see the faults."""
    before = uids(fleet)
    assert len(before) == 3 * len(MODELS)
    client, namespace = fleet.cluster("production")
    for pod in client.list("v1", "Pod", namespace, "app.kubernetes.io/component=inference"):
        client.delete("v1", "Pod", pod["metadata"]["name"], namespace, grace=0)
    fleet.until("pods are back", lambda: all_ready(client, namespace), app=APP)
    assert uids(fleet) == before

    changed = fleet.compose(APP)
    changed["spec"]["components"][0]["properties"]["model"]["maxNumSeqs"] = 16
    fleet.up(changed)
    fleet.until_phase(APP, "workflowSuspending")
    assert limits(fleet) == {"dev": "16", "staging": "32", "production": "32"}
    assert uids(fleet) == before

    # Not by `vela workflow rollback`, which does nothing for an Application without a publish version (measured).
    fleet.up(fleet.compose(APP))
    fleet.until_phase(APP, "workflowSuspending")
    assert set(limits(fleet).values()) == {"32"}
    assert uids(fleet) == before


def limits(desk: Desk) -> dict[str, str]:
    """How many sequences at once the first model takes, by environment."""
    found = {}
    for environment in ("dev", "staging", "production"):
        client, namespace = desk.cluster(environment)
        pod = client.get(*DEPLOYMENT, "xplane-qwen-coder", namespace)["spec"]["template"]["spec"]
        args = pod["containers"][0]["args"]
        found[environment] = args[args.index("--max-num-seqs") + 1]
    return found


def all_ready(client: Any, namespace: str) -> bool:
    return all(one["status"].get("readyReplicas") == 1 for one in client.list(*DEPLOYMENT, namespace))


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_deleting_the_app_leaves_only_the_claims(fleet: Desk) -> None:
    fleet.told("vela delete inference-fleet -n default --yes")
    for environment in ("dev", "staging", "production"):
        client, namespace = fleet.cluster(environment)
        left = {}
        for kind in KINDS:
            fleet.until(
                f"{environment}: {kind[1]} gone",
                lambda kind=kind, client=client, namespace=namespace: not ours(client, kind, namespace),
                app="",
            )
        claims = names(client, ("v1", "PersistentVolumeClaim"), namespace)
        left[environment] = claims
        assert claims == ({f"{name}-weights" for name in MODELS} if environment == "dev" else {"llm-models"})


KINDS = [
    DEPLOYMENT,
    JOB,
    ROUTE,
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("aigateway.envoyproxy.io/v1beta1", "AIServiceBackend"),
    ("gateway.envoyproxy.io/v1alpha1", "Backend"),
    ("cilium.io/v2", "CiliumNetworkPolicy"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("operator.victoriametrics.com/v1beta1", "VMServiceScrape"),
    ("operator.victoriametrics.com/v1beta1", "VMRule"),
]


def ours(client: Any, kind: tuple[str, str], namespace: str) -> set[str]:
    found = client.list(*kind, namespace, "app.kubernetes.io/part-of=ai")
    return {one["metadata"]["name"] for one in found}
