"""What the doctor says of a hub's settings, without one."""

from __future__ import annotations

from typing import Any

import pytest

from sailplan import installed


def controller(**limits: str) -> dict[str, Any]:
    container = {"image": "oamdev/vela-core:v1.11.0", "resources": {"limits": limits}}
    return {"spec": {"template": {"spec": {"containers": [{"image": "oamdev/other:v1"}, container]}}}}


def webhooks(*seconds: int | None, resource: str = "applications") -> dict[str, Any]:
    rules = [{"apiGroups": ["core.oam.dev"], "resources": [resource]}]
    return {"webhooks": [{"rules": rules, **({"timeoutSeconds": one} if one else {})} for one in seconds]}


@pytest.mark.parametrize(
    ("deployments", "configurations", "said"),
    [
        ([], [], []),
        ([controller(cpu="1"), controller(cpu="1500m"), controller(memory="1Gi")], [webhooks(20, 30)], []),
        ([controller(cpu="500m")], [], ["KubeVela's controller may use 500m of a processor"]),
        ([controller(cpu="0.5")], [], ["KubeVela's controller may use 0.5 of a processor"]),
        ([], [webhooks(30), webhooks(None)], ["KubeVela's admission has 10 s to judge an Application"]),
        ([], [webhooks(5, resource="componentdefinitions"), {}], []),
    ],
)
def test_a_hub_that_judges_too_slowly(deployments: list[Any], configurations: list[Any], said: list[str]) -> None:
    found = installed.slow(deployments, configurations)
    assert [message for message, _ in found] == said
    assert all(fix for _, fix in found)
