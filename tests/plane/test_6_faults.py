"""Things break while a model is on its way. Nothing is lost, and the end is right."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from localplane.components import HUB
from localplane.hub import SYSTEM
from plane.support import APP_API, DEPLOYMENT, JOB, ROUTE, Desk, names

FLEET = "inference-fleet"
MODEL = "xplane-llamaguard3-1b"
APP = "faults"
ALL = ("dev", "staging", "production")


def one_model(desk: Desk) -> dict[str, Any]:
    """The fleet with one model left: the whole way to production, with one GPU in each place."""
    application = desk.compose(FLEET)
    application["metadata"]["name"] = APP
    spec = application["spec"]
    spec["components"] = [one for one in spec["components"] if one["name"] == MODEL]
    for policy in spec["policies"]:
        if policy["type"] == "override":
            rows = policy["properties"]["components"]
            policy["properties"]["components"] = [row for row in rows if row["name"] == f"^{MODEL}$"]
        if policy["type"] == "apply-once":
            rules = policy["properties"]["rules"]
            policy["properties"]["rules"] = [r for r in rules if r["selector"].get("componentNames") == [MODEL]]
    return application


def only(application: dict[str, Any], *environments: str) -> dict[str, Any]:
    """The same for some environments: each takes its time."""
    spec = application["spec"]
    gone = [name for name in ALL if name not in environments]
    policies = {f"{kind}-{name}" for kind in ("topology", "override") for name in gone}
    steps = {step for name in gone for step in (f"approve-{name}", f"deploy-{name}-withheld", f"deploy-{name}")}
    spec["policies"] = [one for one in spec["policies"] if one["name"] not in policies]
    spec["workflow"]["steps"] = [one for one in spec["workflow"]["steps"] if one["name"] not in steps]
    return application


@pytest.fixture
def model(published: Desk) -> Iterator[dict[str, Any]]:
    published.remove(APP)
    yield one_model(published)
    published.remove(APP)
    for environment in ALL:
        client, namespace = published.cluster(environment)
        published.until(f"no model runs in {environment}", lambda c=client, n=namespace: not engines(c, n))


def engines(client: Any, namespace: str) -> list[dict[str, Any]]:
    return list(client.list("v1", "Pod", namespace, "app.kubernetes.io/component=inference"))


def whole_way(desk: Desk, *environments: str) -> None:
    """Approve where that is waited for, and see it live everywhere."""
    for environment in environments:
        if environment != "dev":
            desk.approve(APP, environment)
    desk.until_phase(APP, "running")
    for environment in environments:
        client, namespace = desk.cluster(environment)
        assert client.get(*DEPLOYMENT, MODEL, namespace)["status"]["readyReplicas"] == 1
        assert MODEL in names(client, ROUTE, namespace)


def test_the_controller_is_killed_in_the_middle_of_a_deploy(published: Desk, model: dict[str, Any]) -> None:
    client, namespace = published.cluster("dev")
    published.simulation("dev").preload(fail=(), seconds=4)
    published.up(model)
    published.until("the preload Job is there", lambda: names(client, JOB, namespace), app=APP)
    published.plane.runner.crash("hub/vela-core")
    time.sleep(6)
    assert names(client, DEPLOYMENT, namespace) == set()
    published.plane.start_component("hub/vela-core")
    published.until_step(APP, "deploy-dev-withheld", "running")
    published.plane.runner.crash("hub/vela-core")
    published.plane.start_component("hub/vela-core")
    whole_way(published, *ALL)


def test_production_is_gone_during_delivery(published: Desk, model: dict[str, Any]) -> None:
    published.up(model)
    published.approve(APP, "staging")
    published.until_step(APP, "approve-production", "suspending")
    published.plane.stop_cluster("production")
    try:
        published.approve(APP, "production")
        time.sleep(8)
        assert published.phase(APP) != "running"
        assert published.steps(APP)["deploy-staging"] == "succeeded"
        client, namespace = published.cluster("staging")
        assert client.get(*DEPLOYMENT, MODEL, namespace)["status"]["readyReplicas"] == 1
    finally:
        published.plane.start_cluster("production")
    published.until_phase(APP, "running")
    client, namespace = published.cluster("production")
    assert MODEL in names(client, ROUTE, namespace)


def test_the_api_server_of_the_hub_starts_anew_during_delivery(published: Desk, model: dict[str, Any]) -> None:
    published.up(only(model, "dev", "staging"))
    published.until_step(APP, "deploy-dev-withheld", "running")
    published.plane.runner.crash("hub/kube-apiserver")
    time.sleep(2)
    published.plane.start_component("hub/kube-apiserver")
    # A controller may end when its server is gone; what looks after it on a cluster starts it anew.
    published.plane.start_cluster(HUB)
    whole_way(published, "dev", "staging")


def test_a_definition_changes_during_delivery(published: Desk, model: dict[str, Any], tmp_path: Path) -> None:
    published.up(only(model, "dev", "staging"))
    published.until_step(APP, "deploy-dev-withheld", "running")
    source = next(file for file in published.definitions() if file.stem == "vllm-model")
    text = source.read_text(encoding="utf-8")
    changed = tmp_path / "vllm-model.cue"
    changed.write_text(
        text.replace('version: "1.0.0"', 'version: "1.1.0"').replace(
            "revisionHistoryLimit: 3", "revisionHistoryLimit: 4"
        )
    )
    try:
        published.vela("def", "apply", str(changed))
        published.until("1.1.0 is there", lambda: "vllm-model-v1.1.0" in published.revisions("vllm-model"))
        whole_way(published, "dev", "staging")
        for environment in ("dev", "staging"):
            client, namespace = published.cluster(environment)
            spec = client.get(*DEPLOYMENT, MODEL, namespace)["spec"]
            assert spec["revisionHistoryLimit"] == 3, f"{environment} got the definition it did not pin"
    finally:
        published.vela("def", "apply", str(source))
        hub = published.plane.clusters[HUB].client
        hub.delete(APP_API, "DefinitionRevision", "vllm-model-v1.1.0", SYSTEM)


def test_two_pipelines_apply_at_once(published: Desk, model: dict[str, Any]) -> None:
    published.up(only(model, "dev", "staging"))
    published.until_step(APP, "approve-staging", "suspending")
    versions = []
    for count in (11, 12):
        one = copy.deepcopy(model)
        one["spec"]["components"][0]["properties"]["model"]["maxNumSeqs"] = count
        versions.append(one)
    files = [published.plane.folder / f"application-{index}.yaml" for index in range(len(versions))]
    for file, one in zip(files, versions, strict=True):
        file.write_text(yaml.safe_dump(one), encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(published.vela, "up", "-f", str(file)) for file in files]
    refusals = [str(result.exception()) for result in results if result.exception()]
    assert len(refusals) < len(results), refusals
    published.until("the last one was taken up", lambda: published.taken_up(APP), app=APP)
    whole_way(published, "dev", "staging")
    counts = set()
    for environment in ("dev", "staging"):
        client, namespace = published.cluster(environment)
        args = client.get(*DEPLOYMENT, MODEL, namespace)["spec"]["template"]["spec"]["containers"][0]["args"]
        counts.add(args[args.index("--max-num-seqs") + 1])
    assert counts in ({"11"}, {"12"}), "environments disagree"


def test_a_download_that_fails_is_reported_and_holds_the_model_back(published: Desk, model: dict[str, Any]) -> None:
    client, namespace = published.cluster("dev")
    published.simulation("dev").preload(fail=[MODEL])
    published.up(only(model, "dev"))
    published.until("the status tells of it", lambda: "preload failed" in published.why(APP), app=APP)
    time.sleep(5)
    assert names(client, DEPLOYMENT, namespace) == set()
    assert names(client, ROUTE, namespace) == set()
    assert published.phase(APP) != "running"


def test_an_update_that_gets_nowhere_ends_with_a_reason_and_takes_nothing_away(
    published: Desk, model: dict[str, Any]
) -> None:
    published.up(only(model, "dev", "production"))
    whole_way(published, "dev", "production")
    before = {environment: route_uid(published, environment) for environment in ("dev", "production")}

    update = copy.deepcopy(model)
    update["spec"]["components"][0]["properties"]["model"]["maxNumSeqs"] = 13
    limits = {step["name"]: step.get("timeout") for step in update["spec"]["workflow"]["steps"]}
    assert {name for name, limit in limits.items() if not limit} == {"approve-production"}
    hasty = copy.deepcopy(update)
    hasty["spec"]["workflow"]["steps"][0]["timeout"] = "20s"
    published.simulation("dev").ready_after(900)
    published.up(hasty)
    published.until_phase(APP, "workflowFailed")
    steps = published.steps(APP)
    assert steps.pop("deploy-dev-withheld") == "failed"
    assert set(steps.values()) <= {"skipped"}
    said = published.sailplan("status", APP, "--watch", code=1)
    assert "dev (namespace llm-dev): failed" in said
    assert "deploy-dev-withheld gave up" in said
    assert "0/1 ready, 1 up to date" in said
    assert {environment: route_uid(published, environment) for environment in before} == before
    client, namespace = published.cluster("production")
    assert client.get(*DEPLOYMENT, MODEL, namespace)["status"]["readyReplicas"] == 1

    published.simulation("dev").ready_after(1)
    client, namespace = published.cluster("dev")
    for pod in engines(client, namespace):
        client.delete("v1", "Pod", pod["metadata"]["name"], namespace, grace=0)
    published.up(update)
    whole_way(published, "dev", "production")
    assert {environment: route_uid(published, environment) for environment in before} == before


def route_uid(desk: Desk, environment: str) -> str:
    client, namespace = desk.cluster(environment)
    return str(client.get(*ROUTE, MODEL, namespace)["metadata"]["uid"])


def test_a_node_vanishes_and_its_model_moves(published: Desk, model: dict[str, Any]) -> None:
    published.up(only(model, "production"))
    whole_way(published, "production")
    client, namespace = published.cluster("production")
    pod = engines(client, namespace)[0]
    cluster = published.plane.clusters["production"]
    cluster.simulation.remove_node(pod["spec"]["nodeName"])
    try:
        published.until("it is ready elsewhere", lambda: moved(client, namespace, pod), app=APP)
        assert MODEL in names(client, ROUTE, namespace)
    finally:
        published.plane.up()


def moved(client: Any, namespace: str, old: dict[str, Any]) -> bool:
    pods = engines(client, namespace)
    fresh = [one for one in pods if one["metadata"]["uid"] != old["metadata"]["uid"]]
    ready = client.get(*DEPLOYMENT, MODEL, namespace)["status"].get("readyReplicas") == 1
    return bool(fresh) and ready and fresh[0]["spec"].get("nodeName") != old["spec"]["nodeName"]


def test_a_pod_too_many_stays_pending_and_says_why(published: Desk, model: dict[str, Any]) -> None:
    published.up(only(model, "production"))
    whole_way(published, "production")
    client, namespace = published.cluster("production")
    client.patch(*DEPLOYMENT, MODEL, {"spec": {"replicas": 5}}, namespace, part="scale")
    published.until("four of five are ready", lambda: ready(client, namespace) == 4, app=APP)
    time.sleep(3)
    assert ready(client, namespace) == 4
    pods = engines(client, namespace)
    waiting = [one for one in pods if one["status"]["phase"] == "Pending"]
    assert len(waiting) == 1
    reason = next(c for c in waiting[0]["status"]["conditions"] if c["type"] == "PodScheduled")
    assert "Insufficient nvidia.com/gpu" in reason["message"]
    # Not from the Application: KubeVela's picture of it stays what it was when its workflow ended.
    assert "Insufficient nvidia.com/gpu" in published.sailplan("status", APP)


def ready(client: Any, namespace: str) -> int:
    return int(client.get(*DEPLOYMENT, MODEL, namespace)["status"].get("readyReplicas", 0))
