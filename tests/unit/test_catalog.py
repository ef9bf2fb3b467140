"""Reading files: every way in which a file or its YAML can be wrong is a finding, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sailplan.catalog import find_root, load, read, read_intents
from sailplan.errors import FindingsError, UsageError
from sailplan.model import Catalog, Document, Finding, Position
from sailplan.yamltext import parse

ROOT = Path(__file__).parents[2]

MODEL = "apiVersion: catalog.oam.ai/v1\nkind: Model\nmetadata: {name: m, description: d}\nspec: {}\n"
APP = "apiVersion: catalog.oam.ai/v1\nkind: App\nmetadata: {name: a, owner: o}\nspec: {}\n"

# fmt: off
ODD = (
    "5e10", "12e45", "1E3", "1.5e3", "y", "Y", "n", "N", "yes", "No", "on", "OFF",
    "0o17", "012", "0x1F", "0b1", "1_000", "1:30", "2024-01-01", ".5", "5.", ".inf", "-.INF", ".nan",
)
# fmt: on


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("catalog/models", "catalog/capabilities", "catalog/environments", "definitions", "applications/a"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "catalog/models/m.yaml").write_text(MODEL, encoding="utf-8")
    (tmp_path / "applications/a/app.yaml").write_text(APP, encoding="utf-8")
    return tmp_path


def found(root: Path) -> list[Finding]:
    return read(root)[1]


def with_model(root: Path, text: str | bytes) -> list[Finding]:
    (root / "catalog/models/m.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return found(root)


def test_the_repository_reads_clean() -> None:
    catalog = load(ROOT)
    assert {"qwen-coder", "qwen3-8b", "qwen-coder-fim", "llamaguard3-1b"} <= set(catalog.models)
    assert {"dev", "staging", "production", "sandbox"} <= set(catalog.environments)
    assert {"inference-fleet", "code-assist", "guardrail"} <= set(catalog.apps)
    assert catalog.definitions["vllm-model"].count(".") == 2


def test_places_are_those_of_keys_and_items(checkout: Path) -> None:
    model = load(checkout).models["m"]
    assert str(model.at("metadata", "name")) == "catalog/models/m.yaml:3:12"
    assert str(model.at("metadata", "nothing")) == "catalog/models/m.yaml:3:1"
    fleet = load(ROOT).apps["inference-fleet"]
    text = (ROOT / fleet.file).read_text(encoding="utf-8").splitlines()
    at = fleet.at("spec", "components", 2, "capabilities", 1)
    assert text[at.line - 1][at.column - 1 :].startswith("gateway")


def test_only_the_named_intents_are_read(checkout: Path) -> None:
    (checkout / "applications/broken").mkdir()
    (checkout / "applications/broken/app.yaml").write_text("[", encoding="utf-8")
    assert list(load(checkout, ["a"]).apps) == ["a"]
    with pytest.raises(FindingsError):
        load(checkout)
    with pytest.raises(UsageError, match="no application") as raised:
        load(checkout, ["brokn"])
    assert raised.value.hint == "did you mean broken?"


def test_the_root_is_found_from_below(checkout: Path) -> None:
    assert find_root(checkout / "catalog/models") == checkout
    with pytest.raises(UsageError, match="definitions"):
        find_root(checkout.parent)


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("", "SP009", "empty"),
        ("# nothing\n", "SP009", "empty"),
        ("\ufeff" + MODEL, "SP009", "byte order mark"),
        (MODEL.encode() + b"\xff\xfe", "SP009", "0xff is not UTF-8"),
        (MODEL.encode("utf-16"), "SP009", "not UTF-8"),
        (MODEL + "#" * (10 << 20), "SP009", "bytes"),
        (MODEL + "\x07", "SP005", "not YAML"),
        ("kind: [Model\n", "SP005", "not YAML"),
        ("spec:\n\tx: 1\n", "SP005", "tab"),
        (MODEL + "---\n" + MODEL, "SP010", "2 documents"),
        ("- kind: Model\n", "SP010", "map"),
        ("just text\n", "SP010", "map"),
        (MODEL.replace("name: m,", "name: other,"), "SP010", "metadata.name is other, but the file is named m"),
        (MODEL.replace("kind: Model", "kind: Capability"), "SP010", "does not belong here"),
        (MODEL.replace("kind: Model", "kind: Modle"), "SP010", "unknown kind Modle"),
        (MODEL.replace("kind: Model\n", ""), "SP004", "kind is missing"),
        (MODEL + "kind: Model\n", "SP006", "kind is written twice; the first is in line 2"),
        (MODEL.replace("{}", "{status: }"), "SP008", "status has no value"),
        (MODEL.replace("{}", "{status: ~}"), "SP008", "status has no value"),
        (MODEL.replace("{}", "{a: [1, null]}"), "SP008", "an item of a has no value"),
        (MODEL.replace("{}", "{[a]: 1}"), "SP005", "key"),
        (MODEL.replace("{}", "{12: 1}"), "SP007", "the key 12"),
        (MODEL.replace("{}", "{on: 1}"), "SP007", "the key on"),
        (MODEL.replace("{}", "!!binary aGk="), "SP005", "tag"),
        (MODEL.replace("{}", "!thing {}"), "SP005", "tag"),
        (MODEL.replace("{}", '{a: "\\uD800"}'), "SP005", "invalid Unicode"),
        (MODEL.replace("{}", '{"\\0": 1}'), "SP005", "a key holds U+0000"),
        (MODEL.replace("{}", '{a: "\\x1b[31m"}'), "SP005", "a holds U+001B, a character that cannot be printed"),
        (MODEL.replace("{}", '{a: "x\\u202ey"}'), "SP005", "a holds U+202E, a character that cannot be printed"),
        (MODEL.replace("{}", '{"x\u2066": 1}'), "SP005", "a key holds U+2066"),
        (MODEL.replace("{}", "[" * 100_000), "SP011", "levels deep"),
        (MODEL.replace("{}", "{a: " * 100_000), "SP011", "levels deep"),
        (MODEL.replace("{}", "\n  " + "- " * 100_000 + "x"), "SP011", "levels deep"),
        (MODEL.replace("{}", "[" * 90 + "]" * 90), "SP011", "levels deep"),
        (MODEL.replace("{}", "&a {x: *a}"), "SP011", "levels deep"),
        (
            MODEL + "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
            "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
            "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
            "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
            "f: [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n",
            "SP011",
            "anchors expand",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said(checkout: Path, text: str | bytes, rule: str, words: str) -> None:
    findings = with_model(checkout, text)
    assert any(finding.id == rule and words in finding.message for finding in findings), findings
    assert {finding.position.file for finding in findings} == {"catalog/models/m.yaml"}


def test_a_misspelt_kind_may_mean_the_other_one_of_its_folder(checkout: Path) -> None:
    (finding,) = with_model(checkout, MODEL.replace("kind: Model", "kind: Egde"))
    assert (finding.allowed, finding.nearest, finding.fix) == ("Model, Edge", "Edge", "write kind: Edge")


@pytest.mark.parametrize(
    "scalar",
    [*ODD, "2024-1-1 10:00:00", "1" * 40, "9" * 5000],
)
def test_r28_what_readers_take_differently_wants_quotes(checkout: Path, scalar: str) -> None:
    findings = with_model(checkout, MODEL.replace("{}", f"{{revision: {scalar}}}"))
    assert [finding.id for finding in findings] == ["SP007"]
    assert "quotes" in findings[0].fix
    assert str(findings[0].position) == "catalog/models/m.yaml:4:18"
    assert findings[0].field == "spec.revision"
    assert with_model(checkout, MODEL.replace("{}", f'{{revision: "{scalar}"}}')) == []


@pytest.mark.parametrize(
    ("scalar", "number"),
    [("1e-07", "0.0000001"), ("5e10", "50000000000"), (".5", "0.5"), ("-0.5e3", "-500"), ("1_000", "1000")],
)
def test_a_number_that_readers_take_differently_has_another_form(checkout: Path, scalar: str, number: str) -> None:
    [finding] = with_model(checkout, MODEL.replace("{}", f"{{value: {scalar}}}"))
    assert finding.fix == f'write {number}, or "{scalar}" in quotes for text'
    assert with_model(checkout, MODEL.replace("{}", f"{{value: {number}}}")) == []


@pytest.mark.parametrize("scalar", ["012", "0x1F", "1:30", "9" * 26, "1e-30", "1e999999999", ".inf", ".nan"])
def test_a_number_that_has_no_other_form_is_text(checkout: Path, scalar: str) -> None:
    [finding] = with_model(checkout, MODEL.replace("{}", f"{{value: {scalar}}}"))
    assert finding.fix.startswith(f'write it in quotes: "{scalar}"')


@pytest.mark.parametrize(
    "scalar", ["true", "0", "-3", "0.92", "1.0", "v0.25.0", "0.25.0", "16Gi", "1800s", "e10", "yet", "300m"]
)
def test_ordinary_scalars_need_none(checkout: Path, scalar: str) -> None:
    assert with_model(checkout, MODEL.replace("{}", f"{{value: {scalar}}}")) == []


def test_anchors_and_merge_keys_work(checkout: Path) -> None:
    text = MODEL.replace("{}", "\n  a: &a {x: 1, z: 2}\n  b: {<<: *a, x: 3}\n  c: *a")
    assert with_model(checkout, text) == []
    model = load(checkout).models["m"]
    assert model.spec == {"a": {"x": 1, "z": 2}, "b": {"x": 3, "z": 2}, "c": {"x": 1, "z": 2}}
    assert model.at("spec", "b", "z").line == 5
    assert model.at("spec", "b", "x").line == 6


def test_all_problems_are_reported_at_once(checkout: Path) -> None:
    (checkout / "catalog/models/n.yaml").write_text("x: [", encoding="utf-8")
    (checkout / "catalog/environments/e.yaml").write_bytes(b"\xff")
    findings = with_model(checkout, MODEL.replace("{}", "{a: no, a: 1, b: 012}"))
    assert [finding.id for finding in findings] == ["SP009", "SP007", "SP006", "SP007", "SP005"]


def _loop(root: Path) -> Path:
    path = root / "catalog/models/loop.yaml"
    path.symlink_to(path)
    return path


def _folder_loop(root: Path) -> Path:
    path = root / "applications/loop"
    path.symlink_to(root / "applications", target_is_directory=True)
    return path


def _pipe(root: Path) -> Path:
    path = root / "catalog/models/pipe.yaml"
    os.mkfifo(path)
    return path


def _yml(root: Path) -> Path:
    path = root / "catalog/models/x.yml"
    path.write_text(MODEL, encoding="utf-8")
    return path


def _folder(root: Path) -> Path:
    path = root / "catalog/models/sub"
    path.mkdir()
    return path


def _no_intent(root: Path) -> Path:
    path = root / "applications/nothing"
    path.mkdir()
    return path


@pytest.mark.parametrize("make", [_loop, _folder_loop, _pipe, _yml, _folder, _no_intent])
def test_odd_files_are_findings(checkout: Path, make: Callable[[Path], Path]) -> None:
    path = make(checkout)
    findings = found(checkout)
    assert [finding.id for finding in findings] == ["SP009"]
    assert findings[0].position.file == path.relative_to(checkout).as_posix()


def test_intents_come_from_anywhere() -> None:
    documents: list[Document] = read_intents(APP + "---\n" + APP.replace("name: a", "name: b"), "-")
    assert [one.name for one in documents] == ["a", "b"]
    assert str(documents[1].at("metadata", "owner")) == "-:8:21"
    for text in ("", MODEL, "[", APP + "---\n[]\n"):
        with pytest.raises(FindingsError):
            read_intents(text, "-")


@pytest.mark.parametrize("text", [f"{APP}---\n", f"---\n---\n{APP}", f"# nothing\n---\n{APP}---\n# nothing\n"])
def test_empty_documents_around_an_intent_are_nothing(text: str) -> None:
    (document,) = read_intents(text, "-")
    assert document.at("metadata", "owner").line == text[: text.index("owner")].count("\n") + 1


def test_two_intents_of_one_name() -> None:
    with pytest.raises(FindingsError) as refused:
        read_intents(APP + "---\n" + APP, "-")
    assert [(one.id, str(one.position)) for one in refused.value.findings] == [("SP012", "-:8:12")]


def test_a_name_that_exists_is_a_duplicate(checkout: Path) -> None:
    (checkout / "catalog/models/n.yaml").write_text(MODEL, encoding="utf-8")
    catalog: Catalog = read(checkout)[0]
    assert [document.file for document in catalog.duplicates] == ["catalog/models/n.yaml"]


@pytest.mark.parametrize("code", [0, 7, 8, 0xB, 0xD, 0x1F, 0x7F, 0x80, 0x85, 0x9F, 0xFEFF, 0xFFFE, 0xFFFF])
def test_a_character_that_no_object_can_hold_is_refused(code: int) -> None:
    """Written as an escape it is YAML; KubeVela's reader and CUE refuse it when the Application is rendered."""
    _, (found,) = parse(f'prompt:\n  "é \\u{code:04x}"\n', "app.yaml")
    assert (found.id, found.field, found.position) == ("SP005", "prompt", Position("app.yaml", 2, 3))
    assert f"prompt holds U+{code:04X}," in found.message


@pytest.mark.parametrize("code", [0, 7, 0x7F, 0x80, 0x9F, 0xFFFE])
def test_the_character_itself_is_refused_where_it_stands(code: int) -> None:
    _, (found,) = parse(f"é: |\n  ééé\n  ab{chr(code)}\n", "app.yaml")
    assert (found.id, found.position) == ("SP005", Position("app.yaml", 3, 5))
    assert found.message == f"not YAML: U+{code:04X}, a character that cannot be printed"


def test_tabs_lines_and_emoji_are_text() -> None:
    (made,), wrong = parse('prompt: "a\\tb\\nc \\u00e9 \\U0001f600 \\u2028"\n', "app.yaml")
    assert wrong == []
    assert made.data == {"prompt": "a\tb\nc \u00e9 \U0001f600 \u2028"}
