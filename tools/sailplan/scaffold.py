"""Beginnings of documents, ready to be filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sailplan.writer import dump

_SCHEMA = "# yaml-language-server: $schema=../../catalog/schema/json/App.json\n"


def intent(
    name: str,
    models: Sequence[str],
    capabilities: Mapping[str, Sequence[str]],
    environments: Sequence[str],
    owner: str,
) -> str:
    """The text of a new intent; `capabilities` says which each model gets.

    With one model the component is named as the application, with several each gets the model's name behind it, so that
    no name is taken that another application serves under.
    """
    components: list[dict[str, Any]] = []
    for model in models:
        part: dict[str, Any] = {
            "model": model,
            "name": name if len(models) == 1 else f"{name}-{model}".replace(".", "-"),
        }
        if capabilities.get(model):
            part["capabilities"] = list(capabilities[model])
        components.append(part)
    return _SCHEMA + dump(
        {
            "apiVersion": "catalog.oam.ai/v1",
            "kind": "App",
            "metadata": {"name": name, "owner": owner},
            "spec": {"components": components, "environments": list(environments)},
        }
    )
