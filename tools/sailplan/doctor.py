"""Whether a hub with its clusters is ready for the applications here. What is missing is a finding with a fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sailplan import installed, pipeline, published
from sailplan.compose import components
from sailplan.doctoring import Ward, look
from sailplan.errors import ClusterError
from sailplan.live import APP_API
from sailplan.model import ENGINE, Catalog, Component, Document, Finding, Position, Severity
from sailplan.package import VELA
from sailplan.prerequisites import prerequisites
from sailplan.published import SYSTEM
from sailplan.toolbox.kube import Cluster

_BUILT_IN = {
    "PolicyDefinition": ("topology", "override", "apply-once", "garbage-collect", "take-over"),
    "WorkflowStepDefinition": ("deploy", "suspend"),
}
"""Definitions of KubeVela itself that composed Applications use."""

_ADMISSION = "admissionregistration.k8s.io/v1"
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")

_HUB = Position("catalog/environments")


@dataclass(slots=True)
class Diagnosis:
    """What was found: lines that say what is there, and findings about what is not."""

    said: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def examine(catalog: Catalog, hub: Cluster, names: Sequence[str]) -> Diagnosis:
    """Look at the hub, and at the clusters of some environments.

    Args:
        catalog: its applications say what is needed.
        hub: where KubeVela runs.
        names: of the environments.

    Raises:
        ClusterError: the hub does not answer. A cluster that does not answer is a finding.
        FindingsError: the catalog is wrong.
    """
    found = Diagnosis()
    _hub(hub, found)
    sound, _ = pipeline.sound(catalog)
    used = [part for app in sound.apps.values() for part in components(sound, app)]
    found.findings += _published(hub, sound, used)
    for name in names:
        environment = sound.environments[name]
        for cluster in environment.spec["clusters"]:
            _cluster(sound, environment, hub.joined(cluster), used, found)
    return found


def _hub(hub: Cluster, found: Diagnosis) -> None:
    found.said.append(f"hub: Kubernetes {hub.version()}")
    if not hub.serves(APP_API, "Application"):
        message = "the hub does not know Applications: KubeVela is not installed there"
        found.findings.append(_finding("SP801", "error", _HUB, message, "vela install, or another KUBECONFIG"))
        return
    deployments = hub.list("apps/v1", "Deployment", SYSTEM)
    version = installed.kubevela(deployments, hub.list(APP_API, "Application"))
    found.said.append(f"hub: KubeVela {version or '(it does not say which)'}")
    gates = installed.gates(deployments)
    if gates:
        found.said.append(f"hub: feature gates {gates}")
    if version and installed.numbers(version) < installed.numbers(VELA.removeprefix(">=")):
        fix = f"upgrade it to {VELA}"
        found.findings.append(_finding("SP802", "error", _HUB, f"the hub runs KubeVela {version}", fix))
    webhooks = [one for kind in _WEBHOOKS for one in hub.list(_ADMISSION, kind)]
    found.findings += [
        _finding("SP807", "warning", _HUB, f"{said}: `vela up` of a large one may fail", fix)
        for said, fix in installed.slow(deployments, webhooks)
    ]
    found.findings += [
        _finding("SP803", "error", _HUB, f"KubeVela's own {kind} {name} is missing on the hub", "reinstall KubeVela")
        for kind, wanted in _BUILT_IN.items()
        for name in wanted
        if hub.find(published.API, kind, name, SYSTEM) is None
    ]


def _published(hub: Cluster, catalog: Catalog, used: Iterable[Component]) -> Iterator[Finding]:
    """Definitions that applications use and the hub does not have."""
    traits = {trait for part in used for trait in part.traits}
    if not hub.serves(APP_API, "Application"):
        return
    parts = {part.definition for part in used} or {ENGINE}
    for name in sorted({*parts, *traits}):
        kind = "ComponentDefinition" if name in parts else "TraitDefinition"
        held = published.read(hub, kind, name)
        here = catalog.definitions[name]
        position = Position(f"definitions/{'component' if name in parts else 'trait'}/{name}.cue")
        if held.live is None:
            message = f"{name} is not published on the hub"
            yield _finding("SP804", "error", position, message, f"sailplan definitions publish {name}")
        elif here not in held.versions and here != held.version:
            message = f"the hub has {name} v{held.version}, and not the checkout's v{here}"
            yield _finding("SP804", "warning", position, message, f"sailplan definitions publish {name}")


def _cluster(
    catalog: Catalog, environment: Document, cluster: Cluster, used: Sequence[Component], found: Diagnosis
) -> None:
    where = f"{environment.name} ({cluster.name})"
    place = environment.at("spec", "clusters")
    try:
        found.said.append(f"{where}: Kubernetes {cluster.version()}")
        ward = Ward(catalog, environment, cluster)
        for one in prerequisites(catalog, environment, used):
            problem = look(ward, one)
            if problem:
                message = f"{where}: {one.kind} {one.name}: {problem.message}"
                found.findings.append(_finding("SP805", problem.severity, place, message, problem.fix))
            else:
                found.said.append(f"{where}: {one.kind} {one.name}")
    except ClusterError as error:
        found.findings.append(_finding("SP806", "error", place, f"{where}: {error.message}", error.hint))


def _finding(id: str, severity: Severity, position: Position, message: str, fix: str) -> Finding:
    return Finding(id, severity, position, "", message, fix=fix)
