"""Real `vela up`, real scheduler and Deployment controller; the pods are processes that answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from plane.support import Desk
from podrunner.handle import Handle, running

pytestmark = pytest.mark.plane

NAMESPACE = "llm-dev"
LIMIT = 240.0
POD, NODE = ("v1", "Pod"), ("v1", "Node")


def application(**model: Any) -> dict[str, Any]:
    """One plain `vllm-model`, two pods, on the node without GPUs."""
    facts = {"repository": "owner/model", "revision": "0" * 40, "contextWindow": 4096, "maxNumSeqs": 8, **model}
    component = {
        "name": "chat",
        "type": "vllm-model",
        "properties": {"model": facts, "weights": {"claimName": "weights"}, "replicas": 2, "drainSeconds": 3},
    }
    topology = {"name": "here", "type": "topology", "properties": {"clusters": ["local"], "namespace": NAMESPACE}}
    return {
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": "chat", "namespace": "default"},
        "spec": {"components": [component], "policies": [topology]},
    }


@pytest.fixture(scope="module")
def client(hub: Desk) -> Any:
    found = hub.plane.clusters["hub"].client
    size = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "weights", "namespace": NAMESPACE}
    found.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": size})
    return found


@pytest.fixture(scope="module")
def runner(hub: Desk, client: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    """A runner that has taken all nodes, and the application delivered on it."""
    state = tmp_path_factory.mktemp("runner")
    more = ("--adopt", "all", "--namespace", NAMESPACE, "--back-off", "1")
    with running(hub.plane.kubeconfig, state, *more) as made:
        hub.up(application())
        until(made, "two pods are ready", lambda: len(ready(made)) == 2)
        yield made
        hub.remove("chat")
    print(made.log)


def until(runner: Handle, what: str, check: Any) -> Any:
    return runner.wait(what, check, LIMIT)


def ready(runner: Handle) -> set[str]:
    return {name for name, row in runner.pods(NAMESPACE).items() if row["ready"] and not row["ending"]}


def condition(pod: dict[str, Any], kind: str) -> str:
    return next((one["status"] for one in pod["status"].get("conditions", []) if one["type"] == kind), "")


def pods(client: Any) -> dict[str, dict[str, Any]]:
    return {f"{NAMESPACE}/{one['metadata']['name']}": one for one in client.list(*POD, NAMESPACE)}


def ask(runner: Handle, text: str) -> dict[str, Any]:
    url = f"http://{runner.service(NAMESPACE, 'chat')}:8000/v1/chat/completions"
    body = {"messages": [{"role": "user", "content": text}]}
    # One connection a request: the balancer chooses by connection.
    answer = httpx.post(url, json=body, timeout=LIMIT, trust_env=False)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_model_that_vela_delivered_answers_through_its_service(runner: Handle, client: Any, hub: Desk) -> None:
    answers = [ask(runner, f"question {number}") for number in range(6)]
    assert [one["choices"][0]["message"]["content"] for one in answers] == [
        f"sim chat says: question {number}" for number in range(6)
    ]
    there = pods(client)
    assert {f"{NAMESPACE}/{one['sim']['instance']}" for one in answers} == set(there)
    for name, pod in there.items():
        assert pod["status"]["podIP"] == runner.pods()[name]["address"]
        assert condition(pod, "Ready") == "True"
    hub.until_phase("chat", "running")


def test_names_of_services_resolve_beside_the_pods(runner: Handle) -> None:
    for name, namespace in (("chat", NAMESPACE), (f"chat.{NAMESPACE}.svc.cluster.local", "")):
        script = f"import urllib.request as u; print(u.urlopen('http://{name}:8000/version').read().decode())"
        argv = runner.beside(["python3", "-c", script], namespace)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert json.loads(done.stdout or "null") == {"version": "0.25.0"}, done.stderr


def test_prometheus_finds_every_pod(runner: Handle) -> None:
    found = json.loads(runner.targets.read_text())
    assert {one["labels"]["pod"] for one in found} == {name.partition("/")[2] for name in runner.pods()}
    for one in found:
        text = httpx.get(f"http://{one['targets'][0]}/metrics", timeout=LIMIT, trust_env=False).text
        assert 'vllm:num_requests_running{engine="0",model_name="chat"}' in text
        assert one["labels"]["namespace"] == NAMESPACE


def test_a_killed_process_is_started_again_and_reported(runner: Handle, client: Any) -> None:
    name = sorted(ready(runner))[0]
    for times in (1, 2):
        os.kill(runner.pods()[name]["pid"], signal.SIGKILL)
        until(runner, "it was started again", lambda times=times: runner.pods()[name]["restarts"] == times)
        until(runner, "it is ready again", lambda: name in ready(runner))

    def reported() -> dict[str, Any] | None:
        status = pods(client)[name]["status"]["containerStatuses"][0]
        return status if status["restartCount"] == 2 and status["ready"] else None

    last = until(runner, "the API server knows", reported)["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "Error")
    assert last["message"]


class Load:
    """Requests without a pause, each on a connection of its own."""

    def __init__(self, url: str, clients: int) -> None:
        self.found: list[str] = []
        self._url = url
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def _ask(self) -> None:
        body = {"prompt": "x", "max_tokens": 60, "ignore_eos": True}
        while not self._stop.is_set():
            try:
                answer = httpx.post(f"{self._url}/v1/completions", json=body, timeout=LIMIT, trust_env=False)
                self.found.append(str(answer.status_code))
            except httpx.HTTPError as error:
                self.found.append(repr(error))

    def __enter__(self) -> Load:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for one in self._threads:
            one.join()


def test_a_rollout_replaces_pod_by_pod_and_loses_no_request(runner: Handle, hub: Desk) -> None:
    before = set(runner.pods())
    least = 2
    with Load(f"http://{runner.service(NAMESPACE, 'chat')}:8000", clients=4) as load:
        until(runner, "there is load", lambda: len(load.found) > 8)
        hub.up(application(maxNumSeqs=9))

        def replaced() -> bool:
            nonlocal least
            least = min(least, len(ready(runner)))
            return not before & set(runner.pods()) and len(ready(runner)) == 2

        until(runner, "both pods are new", replaced)
        during = len(load.found)
        until(runner, "there is load after it", lambda: len(load.found) > during + 8)
    assert Counter(load.found) == {"200": len(load.found)}
    print(f"{len(load.found)} requests, none lost, at least {least} pod ready")
    assert least >= 1


def test_a_pod_counts_only_once_it_is_ready(runner: Handle, hub: Desk, client: Any) -> None:
    """A model that loads for ever: the new pod never gets ready, the old one goes on answering."""
    broken = application(maxNumSeqs=9)
    broken["spec"]["components"][0]["properties"]["env"] = {"VLLM_SIM_LOAD_SECONDS": "100000"}
    before = set(runner.pods())
    hub.up(broken)
    new = until(runner, "a new pod runs", lambda: {n for n, row in runner.pods().items() if row["pid"]} - before)
    until(runner, "one old pod is left", lambda: len(before & set(runner.pods())) == 1)
    for number in range(5):
        assert f"{NAMESPACE}/{ask(runner, str(number))['sim']['instance']}" in before
    there = pods(client)
    assert [condition(there[name], "Ready") for name in new if name in there] == ["False"]
    hub.up(application(maxNumSeqs=9))
    until(runner, "two pods are ready again", lambda: len(ready(runner)) == 2 and not new & set(runner.pods()))


def test_a_pod_without_its_secret_waits_and_says_so(runner: Handle, client: Any) -> None:
    source = {"secretKeyRef": {"name": "late", "key": "k"}}
    container = {
        "name": "c", "image": "vllm-sim:1", "args": ["m"], "env": [{"name": "K", "valueFrom": source}],
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1001, "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    meta = {"name": "lacks", "namespace": NAMESPACE}
    spec = {"containers": [container], "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 5}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    client.apply(pod)
    try:

        def waiting() -> Any:
            status = client.get(*POD, "lacks", NAMESPACE)["status"].get("containerStatuses") or [{}]
            return status[0].get("state", {}).get("waiting", {}).get("reason") == "CreateContainerConfigError"

        until(runner, "it waits for its Secret", waiting)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late", "namespace": NAMESPACE}}
        client.apply({**secret, "stringData": {"k": "v"}})
        until(runner, "it is ready", lambda: f"{NAMESPACE}/lacks" in ready(runner))
    finally:
        client.delete(*POD, "lacks", NAMESPACE)
        client.delete("v1", "Secret", "late", NAMESPACE)
    until(runner, "it is gone", lambda: client.find(*POD, "lacks", NAMESPACE) is None)


def test_jobs_are_pretended(runner: Handle, client: Any) -> None:
    template = {
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1001, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "c", "image": "any:1",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }],
        }
    }  # fmt: skip
    meta = {"name": "once", "namespace": NAMESPACE}
    client.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}})
    job = ("batch/v1", "Job", "once", NAMESPACE)
    until(runner, "the Job is complete", lambda: client.get(*job)["status"].get("succeeded") == 1)
    client.delete(*job)
    until(runner, "its pod is gone", lambda: not [name for name in pods(client) if "/once-" in name])


def test_when_the_runner_ends_nothing_is_left(hub: Desk, client: Any, tmp_path: Path, runner: Handle) -> None:
    """Last, because it ends the runner of the other tests."""
    numbers = [row["pid"] for row in runner.pods().values()]
    assert numbers
    assert runner.stop() == 0
    for number in numbers:
        assert not Path(f"/proc/{number}").exists() or "vllm_sim" not in Path(f"/proc/{number}/cmdline").read_text()
    assert [one for one in client.list(*NODE) if "sailplan.dev/runs" in one["metadata"]["labels"]] == []
    deadline = time.monotonic() + LIMIT
    while not all(one["status"].get("podIP", "127.").startswith("10.") for one in client.list(*POD, NAMESPACE)):
        assert time.monotonic() < deadline, "KWOK did not take over"
        time.sleep(0.2)
