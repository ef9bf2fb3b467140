"""The definitions as a KubeVela addon: a folder that `vela addon enable DIR` takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sailplan import writer
from sailplan.catalog import definition_files
from sailplan.errors import UsageError
from sailplan.model import Catalog

NAME = "sailplan"
VELA = ">=1.11.0"
"""Versions of KubeVela that the definitions were tried with."""

KUBERNETES = ">=1.26.0-0"

_MARK = "# Made by `sailplan definitions package`."
_DESCRIPTION = re.compile(r'^\s*description:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)


def addon(catalog: Catalog, version: str, names: Sequence[str] = ()) -> dict[str, str]:
    """Text of every file of the addon, by its path.

    Args:
        catalog: of the checkout.
        version: of the addon, MAJOR.MINOR.PATCH.
        names: only these definitions; all without any.
    """
    chosen = {name: path for name, path in definition_files(Path(catalog.root)).items() if not names or name in names}
    texts = {name: path.read_text(encoding="utf-8") for name, path in chosen.items()}
    metadata = {
        "name": NAME,
        "version": version,
        "description": "Definitions for LLM inference: a vLLM server and what it needs around it",
        "icon": "",
        "tags": ["llm", "inference", "vllm"],
        "system": {"vela": VELA, "kubernetes": KUBERNETES},
        "needNamespace": ["vela-system"],
        "invisible": False,
    }
    return {
        "metadata.yaml": f"{_MARK}\n{writer.dump(metadata)}",
        "template.cue": _TEMPLATE,
        "README.md": _readme(catalog, version, texts),
        **{f"definitions/{name}.cue": text for name, text in texts.items()},
    }


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write an addon into a folder, which then holds nothing else.

    Raises:
        UsageError: the folder holds something that this command did not make.
    """
    known = folder / "metadata.yaml"
    ours = known.is_file() and known.read_text(encoding="utf-8", errors="replace").startswith(_MARK)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "name a folder")
    if folder.exists() and any(folder.iterdir()) and not ours:
        raise UsageError(f"{folder} is not empty, and nothing that this command made", "name another folder")
    for old in folder.glob("definitions/*.cue"):
        old.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


_TEMPLATE = """// Made by `sailplan definitions package`. The addon is its definitions; it runs nothing of its own.
package main

output: {
	apiVersion: "core.oam.dev/v1beta1"
	kind:       "Application"
	spec: components: []
}
"""


def _readme(catalog: Catalog, version: str, texts: Mapping[str, str]) -> str:
    folders = {name: path.parent.name for name, path in definition_files(Path(catalog.root)).items()}
    definitions = [[f"`{name}`", folders[name], catalog.definitions[name], _said(text)] for name, text in texts.items()]
    return f"""# {NAME} {version}

KubeVela definitions for LLM inference: a vLLM server, and what it needs around it.

    vela addon enable DIR      # this folder
    vela addon disable {NAME}

Pin the component in Applications (`type: vllm-model@v{catalog.definitions.get("vllm-model", "")}`), and no trait: an
override policy does not find a pinned one.

## Definitions

{_table(["name", "type", "version", "what it does"], definitions)}
## Requirements

KubeVela {VELA} on the hub, Kubernetes {KUBERNETES.removesuffix("-0")} everywhere. What a cluster needs
besides depends on the traits that are used there:

{_table(["API", "CRDs", "version", "what it is"], _apis(catalog))}"""


def _apis(catalog: Catalog) -> list[list[str]]:
    apis = catalog.apis.spec["apis"] if catalog.apis else {}
    return [
        [name, ", ".join(f"`{crd}`" for crd in one["crds"]), one.get("minVersion", ""), one["description"]]
        for name, one in apis.items()
    ]


def _said(text: str) -> str:
    found = _DESCRIPTION.search(text)
    return found.group(1).replace("|", "\\|") if found else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
