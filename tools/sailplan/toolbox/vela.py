"""The only door to `vela`: a dry run without a cluster, its noise left out, its errors taken apart.

`vela dry-run --offline` still wants a kubeconfig to exist, writes folders into HOME and asks the API server for
packages. It gets a private home and a kubeconfig that points nowhere, so it reads nothing of the person's and reaches
no cluster.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sailplan import writer
from sailplan.errors import ToolError
from sailplan.toolbox import proc

TIMEOUT = 300.0
"""Seconds for one dry run. It grows faster than linearly: 10 components 0.4 s, 40 3 s, 240 137 s (measured)."""

_NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "nowhere",
    # Port 1 on loopback refuses at once; nothing is ever asked of it that matters.
    "clusters": [{"name": "nowhere", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "nowhere", "context": {"cluster": "nowhere", "user": "nobody"}}],
    "users": [{"name": "nobody", "user": {}}],
}

_NOISE = re.compile(r"Failed to load external packages|Starlark failed to allocate \w+ address space|^\s*$")
_HEADER = re.compile(r"^# Application\((?P<app>.+)\) -- (?P<what>Component|Policy)\((?P<name>.+)\)$", re.MULTILINE)
_TRAIT = re.compile(r"^## From the trait (?P<type>\S+)$", re.MULTILINE)
_WORKLOAD = re.compile(r"(?:validation failed for workload|manifests from component) (?P<name>[^\s:]+)")
_TEMPLATE = re.compile(r"evaluate (?:base )?template (?:trait=(?P<trait>\S+) )?app=(?P<component>[^\s:]+)")
_SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+):$")
_LINE = re.compile(r"^  (?P<field>[^\s:]+): (?P<message>.+)$")
_INCOMPLETE = re.compile(r"(?P<field>parameter[^\s:]*): cannot convert incomplete value (?P<value>\".*\") to JSON")


@dataclass(frozen=True, slots=True)
class Rendered:
    """One object of a dry run, as text, and what it came from (`trait` is empty for the component's own objects)."""

    component: str
    trait: str
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a definition refused its parameters.

    Attributes:
        trait: its type; empty for the component's own definition. A value that is missing is noticed by whoever
            reads it first, so a trait may stand here for a parameter of the component's.
        component: name of the component, when vela says it.
        field: dotted name below `parameter`; empty for the definition's own words.
        messages: CUE's lines about that field, or the definition's words.
    """

    trait: str
    component: str
    field: str
    messages: tuple[str, ...]


class VelaError(ToolError):
    """A dry run that ended badly. `refusals` holds what definitions said; without any, vela itself gave up."""

    exit_code = 1

    def __init__(self, error: ToolError, refusals: Iterable[Refusal]) -> None:
        super().__init__(error.message, error.hint, error.command, error.code, error.stderr)
        self.refusals = tuple(refusals)


def dry_run(application: Mapping[str, Any], definitions: Iterable[Path]) -> list[Rendered]:
    """The objects that an Application becomes, in the order vela prints them.

    Args:
        application: without version pins; its `metadata.namespace` is the namespace that definitions see.
        definitions: the files it needs, and no others: vela reads every file it is given.

    Raises:
        VelaError: a definition refused, or vela could not render all components.
        ToolError: vela is missing or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="sailplan-vela-") as folder:
        home = Path(folder)
        (home / "definitions").mkdir()
        for file in definitions:
            (home / "definitions" / file.name).symlink_to(file)
        # JSON is YAML, and leaves nothing for a parser to retype.
        (home / "application.yaml").write_text(writer.dump_line(application), encoding="utf-8")
        done = _run(home, "dry-run", "--offline", "-d", "definitions", "-f", "application.yaml")
    return judge(done, application)


def definition(file: Path) -> dict[str, Any]:
    """The Kubernetes object that a definition file becomes, as `vela def apply` would send it.

    Raises:
        ToolError: vela is missing, or the file is no definition.
    """
    import yaml

    with tempfile.TemporaryDirectory(prefix="sailplan-vela-") as folder:
        done = _run(Path(folder), "def", "apply", str(file.absolute()), "--dry-run")
    if done.code:
        raise proc.failed(done, f"vela cannot read {file.name}", f"vela def vet {file}")
    if not done.stdout.startswith("apiVersion:"):
        # A warning in front of the object: it would run as something else than what is written.
        said = done.stdout.partition("\n\n")[0]
        raise ToolError(f"vela would rewrite {file.name}: {said}", f"vela def upgrade {file}")
    # Vela prints what it thinks of a definition's CUE in front of the object.
    text = done.stdout[max(0, done.stdout.find("apiVersion:")) :]
    made: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return made


def _run(home: Path, *args: str) -> proc.Completed:
    """Run vela in a home of its own, with a kubeconfig that points nowhere."""
    (home / "kubeconfig").write_text(json.dumps(_NOWHERE))
    return proc.run(
        [proc.tool("vela"), *args],
        timeout=TIMEOUT,
        # A short run spends a third of its time collecting garbage that its end would free anyway.
        env={"HOME": str(home), "KUBECONFIG": str(home / "kubeconfig"), "GOGC": "400"},
        cwd=home,
    )


def judge(done: proc.Completed, application: Mapping[str, Any]) -> list[Rendered]:
    """Objects when all is there. Vela exits 0 on some partial failures, so its exit code alone says nothing."""
    said = complaint(done.stderr)
    objects = parse(done.stdout)
    missing = sorted(
        {part["name"] for part in application["spec"]["components"]} - {item.component for item in objects}
    )
    if done.code == 0 and not missing and not said:
        return objects
    quiet = proc.Completed(done.command, done.code, done.stdout, said)
    message = f"vela left out {', '.join(missing)}" if missing and done.code == 0 else "vela could not render it"
    raise VelaError(proc.failed(quiet, message), refusals(said))


def complaint(stderr: str) -> str:
    """What vela says is wrong, without its noise; it prints whole objects in front of some errors."""
    at = stderr.rfind("\nError: ")
    text = stderr[at + 1 :] if at >= 0 else stderr
    return "\n".join(line for line in text.splitlines() if not _NOISE.search(line))


def parse(text: str) -> list[Rendered]:
    """Take a dry run's output apart by its headers; policies render nothing of ours and are left out."""
    heads = list(_HEADER.finditer(text))
    found: list[Rendered] = []
    for head, following in zip_longest(heads, heads[1:]):
        if head["what"] != "Component":
            continue
        part = text[head.end() : following.start() if following else None]
        for document in re.split(r"^---$", part, flags=re.MULTILINE):
            trait = _TRAIT.search(document)
            if document.strip():
                found.append(Rendered(head["name"], trait["type"] if trait else "", document))
    return found


def refusals(text: str) -> list[Refusal]:
    """What definitions said against their parameters, one entry a field."""
    template = _TEMPLATE.search(text)
    component = template["component"] if template else ""
    trait = (template["trait"] if template else "") or ""
    workload = _WORKLOAD.search(text)
    if workload:
        component, trait = workload["name"], ""
    incomplete = _INCOMPLETE.search(text)
    if incomplete:
        return [Refusal(trait, component, _below(incomplete["field"]), ("incomplete value " + incomplete["value"],))]
    return [Refusal(trait, component, field, tuple(lines)) for field, lines in _sections(text).items()]


def _sections(text: str) -> dict[str, list[str]]:
    """Lines by field. Template errors follow from parameter errors, so they count only when there are no others."""
    by_title: dict[str, dict[str, list[str]]] = {}
    title = ""
    for line in text.splitlines():
        section = _SECTION.match(line)
        if section:
            title = section["title"]
        elif title == "User Errors" and line.startswith("  "):
            by_title.setdefault(title, {}).setdefault("", []).append(line.strip())
        else:
            entry = _LINE.match(line)
            if title and entry:
                by_title.setdefault(title, {}).setdefault(_below(entry["field"]), []).append(entry["message"])
    for wanted in ("User Errors", "Parameter errors"):
        if wanted in by_title:
            return by_title[wanted]
    return next(iter(by_title.values()), {})


def _below(field: str) -> str:
    return field.removeprefix("parameter").removeprefix(".")
