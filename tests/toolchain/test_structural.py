"""From a published schema to a closed JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft4Validator

from toolchain.structural import closed, from_crd, from_openapi

DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
                "type": "object", "properties": {"name": {"type": "string", "description": "words"}}},
            "io.k8s.api.core.v1.Thing": {
                "type": "object",
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {
                        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
                        "default": {}},
                    "description": {"type": "string"},
                    "count": {"type": "integer", "format": "int32"},
                    "size": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                    "raw": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"},
                },
                "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Thing"}]},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
            "io.k8s.api.core.v1.Unrelated": {"type": "object"},
        }
    }
}  # fmt: skip


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(Draft4Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x"}, {"b": "x"}),
        ({"type": "object"}, {}, {"b": "x"}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"b": "x"}, []),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"b": "x"}, {"b": 1}),
        ({"type": "object", "additionalProperties": {"type": "object"}}, {"b": {}}, {"b": {"c": 1}}),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, [{"a": 1}], [{"b": 1}]),
        ({"x-kubernetes-int-or-string": True}, "80%", [1]),
        ({"x-kubernetes-int-or-string": True}, 8, 1.5),
        ({"type": "string", "nullable": True}, None, 1),
        ({"type": "integer", "format": "int32"}, 2**31 - 1, 2**31),
        ({"type": "integer", "format": "int64"}, 2**40, 1.0),
        ({"type": "string", "pattern": r"^\PC*$"}, "line", "li\x07ne"),
        ({"type": "string", "pattern": "^(?i)https?://"}, "HTTP://x", "ftp://x"),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
         {"a": 1}, {"a": 1, "b": 1}),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
         {"kind": "X", "spec": {}}, {"kind": 1}),
    ],
)  # fmt: skip
def test_closed(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert accepts(closed(schema), good)
    assert not accepts(closed(schema), bad)


def test_a_field_may_be_called_like_a_keyword() -> None:
    value = {"description": "x", "default": "y", "pattern": "["}
    fields = {name: {"type": "string"} for name in value}
    assert accepts(closed({"type": "object", "properties": fields}), value)


def test_openapi_gives_objects_with_what_they_refer_to() -> None:
    found = {kind: (api, schema) for api, kind, schema in from_openapi(DOCUMENT)}
    assert found.keys() == {"ObjectMeta", "Thing"}
    api, schema = found["Thing"]
    assert api == "v1"
    assert not any(name.endswith("Unrelated") for name in schema["definitions"])
    thing = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "count": 1, "description": "x"}
    assert accepts(schema, thing)
    assert accepts(schema, thing | {"size": "1.5Gi", "raw": {"any": 1}})
    for wrong in ({"size": "1GiB"}, {"count": 2**31}, {"metadata": {"nam": "x"}}, {"cuont": 1}):
        assert not accepts(schema, thing | wrong)


def test_a_crd_borrows_the_metadata_of_native_objects() -> None:
    metadata = next(schema for _, kind, schema in from_openapi(DOCUMENT) if kind == "ObjectMeta")
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    crd = {"spec": {"group": "x.io", "names": {"kind": "Wish"}, "versions": [
        {"name": "v1", "served": True, "schema": {"openAPIV3Schema": root}},
        {"name": "v0", "served": False, "schema": {"openAPIV3Schema": root}}]}}  # fmt: skip
    ((api, kind, schema),) = from_crd(crd, metadata)
    assert (api, kind) == ("x.io/v1", "Wish")
    wish = {"apiVersion": "x.io/v1", "kind": "Wish", "metadata": {"name": "x"}, "spec": {"a": "x"}}
    assert accepts(schema, wish)
    assert not accepts(schema, wish | {"metadata": {"lables": {}}})
    assert not accepts(schema, wish | {"specs": {}})
