"""The Kubernetes objects that an environment gets, rendered by the real engine: `vela dry-run`, without a cluster.

One dry run an environment, with that environment's namespace as the Application's, so that what definitions do with
`context.namespace` is what the cluster will see, and with only that environment's policies and one deploy step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from sailplan.errors import FindingsError, SailplanError
from sailplan.model import Catalog, Composition, Document, Finding
from sailplan.policies import WITHHOLD, override_name, topology_name
from sailplan.refusals import finding
from sailplan.toolbox import proc, vela
from sailplan.workflow import deploy

Stage = Literal["final", "withheld"]

CLUSTERS = "sailplan.oam.dev/clusters"
"""Annotation of a rendered object: the clusters that get it, separated by commas."""

KIND_ORDER = (
    "ServiceAccount",
    "ExternalSecret",
    "PersistentVolumeClaim",
    "CiliumNetworkPolicy",
    "NetworkPolicy",
    "Job",
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "ScaledObject",
    "Backend",
    "AIServiceBackend",
    "AIGatewayRoute",
    "HTTPRoute",
)
"""How objects of one component are ordered; kinds that are not here follow by name."""


def render(catalog: Catalog, composition: Composition, env: str, stage: Stage = "final") -> list[dict[str, Any]]:
    """The objects of one environment, in a stable order.

    Args:
        catalog: for the definitions and the environment's clusters and namespace.
        composition: what `compose` made.
        env: one of the app's environments.
        stage: `final` is how the environment ends up; `withheld` is after its first deploy step, without routes.

    Returns:
        Objects with `metadata.namespace`, and their clusters in the annotation `CLUSTERS`.

    Raises:
        FindingsError: a definition refuses its parameters, or the pinned version is not the one in the checkout.
        ToolError: vela is missing, took too long, or gave up.
    """
    pins = _pins(catalog, composition)
    if pins:
        raise FindingsError(pins)
    return render_with(_definitions(catalog, composition), composition, catalog.environments[env], stage)


def render_with(
    files: Sequence[Path], composition: Composition, environment: Document, stage: Stage = "final"
) -> list[dict[str, Any]]:
    """As `render`, with the definitions in `files` (CUE, or the objects that a hub holds), whatever the pin says."""
    application = for_environment(composition, environment, stage)
    try:
        rendered = vela.dry_run(application, files)
    except vela.VelaError as error:
        raise _explained(error, composition, environment.name, application, files) from error
    return _objects(rendered, composition, environment)


def render_all(
    catalog: Catalog, composition: Composition, environments: Sequence[str], stage: Stage = "final"
) -> dict[str, list[dict[str, Any]]]:
    """The objects of several environments, two dry runs at a time.

    Raises:
        FindingsError: as `render`, with the findings of all environments.
        ToolError: as `render`.
    """

    def one(env: str) -> list[dict[str, Any]] | FindingsError:
        try:
            return render(catalog, composition, env, stage)
        except FindingsError as error:
            return error

    made = dict(zip(environments, proc.run_all(one, environments), strict=True))
    refused = [result for result in made.values() if isinstance(result, FindingsError)]
    if refused:
        raise FindingsError(list(dict.fromkeys(found for error in refused for found in error.findings)))
    return {env: result for env, result in made.items() if not isinstance(result, FindingsError)}


def for_environment(composition: Composition, environment: Document, stage: Stage = "final") -> dict[str, Any]:
    """The Application cut down to one deploy step of one environment, without pins: what a dry run can resolve."""
    whole = composition.application
    wanted = {topology_name(environment.name), override_name(environment.name)}
    if stage == "withheld":
        wanted.add(WITHHOLD)
    policies = [policy for policy in whole["spec"]["policies"] if policy["name"] in wanted]
    step = deploy(environment.name, {policy["name"] for policy in policies}, withheld=stage == "withheld")
    components = [{**part, "type": part["type"].partition("@")[0]} for part in whole["spec"]["components"]]
    return {
        **whole,
        "metadata": {**whole["metadata"], "namespace": environment.spec["namespace"]},
        "spec": {"components": components, "policies": policies, "workflow": {"steps": [step]}},
    }


def _pins(catalog: Catalog, composition: Composition) -> list[Finding]:
    """Findings for pins that the checkout's definition does not have: rendering it would show something else."""
    types = dict.fromkeys(part["type"].partition("@v")[::2] for part in composition.application["spec"]["components"])
    return [
        Finding(
            id="SP606",
            severity="error",
            position=composition.app.at("spec", "components"),
            field="spec.components",
            message=(
                f"the Application pins {name} to a version that this checkout does not have "
                f"(definitions/component/{name}.cue)"
            ),
            given=f"v{pin}",
            allowed=f"v{catalog.definitions.get(name, '')}",
            fix=f"check out what has v{pin}, or move the pin: sailplan compose {composition.app.name} --repin --write",
        )
        for name, pin in types
        if pin not in ("", catalog.definitions.get(name, ""))
    ]


def _definitions(catalog: Catalog, composition: Composition) -> list[Path]:
    """The files of the definitions that the Application uses. Vela reads every file it is given, so no others."""
    folder = Path(catalog.root, "definitions")
    traits = sorted({name for component in composition.components for name in component.traits})
    parts = dict.fromkeys(component.definition for component in composition.components)
    return [
        *(folder / "component" / f"{name}.cue" for name in parts),
        *(folder / "trait" / f"{name}.cue" for name in traits),
    ]


def _objects(
    rendered: Iterable[vela.Rendered], composition: Composition, environment: Document
) -> list[dict[str, Any]]:
    order = {component.name: place for place, component in enumerate(composition.components)}
    rank = {kind: place for place, kind in enumerate(KIND_ORDER)}
    found = [(order[item.component], _object(item, composition, environment)) for item in rendered]
    found.sort(key=lambda pair: (pair[0], rank.get(pair[1]["kind"], len(rank)), pair[1]["kind"], _name(pair[1])))
    return [item for _, item in found]


def _object(item: vela.Rendered, composition: Composition, environment: Document) -> dict[str, Any]:
    import yaml

    made: dict[str, Any] = yaml.load(item.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    made = {**dict.fromkeys(("apiVersion", "kind", "metadata")), **made}
    metadata = made["metadata"]
    metadata.setdefault("namespace", environment.spec["namespace"])
    metadata.setdefault("annotations", {})[CLUSTERS] = ",".join(environment.spec["clusters"])
    labels = metadata.get("labels", {})
    # A dry run knows neither the revision nor the namespace of the Application on the hub: we asked for another one.
    labels.pop("app.oam.dev/appRevision", None)
    hub = composition.application["metadata"].get("namespace")
    if hub:
        labels["app.oam.dev/namespace"] = hub
    else:
        labels.pop("app.oam.dev/namespace", None)
    return made


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])


def _explained(
    error: vela.VelaError,
    composition: Composition,
    environment: str,
    application: Mapping[str, Any],
    files: Sequence[Path],
) -> SailplanError:
    """The findings behind a failed dry run. Vela stops at the first component, so each is asked alone."""
    refused = [list(error.refusals)]
    if len(composition.components) > 1:
        refused = proc.run_all(lambda part: _alone(application, part.name, files), composition.components)
    found = [finding(refusal, composition, environment) for some in refused for refusal in some]
    return FindingsError(found) if found else error


def _alone(application: Mapping[str, Any], name: str, files: Sequence[Path]) -> list[vela.Refusal]:
    spec = application["spec"]
    own = {
        **spec,
        "components": [part for part in spec["components"] if part["name"] == name],
        "policies": [_only(policy, f"^{name}$") for policy in spec["policies"]],
    }
    try:
        vela.dry_run({**application, "spec": own}, files)
    except vela.VelaError as error:
        return [refusal if refusal.component else replace(refusal, component=name) for refusal in error.refusals]
    return []


def _only(policy: Mapping[str, Any], name: str) -> dict[str, Any]:
    if policy["type"] != "override":
        return dict(policy)
    kept = [part for part in policy["properties"]["components"] if part["name"] == name]
    return {**policy, "properties": {"components": kept}}
