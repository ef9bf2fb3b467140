"""What applying an Application would change in a cluster, as the cluster's own API server says.

Each rendered object is sent as a server-side dry run under KubeVela's field manager, so defaults, admission and
immutable fields have their say. What KubeVela would remove on top, and what it leaves to others (apply-once), is added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sailplan import merge
from sailplan.differences import Difference, compare, title
from sailplan.model import Composition, Document
from sailplan.render import CLUSTERS
from sailplan.toolbox.kube import Cluster, Object, Refused

MANAGER = "kubevela"
"""Field manager under which KubeVela applies."""

APP_API = "core.oam.dev/v1beta1"

_LAST = "app.oam.dev/last-applied-configuration"
_OURS = ("app.oam.dev/", "oam.dev/", "workload.oam.dev/", "trait.oam.dev/", "sailplan.oam.dev/")
"""Labels and annotations that KubeVela writes for itself; they change with every revision."""

_KEPT = {"app.oam.dev/component"}
_SERVER = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "ownerReferences")
_REPLICAS = ("spec", "replicas")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One environment in one cluster.

    Attributes:
        differences: what would change.
        left: fields that KubeVela leaves to others, one line each.
        kept: objects that leave the Application and stay in the cluster, because a policy says so.
        warnings: changes that are seldom meant.
        refused: what the API server would not take, one line an object.
    """

    differences: tuple[Difference, ...] = ()
    left: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def applied(hub: Cluster, name: str, namespace: str) -> list[Mapping[str, str]]:
    """What the hub says it applied for an Application; nothing when it does not have it."""
    found = hub.find(APP_API, "Application", name, namespace) or {}
    return list(found.get("status", {}).get("appliedResources") or [])


def compared(
    cluster: Cluster,
    composition: Composition,
    environment: Document,
    rendered: Sequence[Object],
    had: Iterable[Mapping[str, str]],
) -> Outcome:
    """What applying `rendered` would change in `cluster`.

    Args:
        cluster: one of the environment's.
        composition: the Application, for its policies.
        environment: where.
        rendered: all objects of the environment.
        had: what the hub applied before, see `applied`.

    Raises:
        ClusterError: the cluster does not answer.
    """
    wanted = [bare(item) for item in rendered]
    live = {_key(item): found for item in wanted if (found := _find(cluster, item))}
    gone = list(_gone(cluster, environment, wanted, had))
    kept = [title(item) for item in gone if _never(composition, item)]
    before = [bare(item) for item in (*live.values(), *(item for item in gone if title(item) not in kept))]
    after: list[Object] = []
    left: list[str] = []
    warnings: list[str] = []
    refused: list[str] = []
    for item in wanted:
        held = live.get(_key(item))
        try:
            answer = cluster.apply(item, MANAGER, dry_run=True)
        except Refused as error:
            refused.append(f"{title(item)}: {error.message}")
            after += [bare(held)] if held else []
            continue
        made = bare(answer)
        if held:
            made, notes = _settled(composition, item, held, made)
            left += notes
            warnings += _dropped(composition, item, held)
        after.append(made)
    return Outcome(tuple(compare(before, after)), tuple(left), tuple(kept), tuple(warnings), tuple(refused))


def bare(item: Mapping[str, Any]) -> Object:
    """An object without what servers and KubeVela write into it for themselves."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _SERVER}
    for part in ("labels", "annotations"):
        kept = {key: value for key, value in (metadata.get(part) or {}).items() if not _own(key)}
        metadata.pop(part, None)
        if kept:
            metadata[part] = kept
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def _settled(composition: Composition, wanted: Object, held: Object, answer: Object) -> tuple[Object, list[str]]:
    """The object as it ends up: without what KubeVela removes, with what it leaves to others."""
    last = bare(json.loads(held["metadata"].get("annotations", {}).get(_LAST) or json.dumps(wanted)))
    once = list(_apply_once(composition, wanted))
    notes = []
    for path in merge.removed(last, wanted):
        if path not in once:
            answer = merge.without(answer, path)
    for path in once:
        value = merge.at(held, path)
        if value is not None and path[:-1]:
            notes.append(f"{title(wanted)}: {'.'.join(map(str, path))} stays {value} (apply-once)")
            merge.at(answer, path[:-1])[path[-1]] = value
    return answer, notes


def _dropped(composition: Composition, wanted: Object, held: Object) -> Iterator[str]:
    """R14: a replica count that leaves the manifest is reset to 1, unless apply-once keeps it."""
    last = json.loads(held["metadata"].get("annotations", {}).get(_LAST) or "{}")
    count = merge.at(held, _REPLICAS)
    leaves = merge.at(last, _REPLICAS) is not None and merge.at(wanted, _REPLICAS) is None
    if wanted["kind"] == "Deployment" and leaves and _REPLICAS not in _apply_once(composition, wanted):
        yield f"{title(wanted)}: replicas leave the manifest without an apply-once rule: {count} -> 1"


def _apply_once(composition: Composition, item: Object) -> list[merge.Path]:
    """Fields of an object that an apply-once policy leaves alone. KubeVela takes the first rule that matches."""
    rules = [
        rule
        for policy in composition.application["spec"].get("policies", ())
        if policy["type"] == "apply-once" and policy.get("properties", {}).get("enable")
        for rule in policy["properties"].get("rules", ())
    ]
    for rule in rules:
        selector = rule["selector"]
        component = item["metadata"].get("labels", {}).get("app.oam.dev/component") or item["metadata"]["name"]
        if component in selector.get("componentNames", [component]) and item["kind"] in selector.get(
            "resourceTypes", [item["kind"]]
        ):
            return [tuple(path.split(".")) for path in rule["strategy"]["path"]]
    return []


def _never(composition: Composition, item: Object) -> bool:
    """Whether a garbage-collect policy keeps an object that left the Application."""
    return any(
        rule.get("strategy") == "never" and item["kind"] in rule["selector"].get("resourceTypes", ())
        for policy in composition.application["spec"].get("policies", ())
        if policy["type"] == "garbage-collect"
        for rule in policy.get("properties", {}).get("rules", ())
    )


def _gone(
    cluster: Cluster, environment: Document, wanted: Iterable[Object], had: Iterable[Mapping[str, str]]
) -> Iterator[Object]:
    """Objects that the Application has in this place and would not have any more."""
    known = {_key(item) for item in wanted}
    for one in had:
        here = one.get("cluster") or "local", one.get("namespace", "")
        if here == (cluster.name, environment.spec["namespace"]):
            item = cluster.find(one["apiVersion"], one["kind"], one["name"], one.get("namespace", ""))
            if item and _key(item) not in known:
                yield item


def _find(cluster: Cluster, item: Object) -> Object | None:
    metadata = item["metadata"]
    return cluster.find(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace", ""))


def _own(key: str) -> bool:
    return key not in _KEPT and (key.startswith(_OURS) or key == CLUSTERS)


def _key(item: Mapping[str, Any]) -> tuple[str, str, str, str]:
    metadata = item["metadata"]
    return str(item["apiVersion"]).rpartition("/")[0], item["kind"], metadata.get("namespace", ""), metadata["name"]
