"""Versions of what is installed in a cluster, where the cluster tells them. Pure: objects in, versions out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

_SAID_BY = (
    "app.kubernetes.io/version",
    "gateway.networking.k8s.io/bundle-version",
    "operator.prometheus.io/version",
)
"""Labels and annotations that say the version of what an object came with."""

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version: `v1.34.1+k3s1` is (1, 34, 1); () when it has none."""
    found = _NUMBERS.match(text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def said(item: Object) -> str:
    """Version that an object's labels or annotations say; "" for none."""
    metadata = item["metadata"]
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return next((str(marks[key]) for key in _SAID_BY if numbers(str(marks.get(key, "")))), "")


def of_api(key: str, crds: Iterable[Object], deployments: Iterable[Object]) -> str:
    """Version of what serves an API: what its CRDs say, else the Deployment that is called like it; "" for neither.

    Args:
        key: as in catalog/apis.yaml, `keda`.
        crds: of the API.
        deployments: of the whole cluster.
    """
    own = next((version for one in crds if (version := said(one))), "")
    word = key.removeprefix("envoy-")
    return own or next((said(one) for one in deployments if word in one["metadata"]["name"] and said(one)), "")


def kubevela(deployments: Iterable[Object], applications: Iterable[Object]) -> str:
    """Version of KubeVela: the controller's image tag, else what it wrote on the latest Application; "" for neither."""
    for one in deployments:
        for container in one["spec"]["template"]["spec"]["containers"]:
            name, _, tag = str(container["image"]).rpartition(":")
            if name.endswith("vela-core") and numbers(tag):
                return tag
    newest = sorted(applications, key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True)
    written = ((one["metadata"].get("annotations") or {}).get("oam.dev/kubevela-version", "") for one in newest)
    return next((str(version) for version in written if version), "")


def gates(deployments: Iterable[Object]) -> str:
    """Feature gates that KubeVela's controller was started with; "" when that cannot be seen, or for none."""
    for one in deployments:
        for container in one["spec"]["template"]["spec"]["containers"]:
            if "vela-core" in str(container["image"]):
                args = [str(arg) for arg in container.get("args", ())]
                return next((arg.partition("=")[2] for arg in args if arg.startswith("--feature-gates=")), "")
    return ""


LEAST_PROCESSORS = 1.0
LEAST_SECONDS = 20
"""What KubeVela's admission wants: it takes 2.4 s of processor time for an Application of four models (measured)."""


def slow(deployments: Iterable[Object], webhooks: Iterable[Object]) -> list[tuple[str, str]]:
    """Settings with which KubeVela's admission may not judge a large Application in time; each with what to do.

    Args:
        deployments: of KubeVela's namespace.
        webhooks: ValidatingWebhookConfigurations and MutatingWebhookConfigurations.
    """
    found = []
    for one in deployments:
        for container in one["spec"]["template"]["spec"]["containers"]:
            limit = container.get("resources", {}).get("limits", {}).get("cpu")
            if "vela-core" in str(container["image"]) and limit and _processors(str(limit)) < LEAST_PROCESSORS:
                fix = "raise resources.limits.cpu of KubeVela's chart to 1 or more"
                found.append((f"KubeVela's controller may use {limit} of a processor", fix))
    seconds = min(
        (_seconds(hook) for one in webhooks for hook in one.get("webhooks") or () if _judges(hook)), default=0
    )
    if 0 < seconds < LEAST_SECONDS:
        fix = f"set timeoutSeconds of its webhooks to {LEAST_SECONDS} or more"
        found.append((f"KubeVela's admission has {seconds} s to judge an Application", fix))
    return found


def _processors(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def _seconds(hook: Object) -> int:
    return int(hook.get("timeoutSeconds") or 10)


def _judges(hook: Object) -> bool:
    """Whether a webhook is asked about Applications."""
    return any(
        "core.oam.dev" in rule.get("apiGroups", ()) and "applications" in rule.get("resources", ())
        for rule in hook.get("rules") or ()
    )
