"""What a hub and its clusters say about an Application, environment by environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sailplan import reasons, written
from sailplan.errors import ClusterError
from sailplan.live import APP_API
from sailplan.model import Catalog, Document
from sailplan.parts import RESOURCE, Part, Seen, part
from sailplan.toolbox.kube import Cluster, Object
from sailplan.workflow import deploy_name

_WAITS = ("running", "suspending", "pending")


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one cluster: there in all, free, asked for by this environment, and its budget (0: no budget known)."""

    cluster: str
    total: int
    free: int
    asked: int
    budget: int


@dataclass(frozen=True, slots=True)
class Place:
    """One environment.

    Attributes:
        name, namespace: which.
        state: live, deploying, failed, "waits for approval", or "not reached".
        message: what its deploy step says.
        parts: its components.
        gpus: of each of its clusters.
        unreachable: clusters that do not answer, and why.
    """

    name: str
    namespace: str
    state: str
    message: str
    parts: tuple[Part, ...]
    gpus: tuple[Gpus, ...]
    unreachable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """A whole Application: KubeVela's phase and message, the environment whose approval is waited for, environments."""

    app: str
    phase: str
    message: str
    approval: str
    environments: tuple[Place, ...]

    @property
    def healthy(self) -> bool:
        """Whether everything is delivered and works."""
        parts = [part for place in self.environments for part in place.parts]
        return self.phase == "running" and all(part.health == "healthy" for part in parts)

    @property
    def failed(self) -> bool:
        """Whether nothing goes on by itself any more."""
        return self.phase in ("workflowFailed", "workflowTerminated", "unhealthy")

    def plain(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def read(catalog: Catalog, hub: Cluster, name: str, namespace: str) -> Status:
    """Ask the hub, and every cluster that the Application names.

    Args:
        catalog: for budgets and names of GPU resources.
        hub: where the Application is.
        name: of the Application.
        namespace: of the Application.

    Raises:
        ClusterError: the hub does not answer, or has no such Application. A cluster that does not answer is reported.
    """
    found = hub.find(APP_API, "Application", name, namespace)
    if found is None:
        raise ClusterError(f"the hub has no Application {namespace}/{name}", f"sailplan compose {name} | vela up -f -")
    status = found.get("status", {})
    workflow = status.get("workflow") or {}
    steps = {step["name"]: step for step in workflow.get("steps") or ()}
    places = written.environments(found)
    made = tuple(_place(catalog, hub, found, steps, one) for one in places.values())
    approval = next((place.name for place in made if place.state == "waits for approval"), "")
    return Status(name, status.get("status", ""), str(workflow.get("message") or ""), approval, made)


def state(steps: Mapping[str, Mapping[str, Any]], environment: str) -> tuple[str, str]:
    """State and message of an environment, from the steps of a workflow that have begun."""
    approval = steps.get(f"approve-{environment}", {})
    deploys = [steps[name] for name in (deploy_name(environment, True), deploy_name(environment)) if name in steps]
    failed = next((step for step in deploys if step.get("phase") == "failed"), None)
    if failed:
        return "failed", _said(failed)
    begun = [step for step in deploys if step.get("phase") != "skipped"]
    if begun:
        last = begun[-1]
        live = last["name"] == deploy_name(environment) and last.get("phase") == "succeeded"
        return ("live", "") if live else ("deploying", _said(last))
    return ("waits for approval" if approval.get("phase") in _WAITS else "not reached"), ""


def _said(step: Mapping[str, Any]) -> str:
    """Message of a step, without the CUE value that KubeVela prints behind it; its own message ends with the time."""
    if step.get("reason") == "Timeout":
        return f"{step['name']} gave up: not healthy within its time limit (`vela workflow restart` tries again)"
    return str(step.get("message") or "").partition(" (value: #provider")[0]


def _place(
    catalog: Catalog, hub: Cluster, found: Object, steps: Mapping[str, Mapping[str, Any]], where: Document
) -> Place:
    namespace = str(where.spec["namespace"])
    said, message = state(steps, where.name)
    parts: list[Part] = []
    gpus: list[Gpus] = []
    unreachable: list[str] = []
    for name in where.spec["clusters"]:
        seen: Seen | None = None
        try:
            seen, capacity = _ask(catalog, hub.joined(name), where)
        except ClusterError as error:
            unreachable.append(error.message)
        else:
            gpus.append(capacity)
        services = _services(found, name, namespace)
        parts += [part(one, name, said, services.get(one["name"], {}), seen) for one in found["spec"]["components"]]
    return Place(where.name, namespace, said, message, tuple(parts), tuple(gpus), tuple(unreachable))


def _ask(catalog: Catalog, cluster: Cluster, where: Document) -> tuple[Seen, Gpus]:
    namespace = str(where.spec["namespace"])
    everywhere = cluster.list("v1", "Pod")
    pods = [one for one in everywhere if one["metadata"]["namespace"] == namespace]
    resource, budget = _resource(catalog, where.name)
    nodes = cluster.list("v1", "Node")
    total = sum(int(one.get("status", {}).get("allocatable", {}).get(resource, 0)) for one in nodes)
    placed = [one for one in everywhere if one["spec"].get("nodeName")]
    free = max(0, total - reasons.gpus(placed, resource))
    capacity = Gpus(cluster.name, total, free, reasons.gpus(pods, resource), budget)
    jobs = cluster.list("batch/v1", "Job", namespace)
    return Seen(pods, jobs, cluster.list("apps/v1", "Deployment", namespace)), capacity


def _resource(catalog: Catalog, environment: str) -> tuple[str, int]:
    """Name of the GPU resource of an environment, and how many its applications may take."""
    known = catalog.environments.get(environment)
    if known is None or catalog.gpus is None:
        return RESOURCE, 0
    gpu = known.spec["gpu"]
    facts = catalog.gpus.spec["classes"].get(gpu["class"], {})
    return str(facts.get("resourceName", RESOURCE)), int(gpu.get("budget", 0))


def _services(found: Object, cluster: str, namespace: str) -> dict[str, Mapping[str, Any]]:
    """What the hub says of the components of one place, by name."""
    rows = found.get("status", {}).get("services") or ()
    return {
        one["name"]: one
        for one in rows
        if (one.get("cluster") or "local", one.get("namespace")) == (cluster, namespace)
    }
