"""What people see of a delivery: status, diff against live clusters, and what the doctor says of the clusters.

The tests of this file are one story and run in its order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localplane.components import HUB
from localplane.hub import SYSTEM
from plane.checkout import Checkout, copied
from plane.support import APP_API, DEPLOYMENT, ROOT, Desk

APP = "inference-fleet"
MODEL = "xplane-llamaguard3-1b"
SECRET = "hf-token"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(ROOT, tmp_path_factory.mktemp("source"))


@pytest.fixture
def checkout(tmp_path: Path, source: Path, desk: Desk) -> Checkout:
    return Checkout(copied(source, tmp_path), desk)


@pytest.fixture(scope="module")
def fleet(published: Desk) -> Iterator[Desk]:
    """The fleet, on its way to dev with downloads that take a while."""
    published.simulation("dev").preload(fail=(), seconds=30)
    published.up(published.sailplan("compose", APP))
    yield published
    client = published.plane.clusters[HUB].client
    published.vela("delete", APP, "-n", "default", "--yes", "--wait")
    published.until("it is gone", lambda: client.find(APP_API, "Application", APP, "default") is None)


def status(checkout: Checkout, *args: str) -> dict[str, Any]:
    done = checkout.sailplan("status", APP, "-o", "json", *args)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def place(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["environments"] if one["name"] == name)


def test_status_says_that_weights_are_being_downloaded(fleet: Desk, checkout: Checkout) -> None:
    def downloading() -> bool:
        dev = place(status(checkout, "--env", "dev"), "dev")
        first = {part["message"] for part in dev["parts"]}
        said = [reason for part in dev["parts"] for reason in part["reasons"]]
        waits = first == {"preload: downloading weights, 0 failed tries"}
        return dev["state"] == "deploying" and waits and any("being downloaded" in one for one in said)

    fleet.until("status tells of downloads", downloading, app=APP)


def test_status_tells_environments_gpus_and_which_approval_is_waited_for(fleet: Desk, checkout: Checkout) -> None:
    fleet.until_phase(APP, "workflowSuspending")
    found = status(checkout)
    assert found["approval"] == "staging"
    assert [one["state"] for one in found["environments"]] == ["live", "waits for approval", "not reached"]
    dev = place(found, "dev")
    assert {part["health"] for part in dev["parts"]} == {"healthy"}
    assert (dev["gpus"][0]["asked"], dev["gpus"][0]["budget"]) == (4, 4)
    assert {part["health"] for part in place(found, "staging")["parts"]} == {"absent"}
    text = checkout.sailplan("status", APP).out
    assert f"staging waits for an approval: vela workflow resume {APP}" in text


def test_health_is_what_the_cluster_says_now(fleet: Desk, checkout: Checkout) -> None:
    """The hub's own picture is as old as the end of the deploy step."""
    client, namespace = fleet.cluster("dev")
    labels = f"app.kubernetes.io/name={MODEL},app.kubernetes.io/component=inference"

    def renew() -> None:
        for pod in client.list("v1", "Pod", namespace, labels):
            client.delete("v1", "Pod", pod["metadata"]["name"], namespace, grace=0)

    def health() -> tuple[str, str]:
        dev = place(status(checkout, "--env", "dev"), "dev")
        part = next(one for one in dev["parts"] if one["name"] == MODEL)
        return part["health"], part["message"]

    assert health() == ("healthy", "1/1 ready, serving")
    fleet.simulation("dev").ready_after(900)
    renew()
    fleet.until("status says so", lambda: health() == ("unhealthy", "0/1 ready, 1 up to date"), app=APP)
    fleet.simulation("dev").ready_after(1)
    renew()
    fleet.until("status says so", lambda: health() == ("healthy", "1/1 ready, serving"), app=APP)


def test_nothing_differs_from_what_was_just_delivered(fleet: Desk, checkout: Checkout) -> None:
    done = checkout.sailplan("diff", APP, "--env", "dev", "--against", "live")
    assert done.code == 0, done.all
    assert done.out.splitlines()[0] == "dev (local): no difference"
    assert f"= left alone deployment.apps/{MODEL}: spec.replicas stays 1 (apply-once)" in done.out


def test_an_environment_that_was_not_reached_gets_everything(fleet: Desk, checkout: Checkout) -> None:
    done = checkout.sailplan("diff", APP, "--env", "staging", "--against", "live")
    assert done.code == 1, done.all
    assert f"+ added deployment.apps/{MODEL}" in done.out
    assert "~" not in done.out


def test_changes_removals_and_renames_are_told_apart(fleet: Desk, checkout: Checkout) -> None:
    intent = checkout.folder / "applications" / APP / "app.yaml"
    text = intent.read_text(encoding="utf-8")
    head, _, last = text.rpartition("- model: llamaguard3-1b")
    intent.write_text(f"{head}- model: llamaguard3-1b{last.replace(', observability]', ']', 1)}", encoding="utf-8")
    model = checkout.folder / "catalog/models/llamaguard3-1b.yaml"
    revision = "acf7aafa60f0410f8f42b1fa35e077d705892029"
    model.write_text(model.read_text(encoding="utf-8").replace(revision, "b" * 40), encoding="utf-8")
    done = checkout.sailplan("diff", APP, "--env", "dev", "--against", "live", "-o", "json")
    assert done.code == 1, done.all
    (found,) = json.loads(done.out)
    changes = {(one["change"], one["object"].partition("/")[0]) for one in found["differences"]}
    assert changes == {
        ("renamed", "job.batch"),
        ("changed", "deployment.apps"),
        ("removed", "vmrule.operator.victoriametrics.com"),
        ("removed", "vmservicescrape.operator.victoriametrics.com"),
    }
    assert found["refused"] == []
    committed = checkout.sailplan("diff", APP, "--env", "dev")
    assert committed.code == 1
    assert "> renamed job.batch/" in committed.out


def test_a_change_that_a_cluster_cannot_take_is_refused_in_time(fleet: Desk, checkout: Checkout) -> None:
    environment = checkout.folder / "catalog/environments/dev.yaml"
    text = environment.read_text(encoding="utf-8")
    assert "storageClassName: nfs" in text
    environment.write_text(text.replace("storageClassName: nfs", "storageClassName: other"), encoding="utf-8")
    done = checkout.sailplan("diff", APP, "--env", "dev", "--against", "live")
    assert done.code == 1, done.all
    assert f"! refused persistentvolumeclaim/{MODEL}-weights" in done.out
    assert "immutable" in done.out


def test_the_replica_that_finds_no_gpu_is_told(fleet: Desk, checkout: Checkout) -> None:
    client, namespace = fleet.cluster("dev")
    capacity = place(status(checkout), "dev")["gpus"][0]
    client.patch(*DEPLOYMENT, MODEL, {"spec": {"replicas": capacity["free"] + 2}}, namespace)

    def told() -> bool:
        part = next(one for one in place(status(checkout), "dev")["parts"] if one["name"] == MODEL)
        return any(one.startswith("no free nvidia.com/gpu") for one in part["reasons"])

    fleet.until("status says which pod has no GPU", told, app=APP)
    found = place(status(checkout), "dev")["gpus"][0]
    assert (found["free"], found["asked"] > found["budget"]) == (0, True)
    kept = checkout.sailplan("diff", APP, "--env", "dev", "--against", "live")
    assert kept.code == 0, kept.all
    assert f"{MODEL}: spec.replicas stays {capacity['free'] + 2} (apply-once)" in kept.out
    client.patch(*DEPLOYMENT, MODEL, {"spec": {"replicas": 1}}, namespace)


def test_a_cluster_that_does_not_answer_is_told_and_does_not_hide_the_others(fleet: Desk, checkout: Checkout) -> None:
    fleet.plane.stop_cluster("production")
    try:
        found = status(checkout)
        assert "cluster production does not answer" in place(found, "production")["unreachable"][0]
        assert place(found, "dev")["state"] == "live"
        done = checkout.sailplan("doctor", "--env", "production", "--env", "staging")
        assert done.code == 1
        assert "error SP806: production (production): cluster production does not answer" in done.out
        assert "staging (staging): Namespace llm-staging" in done.out
        live = checkout.sailplan("diff", APP, "--env", "production", "--against", "live")
        assert live.code == 4, live.all
    finally:
        fleet.plane.start_cluster("production")


def test_the_doctor_names_what_is_missing_and_how_to_get_it(published: Desk, checkout: Checkout) -> None:
    well = checkout.sailplan("doctor")
    assert well.code == 0, well.out
    assert "hub: Kubernetes v1.34" in well.out
    assert "staging (staging): Gateway envoy-ai-gateway-system/ai-gateway" in well.out

    client, namespace = published.cluster("staging")
    gateway = ("gateway.networking.k8s.io/v1", "Gateway", "ai-gateway", "envoy-ai-gateway-system")
    held = client.get(*gateway)
    client.delete(*gateway)
    secret = client.get("v1", "Secret", SECRET, namespace)
    client.delete("v1", "Secret", SECRET, namespace)
    ill = checkout.sailplan("doctor", "--env", "staging", "-o", "json")
    for item in (held, secret):
        meta = {key: item["metadata"][key] for key in ("name", "namespace")}
        client.apply(
            {key: item[key] for key in ("apiVersion", "kind", "spec", "data") if key in item} | {"metadata": meta}
        )
    assert ill.code == 1
    found = {one["message"]: one for one in json.loads(ill.out)["findings"] if one["severity"] == "error"}
    assert set(found) == {
        f"staging (staging): Secret llm-staging/{SECRET}: is missing",
        "staging (staging): Gateway envoy-ai-gateway-system/ai-gateway: is missing",
    }
    assert all(one["fix"] and one["file"] == "catalog/environments/staging.yaml" for one in found.values())


def test_the_doctor_warns_of_a_controller_that_is_too_slow(published: Desk, checkout: Checkout) -> None:
    """The controller of the plane is no Deployment; this is what KubeVela's chart installs by itself."""
    client = published.plane.clusters[HUB].client
    container = {"name": "c", "image": "oamdev/vela-core:v1.11.0", "resources": {"limits": {"cpu": "500m"}}}
    labels = {"app": "vela-core"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    meta = {"name": "kubevela-vela-core", "namespace": SYSTEM}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    client.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})
    try:
        said = checkout.sailplan("doctor", "--env", "staging").out
    finally:
        client.delete(*DEPLOYMENT, meta["name"], SYSTEM)
    assert "warning SP807: KubeVela's controller may use 500m of a processor" in said
    assert "KubeVela v1.11.0" in said


@pytest.fixture
def waiting(published: Desk) -> Iterator[Any]:
    """Deploys the guardrail with a `wait-model-ready` beside its first deploy step, and takes it away afterwards."""
    name = "guardrail"

    def deploy(timeout: str, gpus: int = 1) -> None:
        application = published.compose(name)
        (gpu,) = [one for one in application["spec"]["components"][0]["traits"] if one["type"] == "gpu"]
        gpu.setdefault("properties", {})["count"] = gpus
        first = application["spec"]["workflow"]["steps"][0]
        properties = {"cluster": "local", "namespace": "llm-sandbox", "component": name}
        wait = {"name": "wait", "type": "wait-model-ready", "timeout": timeout, "properties": properties}
        group = {"name": "release", "type": "step-group", "subSteps": [first, wait]}
        application["spec"]["workflow"]["steps"] = [group]
        published.up(yaml.safe_dump(application))

    yield deploy
    published.vela("delete", name, "-n", "default", "--yes", "--wait")


def waits(desk: Desk) -> dict[str, Any]:
    """What the hub says of the step `wait`."""
    steps = (desk.app("guardrail").get("status", {}).get("workflow") or {}).get("steps") or []
    found = [one for step in steps for one in step.get("subSteps") or [] if one["name"] == "wait"]
    return found[0] if found else {}


def test_wait_model_ready_says_what_it_waits_for_and_ends_when_the_model_serves(published: Desk, waiting: Any) -> None:
    published.simulation("sandbox").preload(fail=(), seconds=15)
    published.simulation("sandbox").ready_after(15)
    waiting("10m")
    for reason in ("weights are being downloaded", "weights still loading"):
        said = lambda reason=reason: waits(published).get("message") == f"guardrail: {reason}"  # noqa: E731
        published.until(reason, said, app="guardrail")
    published.until("the step is done", lambda: waits(published).get("phase") == "succeeded", app="guardrail")
    watched = published.sailplan("status", "guardrail", "--watch")
    assert watched.rstrip().endswith("1/1 ready, serving")


def test_wait_model_ready_says_that_no_gpu_is_free_and_gives_up_after_the_budget(published: Desk, waiting: Any) -> None:
    waiting("45s", gpus=2)  # and a node has one
    said = lambda: waits(published).get("message", "").startswith("guardrail: unschedulable, ")  # noqa: E731
    published.until("it says so", said, app="guardrail")
    published.until("the step gives up", lambda: waits(published).get("reason") == "Timeout", app="guardrail")
    assert waits(published)["phase"] == "failed"


def test_a_hub_that_does_not_answer_is_an_error_of_its_own(checkout: Checkout) -> None:
    for args in (["status", APP], ["doctor"], ["diff", APP, "--against", "live"], ["definitions", "publish"]):
        done = checkout.sailplan(*args, kubeconfig="/nonexistent")
        assert done.code == 4, (args, done.all)
        assert "KUBECONFIG" in done.err
