"""A catalog of any size, made from the committed one: the same models under other names, some of them deployed."""

from __future__ import annotations

import shutil
from pathlib import Path

MODEL_LINES = (("name: ", "metadata"), ("servedName: ", "spec"))


def make(source: Path, target: Path, models: int) -> None:
    """Write a checkout with `models` model presets into `target`; twenty of them are deployed, each by an application.

    Args:
        source: the checkout to take schema, definitions, capabilities and environments from.
        target: an empty folder.
        models: how many presets.
    """
    shutil.copytree(source / "definitions", target / "definitions")
    shutil.copytree(source / "catalog", target / "catalog")
    folder = target / "catalog" / "models"
    every = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))}
    presets = {name: text for name, text in every.items() if "\nkind: Model\n" in text}
    shutil.rmtree(folder)
    folder.mkdir()
    names = list(presets)
    for number in range(models):
        base = names[number % len(names)]
        name = f"{base}-{number}"
        text = presets[base].replace(f"name: {base}\n", f"name: {name}\n").replace(f"xplane-{base}", f"x-{name}")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    _environments(target / "catalog" / "environments")
    _capabilities(target / "catalog" / "capabilities", names)
    for number in range(min(20, models)):
        _application(target / "applications", f"app-{number}", f"{names[number % len(names)]}-{number}")


def _environments(folder: Path) -> None:
    for path in folder.glob("*.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("budget: 4", "budget: 400"), encoding="utf-8")


def _capabilities(folder: Path, names: list[str]) -> None:
    """Drop those that are for one named model: it has other names here."""
    for path in folder.glob("*.yaml"):
        if any(f"models: [{name}]" in path.read_text(encoding="utf-8") for name in names):
            path.unlink()


def _application(folder: Path, name: str, model: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "app.yaml").write_text(
        "apiVersion: catalog.oam.ai/v1\nkind: App\n"
        f"metadata: {{name: {name}, owner: bench}}\n"
        f"spec:\n  components:\n    - {{model: {model}, capabilities: [saturation-scaling, gateway]}}\n"
        "  environments: [dev]\n",
        encoding="utf-8",
    )
