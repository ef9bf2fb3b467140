"""Is what a cluster got what `sailplan render` said? Object by object; what KubeVela and Kubernetes add is listed."""

from __future__ import annotations

import functools
import json
from typing import Any

from plane.support import Desk

ADDED = {
    # by KubeVela
    "app.oam.dev/app-revision-hash",
    "app.oam.dev/appRevision",
    "app.oam.dev/cluster",
    "app.oam.dev/last-applied-configuration",
    "app.oam.dev/last-applied-time",
    "app.oam.dev/namespace",
    "app.oam.dev/revision",
    "oam.dev/kubevela-version",
    "oam.dev/render-hash",
    # by Kubernetes
    "deployment.kubernetes.io/revision",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
}
"""Labels and annotations that live objects have and rendered ones do not."""

NOTE = "sailplan.oam.dev/clusters"
"""Annotation by which `sailplan render` tells where an object goes; no cluster gets it."""

PINNED = "workload.oam.dev/type"
"""Label that names the definition: with the version on a hub, without it in a dry run, which knows no versions."""

KINDS = (
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("cilium.io/v2", "CiliumNetworkPolicy"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("aigateway.envoyproxy.io/v1beta1", "AIGatewayRoute"),
    ("aigateway.envoyproxy.io/v1beta1", "AIServiceBackend"),
    ("gateway.envoyproxy.io/v1alpha1", "Backend"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("external-secrets.io/v1", "ExternalSecret"),
    ("operator.victoriametrics.com/v1beta1", "VMServiceScrape"),
    ("operator.victoriametrics.com/v1beta1", "VMRule"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
)
"""Kinds that an app of ours may consist of: none of them may be live and not rendered."""


@functools.cache
def rendered(desk: Desk, app: str, environment: str) -> list[dict[str, Any]]:
    """What `sailplan render` says of this checkout; nobody may change it."""
    said = json.loads(desk.sailplan("render", app, "--env", environment, "-o", "json"))
    return list(said.get("items", [said]))


def unlike(desk: Desk, app: str, environment: str) -> list[str]:
    """Return everything by which a live environment of an app differs from the rendered one."""
    client, namespace = desk.cluster(environment)
    wanted = {(one["kind"], one["metadata"]["name"]): one for one in rendered(desk, app, environment)}
    held = {}
    for kind in dict.fromkeys([*KINDS, *((one["apiVersion"], one["kind"]) for one in wanted.values())]):
        for one in client.list(*kind, namespace, f"app.oam.dev/name={app}"):
            held[(one["kind"], one["metadata"]["name"])] = one
    found = [f"{kind} {name}: not rendered" for kind, name in held.keys() - wanted.keys()]
    found += [f"{kind} {name}: not live" for kind, name in wanted.keys() - held.keys()]
    for key in wanted.keys() & held.keys():
        found += [f"{key[0]} {key[1]}: {line}" for line in compare(wanted[key], held[key])]
    return sorted(found)


def compare(wanted: dict[str, Any], held: dict[str, Any]) -> list[str]:
    """Return what differs between a rendered object and the live one."""
    found = [line for part in wanted if part != "metadata" for line in below(wanted[part], held.get(part), part)]
    for part in ("labels", "annotations"):
        mine = {key: value for key, value in wanted["metadata"].get(part, {}).items() if key not in (NOTE, PINNED)}
        theirs = held["metadata"].get(part, {})
        found += below(mine, theirs, part)
        found += [f"{part}.{key}: added, and not in the list" for key in theirs.keys() - mine.keys() - ADDED - {PINNED}]
    return found


def below(wanted: Any, held: Any, path: str) -> list[str]:
    """Return what of `wanted` is not in `held`.

    Fields that only `held` has are defaults of the API server; it leaves out empty texts, lists and maps.
    """
    if held is None and wanted in ("", [], {}):
        return []
    if isinstance(wanted, dict) and isinstance(held, dict):
        return [line for key, value in wanted.items() for line in below(value, held.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(held, list) and len(wanted) == len(held):
        pairs = enumerate(zip(wanted, held, strict=True))
        return [line for index, (one, other) in pairs for line in below(one, other, f"{path}[{index}]")]
    return [] if wanted == held else [f"{path}: rendered {wanted!r}, live {held!r}"]
