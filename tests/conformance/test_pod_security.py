"""The checker agrees with the standard's own examples, pod by pod."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.pod_security import pod_security_violations

from toolchain import sources

pytestmark = pytest.mark.conformance

STANDARD = "test/testdata/restricted/v1.34"

# Examples that cannot break their rule alone: no security context at all, privileged (which implies escalation), and
# host processes of Windows (which need the host's network).
BREAK_MORE = {"allowprivilegeescalation3.yaml", "privileged0.yaml", "privileged1.yaml", "windowshostprocess0.yaml",
              "windowshostprocess1.yaml"}  # fmt: skip

GOOD: dict[str, Any] = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "x",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "models", "persistentVolumeClaim": {"claimName": "m"}}],
    },
}


@pytest.fixture(scope="module")
def examples() -> Path:
    return sources.folder("pod-security") / STANDARD


def pods(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the examples by file name, without those of Windows."""
    found = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))}
    return {name: pod for name, pod in found.items() if (pod["spec"].get("os") or {}).get("name") != "windows"}


def test_what_the_standard_allows_passes(examples: Path) -> None:
    found = {name: pod_security_violations(pod) for name, pod in pods(examples / "pass").items()}
    assert len(found) > 15
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_what_the_standard_refuses_is_refused(examples: Path) -> None:
    found = pods(examples / "fail")
    assert len(found) > 60
    assert [name for name, pod in found.items() if not pod_security_violations(pod)] == []


def test_each_refused_example_is_refused_for_its_own_reason(examples: Path) -> None:
    """Each example breaks one rule, named by its file; more than that would mean that a rule of ours is too strict."""
    words = {
        "allowprivilegeescalation": "allowPrivilegeEscalation",
        "apparmorprofile": "apparmor",
        "capabilities": "capabilities",
        "hostnamespaces": "spec.host",
        "hostpathvolumes": "hostPath",
        "hostports": "hostPort",
        "hostprobesandhostlifecycle": ".host: ",
        "privileged": "privileged",
        "procmount": "procMount",
        "restrictedvolumes": "volumes",
        "runasnonroot": "runAsNonRoot",
        "runasuser": "runAsUser",
        "seccompprofile": "seccompProfile",
        "selinuxoptions": "seLinuxOptions",
        "sysctls": "sysctls",
        "windowshostprocess": "hostProcess",
    }
    for name, pod in pods(examples / "fail").items():
        word = words[re.match("[a-z]+", name)[0]]  # type: ignore[index]
        problems = pod_security_violations(pod)
        assert any(word.lower() in problem.lower() for problem in problems), (name, problems)
        if name not in BREAK_MORE:
            assert all(word.lower() in problem.lower() for problem in problems), (name, problems)


def test_a_good_template_has_nothing_to_say() -> None:
    assert pod_security_violations(GOOD) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda spec: spec.update(hostNetwork=True), "spec.hostNetwork: must not be true"),
        (lambda spec: spec["securityContext"].pop("runAsNonRoot"),
         "spec.containers[0].securityContext.runAsNonRoot: must be true, here or for the pod"),
        (lambda spec: spec["containers"][0].pop("securityContext"),
         "spec.containers[0].securityContext.capabilities.drop: must hold ALL"),
        (lambda spec: spec["volumes"].append({"name": "h", "hostPath": {"path": "/"}}),
         "spec.volumes[2].hostPath: this kind of volume is not allowed"),
        (lambda spec: spec.update(initContainers=[{"name": "i", "securityContext": {"runAsUser": 0}}]),
         "spec.initContainers[0].securityContext.runAsUser: must not be 0"),
    ],
)  # fmt: skip
def test_a_change_for_the_worse_is_named(change: Any, problem: str) -> None:
    template = copy.deepcopy(GOOD)
    change(template["spec"])
    assert problem in pod_security_violations(template)
