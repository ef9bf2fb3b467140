"""A checkout of a scenario's own: definitions and presets as they are, one environment, one application to edit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

import yaml

from drill.context import ENVIRONMENT, Context
from drill.errors import DrillError
from sailplan.model import Catalog, Composition, Document
from sailplan.names import unknown

Object = dict[str, Any]


class Checkout:
    """A copy of what `sailplan` reads, cut down to the environment `drill` and one application.

    Args:
        context: says which application, and where there is space.

    Raises:
        UsageError: there is no such application.
        DrillError: the catalog has no environment for drills.
    """

    def __init__(self, context: Context) -> None:
        self.folder = context.folder / "checkout"
        self.app = context.app
        source = context.root / "applications" / context.app / "app.yaml"
        if not source.is_file():
            known = [path.parent.name for path in (context.root / "applications").glob("*/app.yaml")]
            raise unknown("application", context.app, known)
        for name in ("definitions", "catalog"):
            shutil.copytree(context.root / name, self.folder / name)
        self._keep_one_environment()
        self.intent: Object = yaml.safe_load(source.read_text(encoding="utf-8"))
        self.intent["spec"]["environments"] = [ENVIRONMENT]
        overrides = self.intent["spec"].pop("overrides", {})
        if ENVIRONMENT in overrides:
            self.intent["spec"]["overrides"] = {ENVIRONMENT: overrides[ENVIRONMENT]}
        if context.component:
            self.only(context.component)
        self.write()

    def _keep_one_environment(self) -> None:
        folder = self.folder / "catalog" / "environments"
        if not (folder / f"{ENVIRONMENT}.yaml").is_file():
            raise DrillError(f"the catalog has no environment {ENVIRONMENT}", "drills put its objects under traffic")
        for file in folder.glob("*.yaml"):
            if file.stem != ENVIRONMENT:
                file.unlink()

    @property
    def environment(self) -> Object:
        """Spec of the environment `drill`."""
        text = (self.folder / f"catalog/environments/{ENVIRONMENT}.yaml").read_text(encoding="utf-8")
        spec: Object = yaml.safe_load(text)["spec"]
        return spec

    def only(self, component: str) -> None:
        """Leave one component in the intent, by its name or its model's.

        Raises:
            UsageError: it has no such component.
        """
        parts = self.intent["spec"]["components"]
        names = {part["name"] for part in self.composed().application["spec"]["components"]}
        chosen = [part for part in parts if component in (part.get("name"), part["model"], self.named(part))]
        if not chosen:
            raise unknown(f"component of {self.app}:", component, names)
        self.intent["spec"]["components"] = chosen[:1]
        self.write()

    def named(self, part: Mapping[str, Any]) -> str:
        """Name that a component gets when the intent gives none: the preset's."""
        file = self.folder / "catalog" / "models" / f"{part['model']}.yaml"
        preset = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return str(part.get("name") or preset.get("spec", {}).get("servedName", part["model"]))

    def set(self, model: str, **knobs: Any) -> None:
        """Turn knobs of the component that uses a preset, as a product team would; dots are written as `__`.

        `None` takes a setting back.
        """
        part = next(part for part in self.intent["spec"]["components"] if part["model"] == model)
        values = part.setdefault("set", {})
        for knob, value in knobs.items():
            values[knob.replace("__", ".")] = value
        part["set"] = {knob: value for knob, value in values.items() if value is not None}
        self.write()

    def write(self) -> None:
        """Write the intent as it is now."""
        file = self.folder / "applications" / self.app / "app.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(self.intent, sort_keys=False), encoding="utf-8")

    def composed(self) -> Composition:
        """Check and compose the intent as it is now.

        Raises:
            FindingsError: something is wrong with it.
        """
        return self._plan()[1]

    def rendered(self) -> list[Object]:
        """The objects that the environment gets, by `vela dry-run`: no cluster is asked.

        Raises:
            FindingsError: something is wrong with the intent.
            ToolError: vela is missing or gave up.
        """
        from sailplan.render import render

        catalog, made = self._plan()
        return render(catalog, made, ENVIRONMENT)

    def _plan(self) -> tuple[Catalog, Composition]:
        from sailplan import pipeline
        from sailplan.catalog import load

        self.write()
        catalog = load(self.folder)
        app: Document = catalog.apps[self.app]
        return catalog, pipeline.plan(catalog, [app]).compositions[0]
