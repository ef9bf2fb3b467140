"""What an environment gets, in a few lines: read from the rendered objects, not from what was asked for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sailplan.model import Component

Objects = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Served:
    """One component as rendered.

    Attributes:
        name: of the component.
        args: of the engine.
        gpus: of one replica.
        least, most: replicas.
        claim: where its weights are.
        routes: one text for each rule of its route: what clients ask for, and who answers with which share.
    """

    name: str
    args: tuple[str, ...]
    gpus: int
    least: int
    most: int
    claim: str
    routes: tuple[str, ...]


def kinds(objects: Objects) -> str:
    """`8 ServiceAccount, 4 Deployment`, most frequent first."""
    counts = Counter(str(item["kind"]) for item in objects)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def served(objects: Objects, components: Sequence[Component]) -> list[Served]:
    """What each component became, in the components' order."""
    return [_served([item for item in objects if _component(item) == one.name], one.name) for one in components]


def command_lines(args: Sequence[str], width: int = 110) -> list[str]:
    """Engine arguments as lines, each flag with its values on one line."""
    words: list[str] = []
    for token in args:
        if token.startswith("--") or not words:
            words.append(token)
        else:
            words[-1] += f" {token}"
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _served(objects: Objects, name: str) -> Served:
    pod = _of(objects, "Deployment")["spec"]["template"]["spec"]
    engine = pod["containers"][0]
    scaled = [item["spec"] for item in objects if item["kind"] == "ScaledObject"]
    scaled += [_as_scaled(item["spec"]) for item in objects if item["kind"] == "HorizontalPodAutoscaler"]
    fixed = _of(objects, "Deployment")["spec"].get("replicas", 1)
    return Served(
        name=name,
        args=tuple(engine.get("args", ())),
        gpus=int(engine["resources"].get("limits", {}).get("nvidia.com/gpu", 0)),
        least=scaled[0]["minReplicaCount"] if scaled else fixed,
        most=scaled[0]["maxReplicaCount"] if scaled else fixed,
        claim=next(
            (v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "persistentVolumeClaim" in v), ""
        ),
        routes=tuple(
            _rule(rule) for item in objects if item["kind"] == "AIGatewayRoute" for rule in item["spec"]["rules"]
        ),
    )


def _as_scaled(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"minReplicaCount": spec["minReplicas"], "maxReplicaCount": spec["maxReplicas"]}


def _rule(rule: Mapping[str, Any]) -> str:
    asked = ", ".join(header["value"] for match in rule["matches"] for header in match["headers"])
    shares = [(part.get("modelNameOverride", "itself"), part.get("weight", 100)) for part in rule["backendRefs"]]
    if len(shares) == 1:
        return asked
    return f"{asked} ({', '.join(f'{weight} % {name}' for name, weight in shares)})"


def _component(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["labels"]["app.oam.dev/component"])


def _of(objects: Objects, kind: str) -> Mapping[str, Any]:
    return next(item for item in objects if item["kind"] == kind)
