"""Comparing with clusters, without one: three-way comparison, differences, apply-once, reasons, versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from sailplan import installed, merge, reasons
from sailplan.differences import compare, report
from sailplan.live import compared
from sailplan.model import Composition, Document
from sailplan.status import state
from sailplan.toolbox.kube import Refused

NOW = datetime(2026, 1, 1, 0, 1, 0, tzinfo=UTC)


def thing(kind: str = "Service", name: str = "a", component: str = "a", **rest: Any) -> dict[str, Any]:
    labels = {"app.oam.dev/component": component}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "llm", "labels": labels}, **rest}


class TestCompare:
    def test_same_objects_in_another_order_are_no_difference(self) -> None:
        assert compare([thing(name="a"), thing(name="b")], [thing(name="b"), thing(name="a")]) == []

    def test_each_sort_is_told(self) -> None:
        before = [
            thing(name="same"),
            thing(name="other", spec={"x": 1}),
            thing("Job", "job-1"),
            thing("Secret", "s", "b"),
        ]
        after = [thing(name="same"), thing(name="other", spec={"x": 2}), thing("Job", "job-2"), thing("Pod", "p")]
        found = compare(before, after)
        assert [one.title for one in found] == [
            "- removed secret/s",
            "> renamed job/job-1 -> job/job-2",
            "+ added pod/p",
            "~ changed service/other",
        ]
        assert "  -  x: 1\n  +  x: 2\n" in report(found)

    def test_two_of_a_kind_are_no_rename(self) -> None:
        found = compare([thing("Job", "j1"), thing("Job", "j2")], [thing("Job", "j3")])
        assert [one.sort for one in found] == ["removed", "removed", "added"]


class TestMerge:
    LAST: Mapping[str, Any] = {
        "spec": {
            "replicas": 6,
            "kept": 1,
            "containers": [{"name": "a", "env": [{"name": "X"}, {"name": "Y"}], "args": ["1"]}],
        }
    }

    def test_what_left_the_manifest_is_found_by_name(self) -> None:
        wanted = {
            "spec": {"kept": 2, "containers": [{"name": "new"}, {"name": "a", "env": [{"name": "Y"}], "args": []}]}
        }
        assert list(merge.removed(self.LAST, wanted)) == [
            ("spec", "replicas"),
            ("spec", "containers", "name=a", "env", "name=X"),
        ]

    def test_what_is_found_can_be_taken_away(self) -> None:
        made: Any = deepcopy(self.LAST)
        for path in (("spec", "replicas"), ("spec", "containers", "name=a", "env", "name=X"), ("no", "such")):
            made = merge.without(made, path)
        assert made == {"spec": {"kept": 1, "containers": [{"name": "a", "env": [{"name": "Y"}], "args": ["1"]}]}}
        assert merge.at(self.LAST, ("spec", "replicas")) == 6

    @pytest.mark.parametrize("items", [[], ["a"], [{"x": 1}], [{"name": "a"}, {"name": "a"}], [{"name": "a"}, {}]])
    def test_lists_without_names_are_whole(self, items: list[Any]) -> None:
        assert merge.merge_key(items) == ""


class Server:
    """A cluster that keeps what it is sent over what it has, as server-side apply does for fields of others."""

    name = "local"

    def __init__(self, *objects: dict[str, Any], refuses: str = "") -> None:
        self.objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        self.refuses = refuses

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return self.objects.get((kind, name))

    def apply(self, item: dict[str, Any], manager: str, dry_run: bool = False) -> dict[str, Any]:
        assert (manager, dry_run) == ("kubevela", True)
        if item["kind"] == self.refuses:
            raise Refused("field is immutable", status=422)
        held = self.objects.get((item["kind"], item["metadata"]["name"]), {})
        return {**item, "spec": {**held.get("spec", {}), **item.get("spec", {})}, "status": {}}


def deployment(**spec: Any) -> dict[str, Any]:
    return {**thing("Deployment", spec=spec), "apiVersion": "apps/v1"}


def live(last: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = deepcopy(deployment(**spec))
    made["metadata"] |= {"annotations": {"app.oam.dev/last-applied-configuration": json.dumps(last)}, "uid": "1"}
    return made


ONCE = {
    "name": "apply-once",
    "type": "apply-once",
    "properties": {
        "enable": True,
        "rules": [
            {
                "selector": {"componentNames": ["a"], "resourceTypes": ["Deployment"]},
                "strategy": {"path": ["spec.replicas"]},
            }
        ],
    },
}
KEEP = {
    "name": "keep",
    "type": "garbage-collect",
    "properties": {"rules": [{"selector": {"resourceTypes": ["PersistentVolumeClaim"]}, "strategy": "never"}]},
}


def outcome(server: Server, *wanted: dict[str, Any], policies: Any = (), had: Any = ()) -> Any:
    app = Document("App", "app", "app.yaml", {}, {})
    place = Document("Environment", "dev", "", {"spec": {"namespace": "llm"}}, {})
    made = Composition(app, (), {"spec": {"policies": list(policies)}})
    return compared(server, made, place, wanted, had)  # type: ignore[arg-type]


def applied(item: dict[str, Any]) -> dict[str, str]:
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "name": item["metadata"]["name"],
        "namespace": "llm",
    }


class TestLive:
    def test_what_is_there_is_no_difference(self) -> None:
        item = deployment(replicas=1)
        assert outcome(Server(live(item, replicas=1)), item).differences == ()

    def test_replicas_that_leave_without_the_rule_are_warned_of(self) -> None:
        """R14."""
        found = outcome(Server(live(deployment(replicas=6, x=1), replicas=6, x=1)), deployment(x=1))
        assert found.warnings == ("deployment.apps/a: replicas leave the manifest without an apply-once rule: 6 -> 1",)
        assert [one.title for one in found.differences] == ["~ changed deployment.apps/a"]

    def test_with_the_rule_they_stay(self) -> None:
        server = Server(live(deployment(replicas=6, x=1), replicas=6, x=1))
        found = outcome(server, deployment(x=1), policies=[ONCE])
        assert (found.warnings, found.differences) == ((), ())
        assert found.left == ("deployment.apps/a: spec.replicas stays 6 (apply-once)",)

    def test_what_the_server_refuses_is_told(self) -> None:
        found = outcome(Server(live(deployment(x=1), x=1), refuses="Deployment"), deployment(x=2))
        assert found.refused == ("deployment.apps/a: field is immutable",)
        assert found.differences == ()

    def test_what_leaves_the_application_is_removed_or_kept(self) -> None:
        claim, secret = thing("PersistentVolumeClaim", "weights"), thing("Secret", "s")
        server = Server(claim, secret)
        found = outcome(server, policies=[KEEP], had=[applied(claim), applied(secret)])
        assert found.kept == ("persistentvolumeclaim/weights",)
        assert [one.title for one in found.differences] == ["- removed secret/s"]


def pod(component: str = "inference", **status: Any) -> dict[str, Any]:
    container = {
        "name": "vllm",
        "resources": {"requests": {"nvidia.com/gpu": "1"}},
        "startupProbe": {"failureThreshold": 33, "periodSeconds": 10},
    }
    labels = {"app.kubernetes.io/component": component}
    return {"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [container]}, "status": status}


def waiting(reason: str, message: str) -> dict[str, Any]:
    return {"name": "vllm", "image": "acme/vllm:1", "state": {"waiting": {"reason": reason, "message": message}}}


class TestReasons:
    @pytest.mark.parametrize(
        ("item", "said"),
        [
            (pod(conditions=[{"type": "Ready", "status": "True"}]), ""),
            (pod(phase="Succeeded"), ""),
            (
                pod(
                    conditions=[
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "message": "0/5 nodes: 4 Insufficient nvidia.com/gpu",
                        }
                    ]
                ),
                "no free nvidia.com/gpu: 0/5 nodes: 4 Insufficient nvidia.com/gpu",
            ),
            (
                pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/5 nodes: volume"}]),
                "unschedulable: 0/5 nodes: volume",
            ),
            (
                pod(containerStatuses=[waiting("ImagePullBackOff", "not found")]),
                "image acme/vllm:1 cannot be pulled: not found",
            ),
            (
                pod(containerStatuses=[waiting("CreateContainerConfigError", 'secret "x" not found')]),
                'CreateContainerConfigError: secret "x" not found',
            ),
            (
                pod(
                    containerStatuses=[
                        {
                            "name": "vllm",
                            "restartCount": 3,
                            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                        }
                    ]
                ),
                "vllm ended with code 137 (OOMKilled), 3 restarts",
            ),
            (pod(startTime="2026-01-01T00:00:00Z"), "weights still loading, for 60 s of at most 330 s"),
            (pod("preload", startTime="2026-01-01T00:00:00Z"), "weights are being downloaded, for 60 s"),
            (
                pod("preload", startTime="2026-01-01T00:00:30Z", conditions=[{"type": "Ready", "status": "True"}]),
                "weights are being downloaded, for 30 s",
            ),
            (pod(), "waits for its node"),
        ],
    )
    def test_of_a_pod(self, item: dict[str, Any], said: str) -> None:
        assert reasons.pod(item, NOW) == said

    def test_of_a_job(self) -> None:
        failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
        assert reasons.job({"status": {"conditions": [failed]}}) == "preload failed: BackoffLimitExceeded"
        assert reasons.job({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}) == ""

    def test_ended_pods_ask_for_no_gpus(self) -> None:
        assert reasons.gpus([pod(), pod(phase="Succeeded"), pod(phase="Pending")], "nvidia.com/gpu") == 2


class TestState:
    @pytest.mark.parametrize(
        ("phases", "wanted"),
        [
            ({}, "not reached"),
            ({"approve-dev": "suspending"}, "waits for approval"),
            ({"approve-dev": "succeeded", "deploy-dev-withheld": "running"}, "deploying"),
            ({"deploy-dev-withheld": "succeeded"}, "deploying"),
            ({"deploy-dev-withheld": "succeeded", "deploy-dev": "running"}, "deploying"),
            ({"deploy-dev-withheld": "succeeded", "deploy-dev": "succeeded"}, "live"),
            ({"deploy-dev": "succeeded"}, "live"),
            ({"deploy-dev-withheld": "failed", "deploy-dev": "skipped"}, "failed"),
            ({"approve-dev": "skipped", "deploy-dev": "skipped"}, "not reached"),
        ],
    )
    def test_follows_from_steps(self, phases: dict[str, str], wanted: str) -> None:
        steps = {name: {"name": name, "phase": phase} for name, phase in phases.items()}
        assert state(steps, "dev")[0] == wanted


class TestInstalled:
    def test_versions_are_read_where_they_are_said(self) -> None:
        crd = {"metadata": {"name": "x", "annotations": {"gateway.networking.k8s.io/bundle-version": "v1.5.1"}}}
        operator = {"metadata": {"name": "keda-operator", "labels": {"app.kubernetes.io/version": "2.18.0"}}}
        assert installed.of_api("gateway-api", [crd], []) == "v1.5.1"
        assert installed.of_api("keda", [{"metadata": {"name": "y"}}], [operator]) == "2.18.0"
        assert installed.of_api("keda", [], []) == ""
        assert installed.numbers("v1.34.1+k3s1") == (1, 34, 1) > installed.numbers("1.9")

    def test_kubevela_by_its_image_or_by_what_it_wrote(self) -> None:
        container = {"image": "oamdev/vela-core:v1.11.0", "args": ["--feature-gates=EnableCueValidation=true"]}
        controller = {"spec": {"template": {"spec": {"containers": [container]}}}}
        app = {"metadata": {"creationTimestamp": "1", "annotations": {"oam.dev/kubevela-version": "v1.10.0"}}}
        assert installed.kubevela([controller], [app]) == "v1.11.0"
        assert installed.kubevela([], [app]) == "v1.10.0"
        assert installed.kubevela([], []) == ""
        assert installed.gates([controller]) == "EnableCueValidation=true"
