"""SP5xx: weights, secrets, images, flags of the engine, and what is known only by assumption."""

from __future__ import annotations

import re
from typing import Any

from sailplan.findings import dotted
from sailplan.fit import gpu_classes
from sailplan.model import Catalog, Document, Path
from sailplan.rules.registry import Problem, Problems, catalog_rule, component_rule
from sailplan.rules.view import Placed, View

_TAGGED = re.compile(r"[^\s@]+:(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*)$")
_DIGEST = re.compile(r"[^\s]+@sha256:[0-9a-f]{64}$")


@component_rule("SP501", "gated model without a token", engine=True)
def gated_without_token(view: View, placed: Placed) -> Problems:
    """The hub gives gated weights only to accounts that accepted the licence, so the preload Job needs a token."""
    model = view.catalog.models[placed.component.model]
    for environment, (_, traits) in placed.environments:
        has = [name for name, wanted in traits.get("preload", {}).get("secrets", {}).items() if wanted]
        if model.spec["source"]["gated"] and "preload" in traits and not has:
            document = view.environment(environment)
            message = (
                f"{model.name} is gated, and {environment} has no hub token for the preload of {placed.component.name}"
            )
            fix = f"add hub.tokenSecret to {document.file}"
            yield Problem(document.at("spec", "hub"), "spec.hub.tokenSecret", message, fix=fix)


@catalog_rule("SP502", "image that can change")
def moving_image(catalog: Catalog) -> Problems:
    """An image is named by an exact tag or a digest: what was tested is what runs."""
    if catalog.images:
        for name, one in catalog.images.spec["engines"].items():
            yield from _image(catalog.images, ("spec", "engines", name, "image"), one["image"])
    for document in (*catalog.presets.values(), *catalog.capabilities.values()):
        for key in ("properties", "edgeProperties"):
            yield from _image(document, ("spec", key, "image"), document.spec.get(key, {}).get("image"))
    for document in catalog.environments.values():
        for key in ("properties", "edgeProperties"):
            image = document.spec.get("overrides", {}).get(key, {}).get("image")
            yield from _image(document, ("spec", "overrides", key, "image"), image)


@component_rule("SP506", "known by assumption only", "note", engine=True)
def assumed(view: View, placed: Placed) -> Problems:
    """Numbers that nobody measured yet are marked, and named where they decide something."""
    model = view.catalog.models[placed.component.model]
    for place, name in enumerate(model.spec.get("assumed", ())):
        if _matters(placed, name):
            message = "assumed, not measured"
            yield Problem(
                model.at("spec", "assumed", place), f"spec.{name}", message, fix="measure it, then delete the mark"
            )
    if model.spec["weights"].get("estimated"):
        message = "estimated, not measured"
        yield Problem(model.at("spec", "weights", "estimated"), "spec.weights", message, fix="measure it")
    facts = gpu_classes(view.catalog).get(placed.component.profile, {})
    if facts.get("estimated") and view.catalog.gpus:
        at = view.catalog.gpus.at("spec", "classes", placed.component.profile, "estimated")
        message = "memory and engine overhead are estimated, not measured"
        yield Problem(at, f"spec.classes.{placed.component.profile}", message, fix="measure them")


@component_rule("SP507", "deprecated model", "warning")
def deprecated(view: View, placed: Placed) -> Problems:
    """A deprecated preset is still served, and will go."""
    preset = view.catalog.presets[placed.component.model]
    if preset.spec["status"] == "deprecated":
        alike = view.catalog.edges if preset.kind == "Edge" else view.catalog.models
        others = [name for name, one in alike.items() if one.spec["status"] == "stable"]
        message = f"{placed.component.model} is deprecated"
        at = placed.here("model")
        yield Problem(
            at, placed.field("model"), message, placed.component.model, ", ".join(others), fix="choose another model"
        )


@component_rule("SP508", "the hub token reaches the engine", engine=True)
def token_in_engine(view: View, placed: Placed) -> Problems:
    """The engine never talks to the hub; a token there is only something to steal."""
    for environment, (properties, _) in placed.environments:
        token = view.environment(environment).spec.get("hub", {}).get("tokenSecret")
        if token and properties.get("secrets", {}).get(token):
            path = ("properties", "secrets", token)
            message = f"{placed.component.name} in {environment}: the engine would get the hub token {token}"
            yield Problem(
                placed.at(environment, *path), placed.field(*path), message, token, fix="delete it; preload has it"
            )


@component_rule("SP509", "experimental model", "note")
def experimental(view: View, placed: Placed) -> Problems:
    """An experimental preset may change without notice."""
    if view.catalog.presets[placed.component.model].spec["status"] == "experimental":
        message = f"{placed.component.model} is experimental"
        yield Problem(placed.here("model"), placed.field("model"), message, placed.component.model)


def _image(document: Document, path: Path, image: Any) -> Problems:
    if not isinstance(image, str) or _DIGEST.match(image):
        return
    tagged = _TAGGED.match(image)
    if tagged is None or tagged["tag"] == "latest":
        what = "has neither tag nor digest" if tagged is None else "is latest, which moves"
        fix = "name the exact version or the digest"
        yield Problem(
            document.at(*path), dotted(path), f"the image {image} {what}", image, "NAME:TAG or NAME@sha256:...", fix=fix
        )


def _matters(placed: Placed, name: str) -> bool:
    """Whether an assumed value reached a component: settings count only when their trait is attached."""
    head, _, rest = name.partition(".")
    return head not in ("settings", "traits") or rest.partition(".")[0] in placed.component.traits
