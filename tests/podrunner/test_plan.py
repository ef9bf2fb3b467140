"""From a pod to a command: variables, references, files."""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from podrunner import images
from podrunner.errors import NotRunnable, Refused, RunnerError
from podrunner.plan import Folder, Plan, expand, plan

ADDRESS = "127.9.0.1"
HELD: dict[tuple[str, str], dict[str, Any]] = {
    ("configmaps", "policy"): {"data": {"PROMPT": "Be brief.", "b.txt": "two"}, "binaryData": {"c": "AQI="}},
    ("secrets", "keys"): {"data": {"one": base64.b64encode(b"first").decode()}},
}


async def look(kind: str, name: str) -> dict[str, Any]:
    if (kind, name) not in HELD:
        raise Refused("not found", 404)
    return {"metadata": {"name": name}, **HELD[kind, name]}


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    first = {"name": "main", "image": "vllm/vllm-openai:v0.25.0", "args": ["m"], **(container or {})}
    meta = {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "x"}, "annotations": {"note": "y"}}
    return {"metadata": meta, "spec": {"containers": [first], "nodeName": "node-1", **spec}}


def made(one: dict[str, Any], known: dict[str, images.Image] | None = None) -> Plan:
    return asyncio.run(plan(one, ADDRESS, known or images.read(None), look))


def refused(one: dict[str, Any]) -> NotRunnable:
    with pytest.raises(NotRunnable) as error:
        made(one)
    return error.value


def test_an_image_stands_for_its_local_command() -> None:
    found = made(pod({"args": ["m", "--port", "8000"]}))
    assert found.argv == (sys.executable, "-m", "vllm_sim", "m", "--port", "8000")
    assert found.env == {"VLLM_SIM_HOST": ADDRESS}
    elsewhere = made(pod({"image": "registry.example/x/inference-api:1.0.0", "args": []}))
    assert elsewhere.argv == (sys.executable, "-m", "inference_api")
    assert elsewhere.env == {"HOST": ADDRESS}


def test_a_command_of_the_container_replaces_it() -> None:
    assert made(pod({"command": ["sh", "-c"], "args": ["true"]})).argv == ("sh", "-c", "true")


def test_an_unknown_image_cannot_be_pulled() -> None:
    assert refused(pod({"image": "nginx:1"})).reason == "ErrImagePull"


def test_variables() -> None:
    env = [
        {"name": "PLAIN", "value": "a"},
        {"name": "JOINED", "value": "$(PLAIN)-$(NONE)-$$(PLAIN)"},
        {"name": "EMPTY"},
        {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "policy", "key": "PROMPT"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "one"}}},
        {"name": "LACKS", "valueFrom": {"secretKeyRef": {"name": "none", "key": "one", "optional": True}}},
        {"name": "LACKS_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "two", "optional": True}}},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "VLLM_SIM_HOST", "value": "0.0.0.0"},
    ]
    source = [{"prefix": "X_", "configMapRef": {"name": "policy"}}, {"secretRef": {"name": "gone", "optional": True}}]
    one = pod({"env": env, "envFrom": source, "resources": {"limits": {"cpu": "2"}}, "args": ["$(POD)"]})
    found = made(one)
    assert found.argv[-1] == "p"
    assert found.env == {
        "X_PROMPT": "Be brief.",
        "X_b.txt": "two",
        "X_c": "\x01\x02",
        "PLAIN": "a",
        "JOINED": "a-$(NONE)-$(PLAIN)",
        "EMPTY": "",
        "MAP": "Be brief.",
        "SECRET": "first",
        "POD": "p",
        "IP": ADDRESS,
        "LABEL": "x",
        "NODE": "node-1",
        "CPU": "2",
        # Where to listen is ours to say.
        "VLLM_SIM_HOST": ADDRESS,
    }


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "x"}}, "configmap 'none' not found"),
        ({"secretKeyRef": {"name": "keys", "key": "two"}}, "couldn't find key two"),
        ({"fieldRef": {"fieldPath": "status.phase"}}, "not known here"),
        ({"other": {}}, "not known here"),
    ],
)
def test_what_is_missing_is_said_as_a_kubelet_says_it(source: dict[str, Any], said: str) -> None:
    error = refused(pod({"env": [{"name": "A", "valueFrom": source}]}))
    assert error.reason == "CreateContainerConfigError"
    assert said in error.message


def volumes(*rows: dict[str, Any], mount: dict[str, Any] | None = None) -> tuple[Folder, ...]:
    mounts = [{"name": f"v{number}", "mountPath": f"/etc/v{number}", **(mount or {})} for number in range(len(rows))]
    named = [{"name": f"v{number}", **row} for number, row in enumerate(rows)]
    return made(pod({"volumeMounts": mounts}, volumes=named)).folders


def test_volumes() -> None:
    empty, config, secret, chosen = volumes(
        {"emptyDir": {}},
        {"configMap": {"name": "policy"}},
        {"secret": {"secretName": "keys"}},
        {"configMap": {"name": "policy", "items": [{"key": "b.txt", "path": "deep/b"}]}},
    )
    assert empty == Folder("/etc/v0", None)
    assert config.files == {"PROMPT": b"Be brief.", "b.txt": b"two", "c": b"\x01\x02"}
    assert secret.files == {"one": b"first"}
    assert chosen.files == {"deep/b": b"two"}


def test_projected_volumes_and_single_files() -> None:
    sources = [
        {"configMap": {"name": "policy", "items": [{"key": "PROMPT", "path": "prompt"}]}},
        {"secret": {"name": "keys"}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"serviceAccountToken": {"path": "token"}},
    ]
    (found,) = volumes({"projected": {"sources": sources}})
    assert found.files == {"prompt": b"Be brief.", "one": b"first", "labels": b'app="x"'}
    (single,) = volumes({"configMap": {"name": "policy"}}, mount={"subPath": "PROMPT"})
    assert single.one == "PROMPT"


def test_a_missing_volume_or_key() -> None:
    for row in (
        {"secret": {"secretName": "none"}},
        {"configMap": {"name": "policy", "items": [{"key": "z", "path": "z"}]}},
    ):
        with pytest.raises(NotRunnable):
            volumes(row)
    (absent,) = volumes({"secret": {"secretName": "none", "optional": True}})
    assert absent.files == {}


def test_what_is_not_done_is_said() -> None:
    second = {"name": "side", "image": "x"}
    one = pod({"lifecycle": {"postStart": {}}}, initContainers=[{"name": "before"}])
    one["spec"]["containers"].append(second)
    assert len(made(one).ignored) == 3


def test_expansion() -> None:
    assert expand("$(A)$$(A)$(B)$", {"A": "1"}) == "1$(A)$(B)$"


def test_the_map_of_images(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text('"mine:*": [python, -m, mine]\n"vllm-sim:*": {command: [echo], env: {A: 1}}\n')
    known = images.read(file)
    assert images.find(known, "r.example/mine:2") == images.Image(("python", "-m", "mine"))
    assert images.find(known, "vllm-sim:1.0.0") == images.Image(("echo",), {"A": "1"})
    assert images.find(known, "vllm/vllm-openai:v1") == images.DEFAULT["vllm/vllm-openai:*"]
    assert images.find(known, "other:1") is None
    for wrong in ("[]", "x: 5", "x: []", "x: {env: {}}", "x: ["):
        file.write_text(wrong)
        if wrong != "[]":
            with pytest.raises(RunnerError):
                images.read(file)
    with pytest.raises(RunnerError):
        images.read(tmp_path / "none")
