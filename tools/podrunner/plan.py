"""From a pod to what is started for it: command, environment, files. Pure, but for looking objects up."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import images
from .api import Object
from .errors import NotRunnable, Refused
from .images import Image

Look = Callable[[str, str], Awaitable[Object]]
"""Returns an object by the plural of its kind ("configmaps", "secrets") and its name, of the pod's namespace."""

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[A-Za-z_.-][A-Za-z0-9_.-]*)\)")
_CONFIG = "CreateContainerConfigError"


@dataclass(frozen=True, slots=True)
class Folder:
    """A volume as it appears in a container.

    Attributes:
        path: where.
        files: contents by relative path; None for a folder that begins empty.
        one: the name in `files` that `path` is itself, "" when it is a folder.
    """

    path: str
    files: Mapping[str, bytes] | None
    one: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is started for a pod.

    Attributes:
        argv: program and arguments.
        env: the container's variables.
        folders: its volumes.
        ignored: what of the pod is not done here, for people.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folders: tuple[Folder, ...] = ()
    ignored: tuple[str, ...] = field(default=())


async def plan(pod: Object, address: str, known: Mapping[str, Image], look: Look) -> Plan:
    """Work out what to start for a pod's first container.

    Args:
        pod: as the API server has it.
        address: the pod's.
        known: local commands by pattern of image.
        look: finds ConfigMaps and Secrets.

    Raises:
        NotRunnable: the image is not known here, or something that the pod refers to is missing.
    """
    container = pod["spec"]["containers"][0]
    image = images.find(known, container["image"])
    if image is None:
        raise NotRunnable("ErrImagePull", f"no local command stands for image {container['image']}")
    own = {name: value.replace("{address}", address) for name, value in image.env.items()}
    env = {**await _environment(pod, container, address, look), **own}
    command = container.get("command") or images.entrypoint(image)
    argv = tuple(expand(word, env) for word in [*command, *container.get("args", [])])
    folders = [one for mount in container.get("volumeMounts", []) for one in await _folder(pod, mount, address, look)]
    return Plan(argv, env, tuple(folders), tuple(_ignored(pod)))


def expand(text: str, env: Mapping[str, str]) -> str:
    """Put variables for $(NAME), as Kubernetes does; $$(NAME) stays $(NAME), and so does an unknown one."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else env.get(found["name"], found[0])

    return _REFERENCE.sub(value, text)


async def _environment(pod: Object, container: Object, address: str, look: Look) -> dict[str, str]:
    env: dict[str, str] = {}
    for source in container.get("envFrom", []):
        for field_, kind in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
            if field_ in source:
                found = await _data(source[field_], kind, look)
                env |= {source.get("prefix", "") + name: _text(value) for name, value in (found or {}).items()}
    for row in container.get("env", []):
        value = await _value(pod, row, address, look)
        if value is not None:
            env[row["name"]] = expand(value, env)
    return env


async def _value(pod: Object, row: Object, address: str, look: Look) -> str | None:
    if "valueFrom" not in row:
        return str(row.get("value", ""))
    source = row["valueFrom"]
    if "fieldRef" in source:
        return downward(pod, source["fieldRef"]["fieldPath"], address)
    if "resourceFieldRef" in source:
        return _resource(pod, source["resourceFieldRef"])
    for field_, kind in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
        if field_ in source:
            reference = source[field_]
            found = await _data(reference, kind, look)
            if found is not None and reference["key"] in found:
                return _text(found[reference["key"]])
            if reference.get("optional"):
                return None
            raise NotRunnable(_CONFIG, f"couldn't find key {reference['key']} in {kind} {reference['name']}")
    raise NotRunnable(_CONFIG, f"variable {row['name']}: a source that is not known here")


async def _data(reference: Object, kind: str, look: Look) -> dict[str, bytes] | None:
    """Contents of a ConfigMap or Secret; None when it may be missing and is."""
    try:
        found = await look(kind, reference["name"])
    except Refused as error:
        if error.status != 404:
            raise
        if reference.get("optional"):
            return None
        raise NotRunnable(_CONFIG, f"{kind[:-1]} {reference['name']!r} not found") from error
    return contents(found, kind)


def contents(found: Object, kind: str) -> dict[str, bytes]:
    """What a ConfigMap or Secret holds, as bytes.

    Raises:
        NotRunnable: it is not base64 where it should be.
    """
    packed = found.get("data") or {} if kind == "secrets" else found.get("binaryData") or {}
    plain = {} if kind == "secrets" else found.get("data") or {}
    try:
        return {
            **{name: text.encode() for name, text in plain.items()},
            **{name: base64.b64decode(text) for name, text in packed.items()},
        }
    except binascii.Error as error:
        raise NotRunnable(_CONFIG, f"{kind} {found['metadata']['name']}: {error}") from error


def _text(value: bytes) -> str:
    return value.decode(errors="replace").replace("\0", "")


def downward(pod: Object, path: str, address: str) -> str:
    """A field of the pod itself.

    Raises:
        NotRunnable: the downward API knows no such field.
    """
    meta, spec = pod["metadata"], pod["spec"]
    keyed = re.fullmatch(r"metadata\.(?P<part>labels|annotations)\['(?P<key>[^']*)'\]", path)
    if keyed:
        return str((meta.get(keyed["part"]) or {}).get(keyed["key"], ""))
    known: dict[str, Callable[[], str]] = {
        "metadata.name": lambda: meta["name"],
        "metadata.namespace": lambda: meta["namespace"],
        "metadata.uid": lambda: meta["uid"],
        "metadata.labels": lambda: _lines(meta.get("labels")),
        "metadata.annotations": lambda: _lines(meta.get("annotations")),
        "spec.nodeName": lambda: spec["nodeName"],
        "spec.serviceAccountName": lambda: spec.get("serviceAccountName", ""),
        "status.podIP": lambda: address,
        "status.podIPs": lambda: address,
        "status.hostIP": lambda: "127.0.0.1",
        "status.hostIPs": lambda: "127.0.0.1",
    }
    if path not in known:
        raise NotRunnable(_CONFIG, f"field {path} is not known here")
    return known[path]()


def _lines(pairs: Mapping[str, str] | None) -> str:
    return "\n".join(f'{name}="{value}"' for name, value in sorted((pairs or {}).items()))


def _resource(pod: Object, reference: Object) -> str:
    """A request or limit as written; divisors other than 1 are not known here."""
    part, _, name = reference["resource"].partition(".")
    resources = pod["spec"]["containers"][0].get("resources", {})
    if reference.get("divisor", "0") not in ("0", "1"):
        raise NotRunnable(_CONFIG, f"divisor {reference['divisor']} of {reference['resource']} is not known here")
    return str(resources.get(part, {}).get(name, "0"))


async def _folder(pod: Object, mount: Object, address: str, look: Look) -> list[Folder]:
    """What is at a mount; nothing for volumes that stay what this machine has there."""
    volume = next(one for one in pod["spec"].get("volumes", []) if one["name"] == mount["name"])
    files = await _files(pod, volume, address, look)
    path, part = mount["mountPath"], mount.get("subPath", "")
    if files is None or not part:
        return [Folder(path, files)]
    if part in files:
        return [Folder(path, files, one=part)]
    inner = {name.removeprefix(f"{part}/"): data for name, data in files.items() if name.startswith(f"{part}/")}
    return [Folder(path, inner)]


async def _files(pod: Object, volume: Object, address: str, look: Look) -> dict[str, bytes] | None:
    """Files of a volume; None when it begins empty."""
    if "projected" in volume:
        found: dict[str, bytes] = {}
        for source in volume["projected"].get("sources", []):
            found |= await _source(pod, source, address, look)
        return found
    if {"configMap", "secret", "downwardAPI"} & set(volume):
        return await _source(pod, volume, address, look)
    return None


async def _source(pod: Object, source: Object, address: str, look: Look) -> dict[str, bytes]:
    """Files of a ConfigMap, a Secret or the downward API; service account tokens do not exist here."""
    for field_, kind in (("configMap", "configmaps"), ("secret", "secrets")):
        if field_ in source:
            row = source[field_]
            reference = {**row, "name": row.get("name") or row.get("secretName", "")}
            return _chosen(await _data(reference, kind, look) or {}, row)
    rows = source.get("downwardAPI", {}).get("items", [])
    return {
        row["path"]: downward(pod, row["fieldRef"]["fieldPath"], address).encode() for row in rows if "fieldRef" in row
    }


def _chosen(data: dict[str, bytes], row: Object) -> dict[str, bytes]:
    items: list[dict[str, Any]] = row.get("items") or []
    if not items:
        return data
    missing = [one["key"] for one in items if one["key"] not in data]
    if missing and not row.get("optional"):
        raise NotRunnable("FailedMount", f"references non-existent config key: {missing[0]}")
    return {one["path"]: data[one["key"]] for one in items if one["key"] in data}


def _ignored(pod: Object) -> list[str]:
    spec = pod["spec"]
    said = [f"init container {one['name']} is not run" for one in spec.get("initContainers", [])]
    said += [f"container {one['name']} is not run, only the first one is" for one in spec["containers"][1:]]
    if "postStart" in spec["containers"][0].get("lifecycle", {}):
        said.append("the postStart hook is not run")
    return said
