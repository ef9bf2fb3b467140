"""Applications as they were written down: read back into the form that `render` takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sailplan.committed import FILE
from sailplan.errors import FindingsError
from sailplan.model import Catalog, Component, Composition, Document, Finding, Position

_TOPOLOGY = "topology-"


def committed(catalog: Catalog, app: Document) -> Composition | None:
    """The committed Application of an intent; None when there is none yet.

    Raises:
        FindingsError: it is no Application.
    """
    path = Path(catalog.root, app.file).parent / FILE
    if not path.is_file():
        return None
    return composition(app, path.read_text(encoding="utf-8"), f"{Path(app.file).parent}/{FILE}")


def composition(app: Document, text: str, file: str) -> Composition:
    """The Application in a text, with what rendering needs to know of its components.

    Args:
        app: the intent that it belongs to, for messages.
        text: YAML.
        file: name for messages.

    Raises:
        FindingsError: the text is no Application.
    """
    import yaml

    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        parts = [_component(part) for part in data["spec"]["components"]]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        fix = f"sailplan compose {app.name} --write"
        found = Finding("SP903", "error", Position(file), "", "this is no Application that we wrote", fix=fix)
        raise FindingsError([found]) from error
    return Composition(app, tuple(parts), data)


def environments(application: Mapping[str, Any]) -> dict[str, Document]:
    """The environments of an Application, by name, as its topology policies say: clusters and namespace."""
    found: dict[str, Document] = {}
    for policy in application["spec"].get("policies", ()):
        if policy["type"] == "topology" and policy["name"].startswith(_TOPOLOGY):
            name = policy["name"].removeprefix(_TOPOLOGY)
            found[name] = Document("Environment", name, "", {"spec": policy["properties"]}, {})
    return found


def pinned(application: Mapping[str, Any]) -> dict[str, str]:
    """The component definitions of an Application and the version that each is pinned to, "" for none."""
    types = [str(part["type"]).partition("@v") for part in application["spec"]["components"]]
    return {name: version for name, _, version in types}


def _component(part: Mapping[str, Any]) -> Component:
    traits = {trait["type"]: trait.get("properties", {}) for trait in part.get("traits", ())}
    annotations = part.get("properties", {}).get("annotations", {})
    return Component(
        name=part["name"],
        model=str(annotations.get("oam.ai/catalog-model", "")),
        profile="",
        capabilities=tuple(filter(None, str(annotations.get("oam.ai/catalog-capabilities", "")).split(","))),
        properties=part.get("properties", {}),
        traits=traits,
        environments={},
        origins={},
        definition=str(part["type"]).partition("@")[0],
    )
