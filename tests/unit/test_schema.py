"""The schema's findings: all of them at once, in a person's words, at the right place; and what is made from it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sailplan import generated, remembered, report, schema
from sailplan.errors import SailplanError, ToolError, UsageError
from sailplan.files import KINDS, document
from sailplan.findings import worst_first
from sailplan.model import Document, Finding
from sailplan.toolbox import cue
from sailplan.yamltext import Positions, parse
from toolchain import find
from unit.catalogs import GONE, ROOT, edited, repository

SEQUENCES = "Sequences decoded at once; also the denominator of the running-requests scaling signal"
FORM = "ower-case letters, digits and dashes, starting with a letter, at most"
COMPONENT_NAME = f"L{FORM} 52 characters (objects add to a component's name)"
PRESET_NAME = f"Name of a preset: l{FORM.replace(' and dashes', ', dashes and dots')} 63 characters"


def read(text: str, kind: str) -> Document:
    """A document from text, as the reader makes it."""
    parsed, wrong = parse(text, "f.yaml")
    assert wrong == []
    made, wrong = document(parsed[0].data, "f.yaml", Positions(text, 0), kind)
    assert made and wrong == []
    return made


def said(text: str, kind: str) -> dict[str, Finding]:
    """What the schema says about a text, by field."""
    return {found.field: found for found in schema.validate_documents(ROOT, [read(text, kind)])}


def changed(name: str, *pairs: tuple[str, str]) -> str:
    """A file of the catalog with some text replaced."""
    text = (ROOT / "catalog" / name).read_text(encoding="utf-8")
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def coder(*pairs: tuple[str, str]) -> dict[str, Finding]:
    return said(changed("models/qwen-coder.yaml", *pairs), "Model")


def test_the_repository_is_valid() -> None:
    assert schema.validate(repository()) == []


def test_all_mistakes_of_all_sorts_are_found_at_once() -> None:
    found = coder(
        ("status: stable", "status: stabel"),
        ("servedName:", "servdName:"),
        ('revision: "c03e6d358207e414f1eca0bb1891e29f1db0e242"', "revision: main"),
        ("gated: false", 'gated: "no"'),
        ("  routing: {tier: medium, specialty: code}\n", ""),
        ("layers: 28", "layers: 2.5"),
        ("downloadGB: 15.2", "downloadGB: -1"),
        ("tensorParallel: [1, 2, 4]", "tensorParallel: [1, 1]"),
        ("quantization: fp8", "quantization: fp7"),
        ("contextWindow: 32768\n      maxNumSeqs: 32", 'contextWindow: 12\n      maxNumSeqs: "32"'),
        ("gpu: {}", "gpuu: {}"),
        ("enabled: true", "enabled: 1"),
        ("sizeGB: 16", "sizeGB: 0"),
        ("min: 4096", "min: [1]"),
        ("l4: {gpus: 1, minVRAM: 16Gi}", "l4: {gpus: 9, minVRAM: 16G, properties: {env: {HF_HOME: x, A: 1}}}"),
    )
    rules = {field: one.id for field, one in found.items()}
    assert rules == {
        "spec.status": "SP003",
        "spec.servdName": "SP001",
        "spec.source.revision": "SP003",
        "spec.source.gated": "SP002",
        "spec.routing": "SP004",
        "spec.architecture.layers": "SP002",
        "spec.architecture.tensorParallel": "SP003",
        "spec.weights.downloadGB": "SP003",
        "spec.properties.model.quantization": "SP003",
        "spec.properties.model.contextWindow": "SP003",
        "spec.properties.model.maxNumSeqs": "SP002",
        "spec.traits.gpuu": "SP001",
        "spec.traits.prefix-cache.enabled": "SP002",
        "spec.settings.kv-offload.sizeGB": "SP003",
        "spec.knobs.model.contextWindow.min": "SP002",
        "spec.profiles.l4.gpus": "SP003",
        "spec.profiles.l4.minVRAM": "SP003",
        "spec.profiles.l4.properties.env.A": "SP002",
        "spec.profiles.l4.properties.env.HF_HOME": "SP001",
    }


@pytest.mark.parametrize(
    ("old", "new", "field", "message", "allowed", "nearest", "fix"),
    [
        (
            "status: stable",
            "status: stabel",
            "spec.status",
            "status stabel is not one of the choices",
            "experimental, stable, deprecated",
            "stable",
            "did you mean stable?",
        ),
        (
            "maxNumSeqs: 32",
            "maxNumSeqs: 0",
            "spec.properties.model.maxNumSeqs",
            "maxNumSeqs 0 is out of range",
            f"a whole number, at least 1 ({SEQUENCES})",
            "",
            "",
        ),
        (
            "maxNumSeqs: 32",
            'maxNumSeqs: "32"',
            "spec.properties.model.maxNumSeqs",
            "maxNumSeqs is text, not a whole number",
            f"a whole number, at least 1 ({SEQUENCES})",
            "",
            "write it without quotes",
        ),
        (
            "licence: ",
            "licence: 2.0 #",
            "spec.source.licence",
            "licence is a number, not text",
            "Licence of the weights, by its usual name",
            "",
            'write it in quotes: "2.0"',
        ),
        (
            "prefix-cache: {enabled: true}",
            'prefix-cache: {enabled: "true"}',
            "spec.traits.prefix-cache.enabled",
            "enabled is text, not true or false",
            "true or false",
            "",
            "write it without quotes",
        ),
        (
            "tensorParallel: [1, 2, 4]",
            "tensorParallel: 1",
            "spec.architecture.tensorParallel",
            "tensorParallel is a whole number, not a list",
            "a list",
            "",
            "write [1]",
        ),
        (
            "preload: {}",
            "preload: []",
            "spec.traits.preload",
            "preload is a list, not a map",
            "a map",
            "",
            "write a map: lines NAME: VALUE, or {}",
        ),
        (
            "apiVersion: catalog.oam.ai/v1",
            "apiVersion: catalog.oam.ai/v2",
            "apiVersion",
            "apiVersion must be catalog.oam.ai/v1",
            "catalog.oam.ai/v1",
            "catalog.oam.ai/v1",
            "write catalog.oam.ai/v1",
        ),
        (
            "apiVersion: catalog.oam.ai/v1\n",
            "",
            "apiVersion",
            "apiVersion is missing",
            "catalog.oam.ai/v1",
            "",
            "write apiVersion: catalog.oam.ai/v1",
        ),
        (
            "  name: qwen-coder",
            "  name: Qwen_Coder",
            "metadata.name",
            "name Qwen_Coder is not of the form that is wanted",
            PRESET_NAME,
            "",
            "",
        ),
        (
            "  servedName: xplane-qwen-coder",
            f"  servedName: {'a' * 53}",
            "spec.servedName",
            f"servedName {'a' * 53} has 53 characters; at most 52",
            COMPONENT_NAME,
            "",
            "",
        ),
    ],
)
def test_words(old: str, new: str, field: str, message: str, allowed: str, nearest: str, fix: str) -> None:
    found = coder((old, new))
    assert list(found) == [field]
    one = found[field]
    assert (one.message, one.allowed, one.nearest, one.fix) == (message, allowed, nearest, fix)
    assert one.position.file == "f.yaml"
    assert one.position.line > 0


def test_a_missing_key_is_not_said_when_it_is_only_misspelt() -> None:
    assert [one.id for one in coder(("servedName:", "servdName:")).values()] == ["SP001"]


def test_r07_a_misspelt_parameter_is_refused_at_any_level() -> None:
    found = coder(("maxNumSeqs: 32", "maxNumSeq: 32"))["spec.properties.model.maxNumSeq"]
    assert (found.id, found.nearest) == ("SP001", "maxNumSeqs")
    found = coder(("sizeGB: 16", "sizeGb: 16"))["spec.settings.kv-offload.sizeGb"]
    assert (found.id, found.nearest) == ("SP001", "sizeGB")


@pytest.mark.parametrize("revision", ["123", "1234567890", "true", "1.5"])
def test_r28_a_commit_that_looks_like_something_else(revision: str) -> None:
    found = coder(('revision: "c03e6d358207e414f1eca0bb1891e29f1db0e242"', f"revision: {revision}"))
    assert found["spec.source.revision"].fix == f'write it in quotes: "{revision}"'


@pytest.mark.parametrize("repository", ["x/y; touch z", "../x", "x", "x/y/z", "x /y", "$(x)/y"])
def test_32_repositories_that_are_none(repository: str) -> None:
    found = coder(('"Qwen/Qwen2.5-Coder-7B-Instruct"', json.dumps(repository)))
    assert found["spec.source.repository"].id == "SP003"


@pytest.mark.parametrize("revision", ["main", "a/b", "c03e6d358207e414f1eca0bb1891e29f1db0e24", "C" * 40, ""])
def test_32_commits_that_are_none(revision: str) -> None:
    found = coder(("c03e6d358207e414f1eca0bb1891e29f1db0e242", revision))
    assert found["spec.source.revision"].id == "SP003"


def test_intents() -> None:
    text = (ROOT / "applications/inference-fleet/app.yaml").read_text(encoding="utf-8")
    found = said(text.replace("dev, staging", "dev, dev"), "App")
    assert found["spec.environments"].message == "dev is listed twice in environments"
    found = said(text.replace("- model: qwen3-8b", "- 3\n    - model: qwen3-8b"), "App")
    assert found["spec.components[1]"].message == "components[1] is a whole number, not a map"
    found = said(text + "  overrides: {dev: {x: {y.z: [1]}}}\n", "App")
    assert found["spec.overrides.dev.x.y.z"].allowed == "text or a number or true or false"


def test_a_knob_that_is_written_as_maps_in_maps() -> None:
    text = (ROOT / "applications/inference-fleet/app.yaml").read_text(encoding="utf-8")
    found = said(text + "  overrides: {dev: {x: {prompt: {temperature: 0.2}}}}\n", "App")
    one = found["spec.overrides.dev.x.prompt"]
    assert (one.nearest, one.fix) == ("prompt.temperature", "write prompt.temperature: 0.2")
    assert said(text + "  overrides: {dev: {x: {prompt: {}}}}\n", "App")["spec.overrides.dev.x.prompt"].nearest == ""


def test_a_name_that_a_map_does_not_take_says_which_it_takes() -> None:
    found = coder(("    model:\n", "    env: {VLLM_API_KEY: x}\n    model:\n"))["spec.properties.env.VLLM_API_KEY"]
    assert (found.id, found.fix) == ("SP001", "choose another name")
    assert "those the platform sets, or has a flag for, are refused" in found.allowed


def test_mistakes_in_one_document_do_not_hide_those_in_another() -> None:
    """CUE looks for missing keys only where nothing else is wrong: the documents are told apart."""
    wrong = read(changed("models/qwen3-8b.yaml", ("layers: 36", "layers: no layers")), "Model")
    lacking = read(changed("models/llamaguard3-1b.yaml", ("  servedName: xplane-llamaguard3-1b\n", "")), "Model")
    misspelt = read(changed("environments/dev.yaml", ("budget:", "bugdet:")), "Environment")
    found = schema.validate_documents(ROOT, [wrong, lacking, misspelt])
    assert {one.field for one in found} == {"spec.architecture.layers", "spec.servedName", "spec.gpu.bugdet"}
    assert found == worst_first(found)


@pytest.fixture
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, with the cue that is built in the real one."""
    monkeypatch.setenv("SAILPLAN_CUE", str(find("cue")))
    monkeypatch.setenv("SAILPLAN_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("forgetful")
def test_nothing_is_remembered_about_what_is_wrong() -> None:
    broken = edited({"models/qwen-coder: spec status": "old"})
    assert [one.field for one in schema.validate(broken)] == ["spec.status"]
    assert [one.field for one in schema.validate(broken)] == ["spec.status"]
    assert schema.validate(edited({"models/qwen-coder: spec source": GONE})) != []
    assert schema.validate(repository()) == []


@pytest.mark.usefixtures("forgetful")
def test_what_was_valid_costs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert schema.validate(repository()) == []

    def fail(*_: Any) -> Any:
        raise AssertionError("cue was started")

    monkeypatch.setattr(cue, "vet", fail)
    assert schema.validate(repository()) == []
    with pytest.raises(AssertionError):
        schema.validate(edited({"models/qwen-coder: spec status": "deprecated"}))


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\0" * 64], ids=["empty", "nonsense", "zeros"])
def test_a_broken_memory_is_no_memory(forgetful: Path, damage: bytes) -> None:
    schema.validate(repository())
    generated.generate(ROOT)
    files = [path for path in (forgetful / "known").iterdir() if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(damage)
    broken = edited({"models/qwen-coder: spec status": "old"})
    assert [one.field for one in schema.validate(broken)] == ["spec.status"]
    assert generated.stale(ROOT) == []


def test_a_memory_that_cannot_be_written_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("SAILPLAN_CACHE", str(tmp_path / "file"))
    remembered.Remembered("x", ["key"]).add(["text"])
    assert remembered.recall("x", ["key"], lambda: {"a": "b"}) == {"a": "b"}


def test_old_memories_go(forgetful: Path) -> None:
    for number in range(40):
        remembered.recall("x", [str(number)], lambda: {"a": "b"})
    assert len(list((forgetful / "known").iterdir())) == 20


def test_generated_files_are_up_to_date() -> None:
    assert generated.stale(ROOT) == []


def test_drift_is_noticed_and_mended(tmp_path: Path) -> None:
    for name in ("catalog", "definitions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    gpu = tmp_path / "definitions/trait/gpu.cue"
    gpu.write_text(gpu.read_text(encoding="utf-8").replace("& <=8", "& <=16", 1), encoding="utf-8")
    extra = tmp_path / "catalog/schema/json/definitions/gone.json"
    extra.write_text("{}", encoding="utf-8")
    (tmp_path / "catalog/schema/json/App.json").unlink()
    stale = generated.stale(tmp_path)
    assert "catalog/schema/parameters.cue" in stale
    assert "catalog/schema/json/definitions/gpu.json" in stale
    assert "catalog/schema/json/definitions/gone.json" in stale
    assert "catalog/schema/json/App.json" in stale
    assert generated.write(tmp_path) == stale
    assert generated.stale(tmp_path) == []
    assert not extra.exists()


def test_the_url_of_an_edge_is_what_its_definition_takes() -> None:
    """Otherwise a user and password in it pass `check`, and the hub refuses them after they were committed."""
    backend = schema.json_schema("Edge", ROOT)["properties"]["spec"]["properties"]["backend"]["properties"]
    parameters = schema.json_schema("inference-api", ROOT)["properties"]
    assert backend["url"]["pattern"] == parameters["backendURL"]["pattern"]
    assert not re.search(backend["url"]["pattern"], "http://user:password@host/v1")


PORTS = [
    (
        "environments/sandbox.yaml",
        "Environment",
        "stack.observability.svc:8428",
        "a.svc:{}",
        "spec.metrics.serverAddress",
    ),
    (
        "environments/sandbox.yaml",
        "Environment",
        "  gpu:",
        '  images: {{registry: "r.example:{}/x"}}\n  gpu:',
        "spec.images.registry",
    ),
    ("models/llama32-1b.yaml", "Edge", ":11434", ":{}", "spec.backend.url"),
    ("images.yaml", "Images", "vllm/vllm-openai:", "r:{}/vllm-openai:", "spec.engines.vllm-0.25.0.image"),
]
"""File and its kind, a text in it, another one with a port, and the field that it is in."""


@pytest.mark.parametrize(("file", "kind", "old", "new", "field"), PORTS, ids=[row[-1] for row in PORTS])
def test_ports_are_what_a_computer_has(file: str, kind: str, old: str, new: str, field: str) -> None:
    for port in ("1", "80", "9999", "59999", "64999", "65535"):
        assert said(changed(file, (old, new.format(port))), kind) == {}, port
    for port in ("0", "65536", "65540", "65600", "66000", "70000", "123456"):
        found = said(changed(file, (old, new.format(port))), kind)
        assert list(found) == [field], port
        one = found[field]
        assert port in one.given and "1 to 65535" in one.allowed and one.position.line > 1


ADDRESS = "http://vmsingle-victoria-metrics-k8s-stack.observability.svc:8428"


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://m.example/select/0/prometheus/", True),
        ("http://[fd00::1]:9090", True),
        ("http://10.0.0.1", True),
        ("http://h:-1", False),
        ("http://h:", False),
        ("http://h:\uff18\uff14", False),
        ("http://h:8428 ", False),
        ("http://h:8428 x", False),
        ("http://u:s3cret@h:8428", False),
        ("http://h:8428/?token=s3cret", False),
        ("http://h:8428#x", False),
        ("http://h:8428\\n", False),
        ("http:///x", False),
        ("http://-h", False),
    ],
)
def test_the_address_of_metrics_is_an_address(address: str, taken: bool) -> None:
    """What is taken here must be taken by the definitions, and nothing in it may be secret: it is shown."""
    found = said(changed("environments/sandbox.yaml", (f'"{ADDRESS}"', f'"{address}"')), "Environment")
    assert list(found) == ([] if taken else ["spec.metrics.serverAddress"])
    assert "s3cret" not in report.text(list(found.values()))
    pattern = schema.json_schema("keda-saturation-scaling", ROOT)["properties"]["serverAddress"]["allOf"]
    assert not taken or all(re.search(part["pattern"], address) for part in pattern if "pattern" in part)


@pytest.mark.parametrize("kind", KINDS)
def test_json_schema_takes_what_the_schema_takes(kind: str) -> None:
    one = schema.json_schema(kind, ROOT)
    jsonschema.Draft7Validator.check_schema(one)
    for found in schema.documents(repository()):
        if found.kind == kind:
            jsonschema.validate(found.data, one)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({**found.data, "knid": kind}, one)


def test_json_schema_of_definitions_say_what_is_needed() -> None:
    for name in repository().definitions:
        one = schema.json_schema(name, ROOT)
        jsonschema.Draft7Validator.check_schema(one)
        assert one["description"]
        assert one["title"] == name
    assert schema.json_schema("vllm-model", ROOT)["required"] == ["model"]
    assert schema.json_schema("vllm-model", ROOT)["properties"]["model"]["required"] == ["repository", "revision"]
    assert "required" not in schema.json_schema("gpu", ROOT)
    assert schema.json_schema("gpu", ROOT)["properties"]["count"]["default"] == 1


def test_kinds_are_found_in_any_case_and_number() -> None:
    assert schema.json_schema("models", ROOT)["title"] == "Model"
    assert schema.json_schema("capabilities", ROOT)["title"] == "Capability"
    assert schema.json_schema("APP", ROOT)["title"] == "App"
    with pytest.raises(UsageError) as raised:
        schema.json_schema("modle", ROOT)
    assert raised.value.hint == "did you mean Model?"


def test_every_file_names_its_schema_for_editors() -> None:
    for one in schema.documents(repository()):
        path = ROOT / one.file
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema="), one.file
        named = (path.parent / first.partition("$schema=")[2]).resolve()
        assert named == ROOT / f"catalog/schema/json/{one.kind}.json"
        assert named.is_file()


def test_a_broken_schema_is_a_tools_failure(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "catalog", tmp_path / "catalog")
    (tmp_path / "catalog/schema/app.cue").write_text("package catalog\n#App: {\n", encoding="utf-8")
    with pytest.raises(ToolError, match="cue could not check"):
        schema.validate_documents(tmp_path, list(repository().apps.values()))


def test_cue_is_asked_at_its_pinned_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAILPLAN_CUE", "/nowhere/cue")
    with pytest.raises(SailplanError):
        schema.validate(repository())
