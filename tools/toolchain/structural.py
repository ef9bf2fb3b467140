"""Turns the schemas that Kubernetes APIs publish into closed JSON Schemas (draft 4, which OpenAPI 3.0 grew from).

An API server drops unknown fields of a typed object without a word, so a typo renders, applies and does nothing. The
schemas made here refuse it instead. What they do not check: CEL rules (`x-kubernetes-validations`), formats other than
int32, defaulting, admission webhooks, immutability, and what a controller refuses later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
_QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_REF = "#/components/schemas/"

# Native types that hold any object.
_OPEN = ("FieldsV1", "RawExtension", "JSON", "Patch")

# The published OpenAPI has no enums for native types; these are the ones that people get wrong, from the fields' own
# descriptions. Key: end of the type's name, field.
_ENUMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps.v1.DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("core.v1.Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("core.v1.ContainerPort", "protocol"): ("TCP", "UDP", "SCTP"),
    ("core.v1.EmptyDirVolumeSource", "medium"): ("", "Memory", "HugePages"),
    ("core.v1.HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    ("core.v1.NodeSelectorRequirement", "operator"): ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode"): ("Filesystem", "Block"),
    ("core.v1.PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("core.v1.PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("core.v1.PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("core.v1.SeccompProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    ("core.v1.ServicePort", "protocol"): ("TCP", "UDP", "SCTP"),
    ("core.v1.ServiceSpec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    ("core.v1.Toleration", "effect"): ("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    ("core.v1.Toleration", "operator"): ("", "Exists", "Equal"),
    ("core.v1.TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("meta.v1.LabelSelectorRequirement", "operator"): ("In", "NotIn", "Exists", "DoesNotExist"),
    ("networking.v1.NetworkPolicyPort", "protocol"): ("TCP", "UDP", "SCTP"),
    ("policy.v1.PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy"): ("IfHealthyBudget", "AlwaysAllow"),
}
_ENUMS_OF_ITEMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("core.v1.PersistentVolumeClaimSpec", "accessModes"): (
        "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    ("networking.v1.NetworkPolicySpec", "policyTypes"): ("Ingress", "Egress"),
}  # fmt: skip


def from_crd(crd: Schema, metadata: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield (apiVersion, kind, schema) of each served version of a CustomResourceDefinition.

    Args:
        crd: the parsed object.
        metadata: a self-contained schema of ObjectMeta (`from_openapi` gives one); a CRD itself says only "object".
    """
    spec = crd["spec"]
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        schema = closed(version["schema"]["openAPIV3Schema"])
        schema["properties"] |= {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": "#/definitions/" + metadata["title"]},
        }
        schema["definitions"] = metadata["definitions"]
        yield f"{spec['group']}/{version['name']}", spec["names"]["kind"], schema


def closed(schema: Schema) -> Schema:
    """Return a structural schema that refuses the fields which an API server would drop."""
    left_out = ("description", "default", "x-kubernetes-validations")
    made = {key: value for key, value in schema.items() if key not in left_out}
    if "default" in schema and not isinstance(schema["default"], dict | list):
        made["default"] = schema["default"]  # kept for list keys, see tests/conformance/schemas.py
    if "properties" in schema:
        made["properties"] = {name: closed(inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        made["items"] = closed(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = closed(schema["additionalProperties"])
    if schema.get("x-kubernetes-embedded-resource"):
        embedded = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
        made["properties"] = embedded | made.get("properties", {})
    if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return _scalars(made)


def from_openapi(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield (apiVersion, kind, schema) of each object in an OpenAPI v3 document of Kubernetes, and ObjectMeta.

    ObjectMeta comes as ("", "ObjectMeta", schema). Lists, options and status objects are left out. Each schema carries
    the definitions that it refers to, and no others.
    """
    types = {name: _native(name, schema) for name, schema in document["components"]["schemas"].items()}
    for name, schema in types.items():
        if name.endswith(".meta.v1.ObjectMeta"):
            yield "", "ObjectMeta", _with_definitions(name, types)
        names = schema.get("x-kubernetes-group-version-kind", [])
        if len(names) == 1 and {"apiVersion", "kind", "metadata"} <= schema.get("properties", {}).keys():
            group, version, kind = (names[0][key] for key in ("group", "version", "kind"))
            if not kind.endswith("List"):
                yield "/".join(filter(None, (group, version))), kind, _with_definitions(name, types)


def _with_definitions(name: str, types: dict[str, Schema]) -> Schema:
    """Return a schema by reference, together with all that it reaches."""
    reached: dict[str, Schema] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached[one] = types[one]
            waiting += re.findall(r"'#/definitions/([^']+)'", repr(types[one]))
    return {"title": name, "$ref": f"#/definitions/{name}", "definitions": reached}


def _native(name: str, schema: Schema) -> Schema:
    """Close one component of the OpenAPI document and add what its prose says but its schema does not."""
    short = name.rsplit(".", 1)[-1]
    if short == "Quantity":
        return {"oneOf": [{"type": "string", "pattern": _QUANTITY}, {"type": "number"}]}
    if short in _OPEN:
        return {"type": "object"}
    made: Schema = _walk(schema)
    if "properties" in made:
        made.setdefault("additionalProperties", False)
    for (owner, field), values in (_ENUMS | _ENUMS_OF_ITEMS).items():
        if name.endswith("." + owner):
            place = made["properties"][field]
            (place["items"] if (owner, field) in _ENUMS_OF_ITEMS else place)["enum"] = list(values)
    return made


def _walk(value: Any) -> Any:
    """Copy a native schema: references to `definitions`, no prose, numbers in their range."""
    if isinstance(value, list):
        return [_walk(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, inner in value.items():
        if key == "$ref":
            made[key] = "#/definitions/" + inner.removeprefix(_REF)
        elif key == "properties":  # its keys are names of fields: one of them may well be "description"
            made[key] = {name: _walk(field) for name, field in inner.items()}
        elif key != "description" and not (key == "default" and isinstance(inner, dict | list)):
            made[key] = _walk(inner)
    return _scalars(made)


def _scalars(schema: Schema) -> Schema:
    """Range of int32, int-or-string, null, and patterns that Python reads as Go does."""
    if schema.get("format") == "int32" and schema.get("type") == "integer":
        schema = _INT32 | schema
    if schema.get("x-kubernetes-int-or-string"):
        schema.pop("type", None)
        schema.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if "pattern" in schema:
        schema["pattern"] = _pattern(schema["pattern"])
    return schema


def _pattern(pattern: str) -> str:
    r"""Rewrite the two forms of Go's that published schemas use and Python lacks: \PC, and (?i) not at the start."""
    pattern = pattern.replace(r"\PC", r"[^\x00-\x1f\x7f-\x9f]")
    if "(?i)" in pattern:
        pattern = "(?i)" + pattern.replace("(?i)", "")
    re.compile(pattern)  # another such form must be noticed when a version is raised, not when an object is checked
    return pattern
