"""`validate(obj)`: does an object hold to the published schema of its API, field by field?

The schemas are those of tools/toolchain/sources.py: Kubernetes' own OpenAPI and the CRDs of the pinned projects,
closed, so that a field which an API server would drop is an error here. Added: names and labels as the API server wants
them, and the uniqueness that `x-kubernetes-list-type: map|set` asks for. Not checked: CEL rules, webhooks, and what
only a controller knows.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft4Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from toolchain import sources

Object = dict[str, Any]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_ANNOTATION_BYTES = 256 * 1024

# Kinds whose names become DNS labels or host names.
_SHORT_NAMES = {"Namespace": _LABEL, "Service": re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")}


def validate(obj: Object) -> list[str]:
    """Return what is wrong with one Kubernetes object, a line each, empty when nothing is.

    A line starts with the path of the field, for instance `spec.template.spec.containers[0]: ...`.
    """
    name = f"{obj.get('apiVersion', '')}/{obj.get('kind', '')}"
    if name not in index():
        return [f"apiVersion, kind: no published schema of {name} is known"]
    errors = sorted(_validator(name).iter_errors(obj), key=lambda error: str(error.json_path))
    return [*map(_words, errors), *_identity(obj)]


@functools.cache
def index() -> dict[str, dict[str, str]]:
    """Return the known kinds: `apps/v1/Deployment` -> {file, source}."""
    found: dict[str, dict[str, str]] = json.loads((sources.schemas() / sources.INDEX).read_text(encoding="utf-8"))
    return found


@functools.cache
def _validator(name: str) -> Validator:
    schema = json.loads((sources.schemas() / index()[name]["file"]).read_text(encoding="utf-8"))
    unique = functools.partial(_unique, schema["definitions"])
    made: Validator = extend(Draft4Validator, {"x-kubernetes-list-type": unique})(schema)  # type: ignore[no-untyped-call]
    return made


def _unique(
    definitions: Object, validator: Validator, kind: str, items: Any, schema: Object
) -> Iterator[ValidationError]:
    """Refuse two items of a list that is a map or a set with the same key."""
    if kind not in ("map", "set") or not validator.is_type(items, "array"):
        return
    fields = _fields(schema.get("items", {}), definitions)
    keys = schema.get("x-kubernetes-list-map-keys", [])
    seen = set()
    for position, item in enumerate(items):
        found = {key: item.get(key, fields.get(key, {}).get("default")) for key in keys if isinstance(item, dict)}
        key = json.dumps(found if kind == "map" else item, sort_keys=True)
        if key in seen:
            yield ValidationError(f"a second item with the key {key}", path=[position])
        seen.add(key)


def _fields(schema: Object, definitions: Object) -> Object:
    """Return the properties of a list's items, behind the one reference that native types put there."""
    for part in (schema, *schema.get("allOf", [])):
        if "$ref" in part:
            schema = definitions[part["$ref"].rsplit("/", 1)[-1]]
    found: Object = schema.get("properties", {})
    return found


def _words(error: ValidationError) -> str:
    """Say where and what; the alternatives of oneOf and anyOf come along when they say more."""
    where = error.json_path.removeprefix("$").removeprefix(".") or "the object"
    inner = sorted({sub.message for sub in error.context or () if "is not of type" not in sub.message})
    return f"{where}: {error.message}" + (f" ({'; '.join(inner)})" if inner else "")


def _identity(obj: Object) -> Iterator[str]:
    """Names, labels and annotations: what the API server checks by code and the schemas leave open."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        yield "metadata: missing"
        return
    wanted = _SHORT_NAMES.get(obj["kind"], _SUBDOMAIN)
    if not wanted.fullmatch(str(metadata.get("name", ""))):
        yield f"metadata.name: {metadata.get('name')!r} is no name for a {obj['kind']}"
    if "namespace" in metadata and not _LABEL.fullmatch(str(metadata["namespace"])):
        yield f"metadata.namespace: {metadata['namespace']!r} is no name for a namespace"
    yield from _labels(obj, "")
    size = sum(len(key) + len(str(value)) for key, value in (metadata.get("annotations") or {}).items())
    if size > _ANNOTATION_BYTES:
        yield f"metadata.annotations: {size} bytes, at most {_ANNOTATION_BYTES}"


def _labels(value: Any, path: str) -> Iterator[str]:
    """Check labels, selectors and keys of annotations, at any depth (pod templates, selectors of policies)."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _labels(item, f"{path}[{position}]")
    if not isinstance(value, dict):
        return
    for field, inner in value.items():
        here = f"{path}.{field}".removeprefix(".")
        if field in ("labels", "matchLabels", "annotations") and isinstance(inner, dict):
            yield from (f"{here}: {key!r} is no key" for key in inner if not _is_key(key))
            if field != "annotations":
                yield from (f"{here}.{key}: {text!r} is no label value" for key, text in inner.items()
                            if not (isinstance(text, str) and _VALUE.fullmatch(text)))  # fmt: skip
        else:
            yield from _labels(inner, here)


def _is_key(key: str) -> bool:
    """`[prefix/]name`; Cilium also puts the source of a label before it, as in `k8s:app`."""
    prefix, _, name = re.sub(r"^(k8s|any|reserved):", "", key).rpartition("/")
    return bool(name and _VALUE.fullmatch(name) and (not prefix or _SUBDOMAIN.fullmatch(prefix)))
