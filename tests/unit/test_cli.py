"""The command line as a program: what it prints where, its exit codes, and that no traceback ever shows."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import yaml

import drill.context
from sailplan.beginning import DRILLS
from sailplan.catalog import find_root
from sailplan.cli import main
from sailplan.cli.commands import COMMANDS
from sailplan.toolbox import proc

ROOT = find_root(Path(__file__).parent)
INTENT = """apiVersion: catalog.oam.ai/v1
kind: App
metadata: {name: tryout, owner: me}
spec:
  components:
    - {model: qwen-coder-fim, name: tryout, capabilities: [gateway]}
  environments: [sandbox]
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def sailplan(
    *args: str, cwd: Path = ROOT, stdin: str = "", env: dict[str, str] | None = None, drop: Sequence[str] = ()
) -> Ran:
    """Run the command line inside this process, which is ten times faster than a new one."""
    out, err = io.StringIO(), io.StringIO()
    before = dict(os.environ)
    try:
        for key in drop:
            os.environ.pop(key, None)
        os.environ.update(env or {})
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch("sys.stdin", io.StringIO(stdin)),
            mock.patch("signal.signal"),
            pytest.raises(SystemExit) as ended,
        ):
            main(args)
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert "Traceback" not in err.getvalue()
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def program(*args: str, cwd: Path = ROOT, env: dict[str, str] | None = None, drop: Sequence[str] = ()) -> Ran:
    """Run it as a program of its own, where that makes a difference."""
    done = subprocess.run(
        [sys.executable, "-m", "sailplan", *args],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key not in drop} | (env or {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout that may be changed."""
    for name in ("catalog", "definitions", "applications"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


class TestHelp:
    def test_every_command_has_help(self) -> None:
        listed = sailplan("--help").out
        for name in COMMANDS:
            assert f"  {name} " in listed
            said = sailplan(name, "--help")
            assert said.code == 0
            assert said.out.startswith("Usage: sailplan")
            assert len(said.out.splitlines()) > 4

    def test_without_words_it_shows_help(self) -> None:
        assert "Commands:" in sailplan().out + sailplan().err

    def test_as_kubectl_plugin(self) -> None:
        program = Path(sys.executable).with_name("kubectl-sailplan")
        if program.exists():
            done = subprocess.run([program, "get", "--help"], capture_output=True, text=True, check=True)
            assert "kubectl sailplan get" in done.stdout

    def test_start_up_does_not_import_what_other_commands_need(self) -> None:
        code = (
            "import sys\nfrom sailplan.cli.commands import command\ncommand()\n"
            "print(sorted({'yaml', 'jinja2', 'rich', 'kubernetes', 'sailplan.compose'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["rendr"], "did you mean render?"),
            (["get", "modles"], "did you mean models?"),
            (["get", "models", "qwen-codr"], "did you mean qwen-coder?"),
            (["describe", "environment", "prodction"], "did you mean production?"),
            (["explain", "gpu.cuont"], "did you mean count?"),
            (["explain", "gpuu"], "did you mean gpu?"),
            (["compose", "inference-flet"], "did you mean inference-fleet?"),
            (["render", "guardrail", "--env", "sanbox"], "did you mean sandbox?"),
            (["schema", "Modell"], "did you mean Model?"),
            (["compose"], "name an application"),
            (["compose", "-f", "no-such-file.yaml"], "no such file"),
            (["check", "no-such-file.yaml"], "no such file"),
            (["compose", "--catalog", "/no/such/folder", "x"], "no such folder"),
            (["get", "models", "-l", "tier"], "key=value"),
            (["get", "models", "-o", "jsn"], "jsn"),
            (["compose", "guardrail", "--write", "-o", "json"], "--write"),
            (["schema"], "--write"),
            (["init", "guardrail", "--model", "qwen-coder"], "exists already"),
        ],
    )
    def test_wrong_words(self, args: list[str], said: str) -> None:
        ran = sailplan(*args)
        assert ran.code == 2, ran
        assert said in ran.err
        assert ran.out == ""

    def test_outside_a_checkout(self, tmp_path: Path) -> None:
        ran = sailplan("get", "models", cwd=tmp_path)
        assert ran.code == 2
        assert "--catalog DIR" in ran.err


class TestGet:
    @pytest.mark.parametrize("kind", ["models", "edges", "capabilities", "environments", "apps", "definitions", "gpus"])
    def test_formats(self, kind: str) -> None:
        table = sailplan("get", kind).out.splitlines()
        assert table[0].startswith("NAME ")
        names = sailplan("get", kind, "-o", "name").out.split()
        assert [line.split()[0] for line in table[1:]] == [name.split("/")[1] for name in names]
        data = json.loads(sailplan("get", kind, "-o", "json").out)
        assert (data["apiVersion"], data["kind"], len(data["items"])) == ("v1", "List", len(names))
        assert yaml.safe_load(sailplan("get", kind, "-o", "yaml").out) == data
        assert len(sailplan("get", kind, "-o", "wide").out.splitlines()) == len(table)

    def test_one_thing_is_itself(self) -> None:
        data = json.loads(sailplan("get", "model", "qwen-coder", "-o", "json").out)
        assert data["metadata"]["name"] == "qwen-coder"

    def test_edges_are_those_that_models_lists_too(self) -> None:
        edges = json.loads(sailplan("get", "edges", "-o", "json").out)["items"]
        names = {edge["metadata"]["name"] for edge in edges}
        assert {edge["kind"] for edge in edges} == {"Edge"}
        assert {"engine-edge", "simulator"} <= names
        assert names < set(sailplan("get", "models", "-o", "name").out.replace("model/", "").split())
        assert "simulator at http://" in sailplan("get", "edge", "simulator").out
        refused = sailplan("get", "edge", "qwen-coder")
        assert (refused.code, "unknown edge qwen-coder" in refused.err) == (2, True)

    def test_what_a_capability_is_for(self) -> None:
        rows = {line.split()[0]: line for line in sailplan("get", "capabilities").out.splitlines()[1:]}
        for name, word in (("always-warm", "engines"), ("prompt-sre", "edges"), ("sql-canary", "qwen-coder")):
            assert f"   {word}   " in rows[name]
        assert not any("   any   " in line for line in rows.values())

    def test_by_label(self, checkout: Path) -> None:
        path = checkout / "catalog/models/qwen-coder.yaml"
        path.write_text(path.read_text().replace("metadata:\n", "metadata:\n  labels: {team: a}\n"))
        assert sailplan("get", "models", "-l", "team=a", "-o", "name", cwd=checkout).out == "model/qwen-coder\n"
        assert sailplan("get", "models", "-l", "team==b", cwd=checkout).out == ""

    def test_a_draft_does_not_hide_the_rest(self, checkout: Path) -> None:
        draft = "apiVersion: catalog.oam.ai/v1\nkind: Model\nmetadata: {name: draft, description: d}\nspec: {}\n"
        (checkout / "catalog/models/draft.yaml").write_text(draft)
        ran = sailplan("get", "models", cwd=checkout)
        assert ran.code == 0
        assert "qwen-coder" in ran.out
        assert "draft.yaml" in ran.err
        assert sailplan("describe", "model", "qwen-coder", cwd=checkout).code == 1


class TestDescribe:
    def test_model(self) -> None:
        said = sailplan("describe", "model", "qwen-coder").out
        for expected in ("c03e6d358207e414f1eca0bb1891e29f1db0e242", "fit:", "model.maxNumSeqs", "1 to 64", "l4:"):
            assert expected in said

    def test_capability(self) -> None:
        said = sailplan("describe", "capability", "saturation-scaling").out
        for expected in ("keda-saturation-scaling", "KEDA", "scaling.maxReplicas", "1 to 8", "inference-fleet"):
            assert expected in said

    @pytest.mark.parametrize(
        ("capability", "yes", "no"),
        [
            ("web-route", ["production", "qwen-coder"], "sandbox no: .* does not have a gateway for host names"),
            ("gateway", ["dev", "qwen-coder"], "inference no: inference has 0 GPUs"),
            ("sql-canary", ["dev", "qwen-coder"], "inference no: inference has 0 GPUs"),
            ("pool-routing", ["simulator", "inference"], "llama32-1b no: .* model-config and llmd-routing"),
            ("prompt-sre", ["dev", "inference", "engine-edge"], ""),
        ],
    )
    def test_where_a_capability_may_be_picked(self, capability: str, yes: list[str], no: str) -> None:
        lines = [" ".join(line.split()) for line in sailplan("describe", "capability", capability).out.splitlines()]
        assert set(yes) <= set(lines)
        assert any(re.match(no, line) for line in lines), lines

    def test_no_capability_is_said_to_go_where_it_is_refused(self) -> None:
        """Each place that describe lists takes it, by the same command line that would make the application."""
        for capability in ("web-route", "gateway", "hub-token"):
            said = (
                sailplan("describe", "capability", capability).out.partition("Environments:\n")[2].partition("\n\n")[0]
            )
            for name, _, refused in (line.strip().partition(" ") for line in said.splitlines()):
                text = INTENT.replace("[gateway]", f"[{capability}]").replace("[sandbox]", f"[{name}]")
                found = sailplan("compose", "-", stdin=text).err
                assert ("SP306" in found or "SP314" in found) == bool(refused), (capability, name, found)

    def test_a_model_is_offered_what_it_may_have(self) -> None:
        said = sailplan("describe", "model", "llama32-1b").out
        offered, _, refused = said.partition("Capabilities that would be refused:")
        assert "pool-routing" not in offered
        assert "pool-routing  llama32-1b has the traits" in refused
        assert "would be refused" not in sailplan("describe", "edge", "simulator").out

    def test_knobs_show_the_value_in_force(self) -> None:
        def row(text: str, knob: str) -> str:
            return next(" ".join(line.split()) for line in text.splitlines() if line.strip().startswith(knob))

        app = sailplan("describe", "app", "guardrail").out
        assert row(app, "scaling.maxReplicas").startswith("scaling.maxReplicas 1 app 1 to 3 ")
        assert row(app, "scaling.minReplicas").startswith("scaling.minReplicas 1 model 1 to 8 ")
        assert row(app, "scaling.queueLengthThreshold").startswith("scaling.queueLengthThreshold 8 default 1 to 256 ")
        model = sailplan("describe", "model", "qwen-coder").out
        assert row(model, "scaling.maxReplicas").startswith("scaling.maxReplicas 2 model 1 to 2 ")
        assert row(model, "canary.weightPercent").startswith("canary.weightPercent 10 capability ")
        capability = sailplan("describe", "capability", "saturation-scaling").out
        assert row(capability, "scaling.maxReplicas").startswith("scaling.maxReplicas 3 default 1 to 8 ")
        both = " ".join(sailplan("describe", "app", "inference-multi-env").out.split())
        assert "prompt.temperature 0.3 in inference-dev app 0 to 1 " in both
        assert "0.2 in inference-staging capability" in both

    def test_a_model_that_is_wrong_says_so(self, checkout: Path) -> None:
        text = (checkout / "catalog/models/qwen3-8b.yaml").read_text()
        wrong = text.replace("name: qwen3-8b", "name: broken").replace("engine: vllm-0.25.0", "engine: nope")
        (checkout / "catalog/models/broken.yaml").write_text(wrong)
        ran = sailplan("describe", "model", "broken", cwd=checkout)
        assert (ran.code, ran.out) == (1, "")
        assert "unknown engine nope" in ran.err
        lines = sailplan("describe", "capability", "gateway", cwd=checkout).out.split("\n")
        assert "broken no: unknown engine nope" in [" ".join(line.split()) for line in lines]

    @pytest.mark.parametrize("what", [("environment", "sandbox"), ("app", "guardrail")])
    def test_what_is_wrong_itself_is_not_described(self, what: tuple[str, str], checkout: Path) -> None:
        path = checkout / "catalog/environments/sandbox.yaml"
        path.write_text(path.read_text().replace("clusters: [local]", "clusters: []"))
        ran = sailplan("describe", *what, cwd=checkout)
        assert (ran.code, ran.out) == (1, "")
        assert "clusters is empty" in ran.err
        ran = sailplan("describe", "environment", "dev", cwd=checkout)
        assert (ran.code, ran.out.partition("\n")[0]) == (0, "Environment dev")

    def test_what_is_refused_everywhere_is_said_without_an_environment(self) -> None:
        said = "poolName of llmd-routing is missing for engine-edge; add it to the preset or environment\n"
        assert f"pool-routing  {said}" in sailplan("describe", "edge", "engine-edge").out
        assert f"engine-edge  no: {said}" in sailplan("describe", "capability", "pool-routing").out

    def test_a_capability_that_wants_another_one_says_so(self) -> None:
        said = sailplan("describe", "capability", "saturation-scaling").out
        assert "scales by metrics that nobody scrapes in dev, production, sandbox, staging; add observability" in said
        for name in ("observability", "autoscaling", "gateway"):
            assert "Warnings" not in sailplan("describe", "capability", name).out

    def test_what_an_edge_asks_is_said_for_each_environment(self) -> None:
        said = sailplan("describe", "app", "inference-multi-env").out
        assert "  asks: llama3.2:1b at http://host.docker.internal:11434/v1 in inference-dev\n" in said
        assert "  asks: simulator at http://vllm-simulator.llmd-sim.svc:8000/v1 in inference-staging\n" in said
        assert "  asks: pool llmd-sim-pool in inference\n" in sailplan("describe", "app", "inference-llmd").out
        assert "asks:" not in sailplan("describe", "app", "guardrail").out

    def test_environment_prints_its_prerequisites(self) -> None:
        said = sailplan("describe", "environment", "production").out
        for expected in (
            *("Namespace", "llm/hf-token", "llm/llm-models", "envoy-ai-gateway-system/ai-gateway", "RuntimeClass"),
            *("scaledobjects.keda.sh", "keda >= 2.18.0", "ciliumnetworkpolicies.cilium.io", "budget: 4 l4"),
        ):
            assert expected in said
        assert "StorageClass" in sailplan("describe", "env", "dev").out

    @pytest.mark.parametrize(
        "what", [("app", "guardrail"), ("edge", "simulator"), ("definition", "gpu"), ("gpu", "l4")]
    )
    def test_the_others(self, what: tuple[str, str]) -> None:
        assert what[1] in sailplan("describe", *what).out


class TestExplain:
    def test_definition_and_field(self) -> None:
        said = sailplan("explain", "keda-saturation-scaling").out
        assert "pollingIntervalSeconds" in said
        assert "default 15" in said
        field = sailplan("explain", "vllm-model.model.maxNumSeqs").out
        assert "<integer>" in field
        assert "default 64" in field

    def test_every_definition(self) -> None:
        for name in sailplan("get", "definitions", "-o", "name").out.split():
            said = sailplan("explain", name.removeprefix("definition/"))
            assert "+usage" not in said.out
            assert "DESCRIPTION" in said.out


class TestCompose:
    def test_the_committed_application_is_what_compose_prints(self) -> None:
        said = sailplan("compose", "guardrail")
        assert said.code == 0
        committed = (ROOT / "applications/guardrail/application.yaml").read_text()
        assert committed == committed.partition("\n")[0] + "\n" + said.out

    def test_json_is_the_application_object(self) -> None:
        made = json.loads(sailplan("compose", "guardrail", "-o", "json").out)
        assert made == yaml.safe_load(sailplan("compose", "guardrail").out)
        assert (made["kind"], made["metadata"]["name"]) == ("Application", "guardrail")

    def test_several_in_several_out(self) -> None:
        text = INTENT + "---\n" + (ROOT / "applications/guardrail/app.yaml").read_text()
        for source in (["-"], ["-f", "-"]):
            documents = list(yaml.safe_load_all(sailplan("compose", *source, stdin=text).out))
            assert [document["metadata"]["name"] for document in documents] == ["tryout", "guardrail"]
        listed = json.loads(sailplan("compose", "-", "-o", "json", stdin=text).out)
        assert listed["kind"] == "List"
        both = list(yaml.safe_load_all(sailplan("compose", "guardrail", "code-assist").out))
        assert [document["metadata"]["name"] for document in both] == ["guardrail", "code-assist"]

    def test_an_intent_anywhere(self, tmp_path: Path) -> None:
        (tmp_path / "mine.yaml").write_text(INTENT)
        ran = sailplan("compose", "-f", "mine.yaml", "--catalog", str(ROOT), cwd=tmp_path)
        assert yaml.safe_load(ran.out)["metadata"]["name"] == "tryout"
        before = sailplan("--catalog", str(ROOT), "compose", "-f", "mine.yaml", cwd=tmp_path)
        assert before.out == ran.out

    def test_a_broken_intent_prints_findings_and_nothing_else(self, tmp_path: Path) -> None:
        text = INTENT.replace("capabilities:", "capabilites:").replace("owner: me", "ownr: me")
        ran = sailplan("compose", "-", stdin=text)
        assert (ran.code, ran.out) == (1, "")
        assert "-:6:" in ran.err
        assert "did you mean: capabilities" in ran.err
        assert "did you mean: owner" in ran.err

    def test_write(self, checkout: Path) -> None:
        path = checkout / "applications/guardrail/application.yaml"
        before = path.read_bytes()
        path.unlink()
        assert "wrote" in sailplan("compose", "guardrail", "--write", cwd=checkout).err
        assert path.read_bytes() == before
        assert "unchanged" in sailplan("compose", "guardrail", "--write", cwd=checkout).err
        assert not list(path.parent.glob("*.partial"))
        assert sailplan("compose", "-", "--write", cwd=checkout, stdin=INTENT).code == 2

    def test_write_beside_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.yaml").write_text(INTENT)
        sailplan("compose", "-f", "mine.yaml", "--catalog", str(ROOT), "--write", cwd=tmp_path)
        assert yaml.safe_load((tmp_path / "application.yaml").read_text())["metadata"]["name"] == "tryout"

    def test_nothing_is_written_when_something_is_wrong(self, checkout: Path) -> None:
        path = checkout / "applications/guardrail/app.yaml"
        path.write_text(path.read_text().replace("maxReplicas: 1", "maxReplicas: 99"))
        before = (path.parent / "application.yaml").read_bytes()
        assert sailplan("compose", "guardrail", "--write", cwd=checkout).code == 1
        assert (path.parent / "application.yaml").read_bytes() == before

    def test_the_pin_stays_until_it_is_moved(self, checkout: Path) -> None:
        """R11: a newer definition in the checkout does not change what is delivered."""
        definition = checkout / "definitions/component/vllm-model.cue"
        definition.write_text(definition.read_text().replace('version: "1.0.0"', 'version: "1.1.0"'))
        path = checkout / "applications/guardrail/application.yaml"
        before = path.read_bytes()
        sailplan("compose", "guardrail", "--write", cwd=checkout)
        assert path.read_bytes() == before
        refused = sailplan("render", "guardrail", cwd=checkout)
        assert refused.code == 1
        assert "SP606" in refused.err
        sailplan("compose", "guardrail", "--write", "--repin", cwd=checkout)
        assert b"vllm-model@v1.1.0" in path.read_bytes()
        assert sailplan("render", "guardrail", "-o", "name", cwd=checkout).code == 0

    def test_origin(self) -> None:
        said = sailplan("compose", "guardrail", "--origin")
        assert yaml.safe_load(said.out) == yaml.safe_load(sailplan("compose", "guardrail").out)
        lines = {line.strip() for line in said.out.splitlines()}
        assert any(line.startswith("maxReplicas: 1  # app applications/guardrail/app.yaml:") for line in lines)
        assert any("# environment catalog/environments/sandbox.yaml:" in line for line in lines)
        assert any("# profile catalog/gpus.yaml:" in line for line in lines)
        listed = json.loads(sailplan("compose", "guardrail", "--origin", "-o", "json").out)
        replicas = next(item for item in listed if item["path"].endswith("maxReplicas"))
        assert (replicas["value"], replicas["layer"], replicas["file"]) == (1, "app", "applications/guardrail/app.yaml")

    def test_every_value_that_a_preset_gave_has_an_origin(self) -> None:
        """Rule 7. What is left is ours: kinds, names of policies, types in overrides, steps."""
        ours = {
            *("name", "type", "disable", "enable", "componentNames", "resourceTypes", "path", "strategy", "policies"),
            *("timeout", "propagation"),
        }
        for line in sailplan("compose", "inference-fleet", "--origin").out.splitlines():
            key, _, value = line.strip().removeprefix("- ").partition(":")
            if value.strip() and "  # " not in value and not line.strip().startswith('- "'):
                assert key in {*ours, "apiVersion", "kind"}, line


class TestRender:
    def test_formats(self) -> None:
        data = json.loads(sailplan("render", "guardrail", "-o", "json").out)
        assert (data["apiVersion"], data["kind"]) == ("v1", "List")
        assert all(item["metadata"]["namespace"] == "llm-sandbox" for item in data["items"])
        documents = list(yaml.safe_load_all(sailplan("render", "guardrail").out))
        assert documents == data["items"]
        names = sailplan("render", "guardrail", "-o", "name").out.split()
        assert "deployment.apps/guardrail" in names
        assert "service/guardrail" in names
        assert len(names) == len(documents)

    def test_one_environment(self) -> None:
        data = json.loads(sailplan("render", "inference-fleet", "--env", "staging", "-o", "json").out)
        assert {item["metadata"]["namespace"] for item in data["items"]} == {"llm-staging"}
        assert {item["metadata"]["annotations"]["sailplan.oam.dev/clusters"] for item in data["items"]} == {"staging"}

    def test_withheld(self) -> None:
        names = sailplan("render", "guardrail", "--stage", "withheld", "-o", "name").out
        assert "aigatewayroute" not in names
        assert "deployment.apps/guardrail" in names

    def test_no_home_no_kubeconfig_no_noise(self) -> None:
        """R27: only data on stdout, and nothing of vela's on stderr."""
        ran = program("render", "guardrail", drop=("HOME", "KUBECONFIG"))
        assert ran.code == 0
        assert "external packages" not in ran.out + ran.err
        assert "connection refused" not in ran.err

    def test_from_stdin(self) -> None:
        ran = sailplan("render", "-", "-o", "name", stdin=INTENT)
        assert "deployment.apps/tryout" in ran.out


class TestCheck:
    def test_the_checkout_is_sound(self) -> None:
        ran = sailplan("check", "-o", "json")
        errors = [item for item in json.loads(ran.out) if item["severity"] == "error"]
        assert not errors
        assert ran.code == 0

    def test_formats_and_codes(self, checkout: Path) -> None:
        path = checkout / "catalog/models/qwen-coder.yaml"
        path.write_text(path.read_text().replace("maxNumSeqs: 32", "maxNumSeq: 32"))
        text, data, github = (sailplan("check", "-o", form, cwd=checkout) for form in ("text", "json", "github"))
        assert {text.code, data.code, github.code} == {1}
        finding = next(item for item in json.loads(data.out) if item["severity"] == "error")
        keys = ["id", "severity", "file", "line", "column", "field", "message", "given", "allowed", "nearest", "fix"]
        assert list(finding) == keys
        assert (finding["file"], finding["nearest"]) == ("catalog/models/qwen-coder.yaml", "maxNumSeqs")
        assert f"catalog/models/qwen-coder.yaml:{finding['line']}:{finding['column']}: error" in text.out
        assert f"::error file=catalog/models/qwen-coder.yaml,line={finding['line']}" in github.out

    def test_warnings_only_count_when_strict(self) -> None:
        assert sailplan("check").code == 0
        assert sailplan("check", "--strict").code == 1

    def test_drift(self, checkout: Path) -> None:
        path = checkout / "applications/guardrail/application.yaml"
        path.write_text(path.read_text().replace('"guardrail"', '"guardrails"', 1))
        ran = sailplan("check", cwd=checkout)
        assert ran.code == 1
        assert "applications/guardrail/application.yaml:5:" in ran.out
        assert "sailplan compose guardrail --write" in ran.out
        path.unlink()
        assert "is missing" in sailplan("check", cwd=checkout).out

    def test_a_broken_preset_does_not_hide_the_rest(self, checkout: Path) -> None:
        model = checkout / "catalog/models/qwen-coder.yaml"
        model.write_text(model.read_text().replace("status: stable", "statu: stable"))
        app = checkout / "applications/guardrail/app.yaml"
        app.write_text(app.read_text().replace("llamaguard3-1b", "llamagard3-1b"))
        found = json.loads(sailplan("check", "-o", "json", cwd=checkout).out)
        files = {item["file"] for item in found if item["severity"] == "error"}
        assert {"catalog/models/qwen-coder.yaml", "applications/guardrail/app.yaml"} <= files

    def test_only_what_was_asked_for(self, checkout: Path) -> None:
        for name in ("qwen-coder", "qwen3-8b"):
            path = checkout / f"catalog/models/{name}.yaml"
            path.write_text(path.read_text().replace("status: stable", "status: stabel"))
        found = json.loads(sailplan("check", "catalog/models/qwen3-8b.yaml", "-o", "json", cwd=checkout).out)
        assert {item["file"] for item in found} == {"catalog/models/qwen3-8b.yaml"}
        assert sailplan("check", "applications/guardrail", cwd=checkout).code == 0
        fleet = sailplan("check", "applications/inference-fleet", cwd=checkout)
        assert fleet.code == 1, "it cannot be composed while its models are wrong"
        assert "catalog/models/qwen-coder.yaml" in fleet.out

    def test_what_stops_an_intent_is_said_wherever_it_is_written(self, checkout: Path) -> None:
        path = checkout / "catalog/environments/sandbox.yaml"
        path.write_text(path.read_text().replace("budget: 6", "budget: 2"))
        ran = sailplan("check", "applications/guardrail", cwd=checkout)
        assert ran.code == 1
        assert "SP201" in ran.out

    def test_an_intent_from_elsewhere(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text(INTENT.replace("qwen-coder-fim", "qwen-codr-fim"))
        ran = sailplan("check", str(path))
        assert ran.code == 1
        assert "qwen-coder-fim" in ran.out
        assert sailplan("check", "-", stdin=INTENT).code == 0

    def test_rules_are_listed(self) -> None:
        said = sailplan("check", "--list-rules").out
        for id in ("SP001", "SP302", "SP606", "SP902"):
            assert f"{id} error: " in said
        assert {"id", "severity", "title", "reason"} == set(
            json.loads(sailplan("check", "--list-rules", "-o", "json").out)[0]
        )


class TestInit:
    def test_it_writes_an_intent_that_renders(self, checkout: Path) -> None:
        ran = sailplan(
            "init", "mine", "--model", "qwen-coder-fim", "--with", "gateway", "--env", "sandbox", cwd=checkout
        )
        assert (ran.code, ran.out) == (0, "applications/mine/app.yaml\n"), ran
        text = (checkout / "applications/mine/app.yaml").read_text()
        assert text.startswith("# yaml-language-server: $schema=../../catalog/schema/json/App.json\n")
        assert len(text.splitlines()) <= 30
        assert sailplan("render", "mine", "-o", "name", cwd=checkout).code == 0
        again = sailplan("init", "mine", "--model", "qwen-coder-fim", cwd=checkout)
        assert again.code == 2
        assert (checkout / "applications/mine/app.yaml").read_text() == text

    def test_several_models(self, checkout: Path) -> None:
        two = ("--model", "qwen-coder-fim", "--model", "llamaguard3-1b", "--env", "sandbox", "--owner", "us")
        assert sailplan("init", "pair", *two, cwd=checkout).code == 0
        assert sailplan("init", "more", *two, cwd=checkout).code == 1, "the sandbox has no two GPUs left"
        assert not (checkout / "applications/more").exists()

    def test_without_an_environment_the_first_that_takes_it_is_chosen(self, checkout: Path) -> None:
        """The one for trying as long as nothing is refused there; then another; when none, nothing is written."""
        path = checkout / "catalog/environments/dev.yaml"
        path.write_text(path.read_text().replace("budget: 4", "budget: 5"))
        said = []
        for name in ("one", "two", "three", "four"):
            ran = sailplan("init", name, "--model", "qwen-coder-fim", cwd=checkout)
            path = checkout / f"applications/{name}/app.yaml"
            assert path.exists() == (ran.code == 0)
            places = yaml.safe_load(path.read_text())["spec"]["environments"] if ran.code == 0 else []
            said.append((ran.code, places, "SP202" in ran.err, "sandbox is passed over" in ran.err))
            assert "--env NAME chooses another" in ran.err
        assert said == [
            (0, ["sandbox"], False, False),
            (0, ["sandbox"], True, False),
            (0, ["dev"], True, True),
            (1, [], False, False),
        ]
        full = "has 6 GPUs, and its applications need 7 at minimum replicas"
        assert f"sandbox {full}" in ran.err and "dev: dev has 5 GPUs" in ran.err

    def test_the_environment_for_drills_is_never_chosen(self, checkout: Path) -> None:
        for path in (checkout / "catalog/environments").glob("*.yaml"):
            if path.stem not in ("sandbox", DRILLS):
                path.write_text(path.read_text().replace("gate: auto", "gate: approve"))
        path = checkout / "catalog/environments/sandbox.yaml"
        path.write_text(path.read_text().replace("budget: 6", "budget: 4"))
        ran = sailplan("init", "mine", "--model", "qwen-coder-fim", cwd=checkout)
        assert ran.code == 1
        assert "drill" not in ran.err
        assert sailplan("init", "mine", "--model", "qwen-coder-fim", "--env", DRILLS, cwd=checkout).code == 0
        assert DRILLS == drill.context.ENVIRONMENT

    def test_the_chosen_environment_is_said_with_the_reason(self, checkout: Path) -> None:
        ran = sailplan("init", "mine", "--model", "qwen-coder-fim", cwd=checkout)
        assert "environment sandbox: it is there for trying things out" in ran.err
        assert "5 to 6 of its 6 GPUs" in ran.err
        assert "SP202" not in ran.err
        assert "GPUs" not in sailplan("init", "edge", "--model", "simulator", cwd=checkout).err
        assert "environment" not in sailplan("init", "x", "--model", "simulator", "--env", "sandbox", cwd=checkout).err
        assert "SP202" not in sailplan("check", "applications/mine", cwd=checkout).err

    def test_an_environment_that_asks_for_approval_is_not_chosen(self, checkout: Path) -> None:
        """It is named, when it is one that would do."""
        ran = sailplan("init", "mine", "--model", "qwen-coder", "--with", "web-route", cwd=checkout)
        assert ran.code == 2
        assert "chosen without --env (sandbox, dev, " in ran.err
        assert "does not have a gateway for host names" in ran.err
        assert "hint: --env production would do" in ran.err
        ran = sailplan("init", "mine", "--model", "qwen-coder", "--with", "prompt-sre", cwd=checkout)
        assert "--env production" not in ran.err
        assert "describe capability prompt-sre" in ran.err
        assert not (checkout / "applications/mine").exists()

    def test_a_model_gets_the_capabilities_that_are_for_it(self, checkout: Path) -> None:
        models = ("--model", "qwen-coder", "--model", "qwen-coder-fim", "--model", "engine-edge")
        wishes = [word for name in ("gateway", "prompt-sre", "sql-canary") for word in ("--with", name)]
        path = checkout / "catalog/models/engine-edge.yaml"
        path.write_text(path.read_text().replace("engine: true", 'url: "http://x/v1"\n    model: "m"'))
        ran = sailplan("init", "mine", *models, *wishes, "--env", "sandbox", cwd=checkout)
        assert ran.code == 0, ran.err
        parts = yaml.safe_load((checkout / "applications/mine/app.yaml").read_text())["spec"]["components"]
        assert [part["capabilities"] for part in parts] == [["gateway", "sql-canary"], ["gateway"], ["prompt-sre"]]
        for line in (
            "prompt-sre is left out of qwen-coder: prompt-sre is for an edge",
            "sql-canary is left out of qwen-coder-fim: sql-canary is not for the model",
            "gateway is left out of engine-edge: gateway is for a model that we serve",
        ):
            assert line in ran.err

    @pytest.mark.parametrize(
        ("model", "capability", "environment", "said"),
        [
            ("qwen-coder", "prompt-sre", "sandbox", "is for an edge"),
            ("llama32-1b", "pool-routing", "inference", "model-config and llmd-routing"),
            ("qwen-coder-fim", "sql-canary", "sandbox", "is not for the model"),
            ("qwen-coder", "web-route", "sandbox", "gateway for host names"),
        ],
    )
    def test_a_capability_for_none_of_the_models_is_refused(
        self, model: str, capability: str, environment: str, said: str, checkout: Path
    ) -> None:
        ran = sailplan("init", "mine", "--model", model, "--with", capability, "--env", environment, cwd=checkout)
        assert (ran.code, ran.out) == (2, "")
        assert f"--with {capability}: " in ran.err
        assert said in ran.err
        assert not (checkout / "applications/mine").exists()

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["--model", "qwen-codr"], "--model qwen-codr: there is no such model\nhint: did you mean qwen-coder?"),
            (["--model", "simulator", "--with", "zz"], "--with zz: there is no such capability\nhint: there are: "),
            (["--model", "simulator", "--env", "sanbox"], "--env sanbox: there is no such environment\nhint: did you"),
            (["--model", "simulator", "--model", "simulator"], "--model simulator is given twice\nhint: write the se"),
            (["--model", "simulator", *["--with", "autoscaling"] * 2], "--with autoscaling is given twice"),
            (["--model", "simulator", *["--env", "sandbox"] * 2], "--env sandbox is given twice"),
        ],
    )
    def test_options_are_named_when_they_are_wrong(self, args: list[str], said: str, checkout: Path) -> None:
        ran = sailplan("init", "mine", *args, cwd=checkout)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error: {said}")
        assert not (checkout / "applications/mine").exists()

    def test_what_would_be_refused_is_not_written(self, checkout: Path) -> None:
        """What every environment says is said without environments, and that the lines are in no file."""
        name = "a" * 44
        ran = sailplan("init", name, "--model", "qwen3-8b", "--model", "qwen-coder", cwd=checkout)
        assert ran.code == 1
        assert "SP125" in ran.err and "SP201" not in ran.err and "--env" not in ran.err
        assert f"hint: applications/{name}/app.yaml was not written; the lines are those it would have\n" in ran.err
        assert not (checkout / "applications" / name).exists()

    @pytest.mark.parametrize("owner", ["", " ", " us", "us\n", "us\nthem"])
    def test_an_owner_is_text_on_one_line(self, owner: str, checkout: Path) -> None:
        ran = sailplan("init", "mine", "--model", "simulator", "--owner", owner, cwd=checkout)
        assert (ran.code, ran.out) == (1, "")
        assert "SP003: metadata.owner" in ran.err
        assert not (checkout / "applications/mine").exists()

    def test_budgets_do_not_matter_to_what_takes_no_gpu(self, checkout: Path) -> None:
        ran = sailplan("init", "mine", "--model", "simulator", "--env", "production", cwd=checkout)
        assert (ran.code, ran.err) == (0, "")

    def test_where_a_file_is_no_folder_can_be(self, checkout: Path) -> None:
        (checkout / "applications/mine").touch()
        ran = sailplan("init", "mine", "--model", "simulator", cwd=checkout)
        assert (ran.code, ran.out) == (2, "")
        assert "applications/mine is no folder" in ran.err and "hint: " in ran.err


def test_version() -> None:
    data = json.loads(sailplan("version", "-o", "json").out)
    assert data["vela"] == "v1.11.0"
    assert data["definitions"]["vllm-model"]
    assert "sailplan " in sailplan("version").out


def test_schema() -> None:
    schema = json.loads(sailplan("schema", "app").out)
    assert schema == json.loads((ROOT / "catalog/schema/json/App.json").read_text())


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_scripts(self, shell: str) -> None:
        said = sailplan("completion", shell)
        assert said.code == 0
        assert "_SAILPLAN_COMPLETE" in said.out

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("sailplan re", ["render"]),
            ("sailplan render gu", ["guardrail"]),
            ("sailplan describe env", ["environments"]),
            ("sailplan describe model qwen3", ["qwen3-8b"]),
            ("sailplan describe edge s", ["simulator"]),
            ("sailplan describe edge qw", []),
            ("sailplan init x --model llamag", ["llamaguard3-1b"]),
            ("sailplan init x --with sql", ["sql-canary"]),
            ("sailplan render guardrail --env san", ["sandbox"]),
            ("sailplan explain keda", ["keda-saturation-scaling"]),
            ("sailplan schema Mod", ["Model"]),
            ("sailplan compose guardrail -o j", ["json"]),
        ],
    )
    def test_names_complete(self, line: str, expected: list[str]) -> None:
        env = {"_SAILPLAN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        assert program(env=env).out.split() == expected

    def test_outside_a_checkout_it_is_quiet(self, tmp_path: Path) -> None:
        env = {"_SAILPLAN_COMPLETE": "complete_bash", "COMP_WORDS": "sailplan render x", "COMP_CWORD": "2"}
        ran = program(env=env, cwd=tmp_path)
        assert (ran.out.strip(), ran.err) == ("", "")


class TestTrouble:
    def test_a_full_disk(self, checkout: Path) -> None:
        """/dev/full refuses every byte, as a full disk does."""
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            program = [Path(sys.executable).with_name("sailplan"), "compose", "guardrail"]
            done = subprocess.run(program, cwd=checkout, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "error: No space left on device")

    def test_an_intent_that_cannot_be_written_leaves_no_folder(
        self, checkout: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sailplan import committed
        from sailplan.cli.commands import command

        def full(*_: object) -> bool:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(committed, "write", full)
        monkeypatch.chdir(checkout)
        words = ["init", "mine", "--model", "qwen-coder-fim", "--env", "sandbox"]
        with pytest.raises(OSError, match="No space"):
            command().main(words, standalone_mode=False)
        assert not (checkout / "applications/mine").exists()

    def test_intents_from_a_pipe_and_a_folder(self, tmp_path: Path) -> None:
        assert "is a folder" in sailplan("compose", "-f", str(tmp_path)).err
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(INTENT,))
        writer.start()
        assert sailplan("compose", "-f", str(pipe)).code == 0
        writer.join()

    def test_a_missing_tool(self) -> None:
        ran = sailplan("render", "guardrail", env={"SAILPLAN_VELA": "/no/such/vela"})
        assert (ran.code, ran.out) == (3, "")
        assert "SAILPLAN_VELA" in ran.err

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
    def test_text_is_utf8_whatever_the_locale_says(self, checkout: Path, encoding: str) -> None:
        path = checkout / "catalog/models/qwen-coder.yaml"
        path.write_text(path.read_text().replace("Code chat", "Código \u2028"), encoding="utf-8")
        env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C"}
        assert "Código" in program("get", "models", cwd=checkout, env=env).out

    @pytest.mark.parametrize(
        "args",
        [
            ["new", "definition", "http://u:s3cret@h"],
            ["get", "models", "--catalog", "http://u:s3cret@h"],
            ["compose", "-f", "http://h/?key=s3cret"],
            ["get", "models", "http://u:s3cret@h"],
            ["init", "x", "--model", "http://u:s3cret@h"],
        ],
    )
    def test_no_password_is_repeated(self, args: list[str]) -> None:
        ran = sailplan(*args)
        assert ran.code in (1, 2)
        assert "***" in ran.err
        assert "s3cret" not in ran.err + ran.out

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "x.yaml").write_bytes(b"kind: \xff\xfe")
        ran = sailplan("compose", "-f", str(tmp_path / "x.yaml"))
        assert (ran.code, ran.out) == (1, "")
        assert "x.yaml:1:7: error SP009: byte 0xff is not UTF-8" in ran.err
        done = subprocess.run(
            [sys.executable, "-m", "sailplan", "compose", "-"],
            input=b"\xff",
            capture_output=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 1
        assert b"not UTF-8" in done.stderr

    def test_a_place_that_cannot_be_written(self, checkout: Path) -> None:
        path = checkout / "applications/guardrail/application.yaml"
        path.unlink()
        path.mkdir()
        ran = sailplan("compose", "guardrail", "--write", cwd=checkout)
        assert ran.code == 1
        assert "directory" in ran.err
        assert not list(path.parent.glob("*.partial"))

    def test_a_bug_is_one_line_and_70(self, tmp_path: Path) -> None:
        broken = (
            "import sailplan.cli.version as v\nv._tool = lambda name: 1 / 0\n"
            "from sailplan.cli import main\nmain(['version'])"
        )
        done = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True, check=False)
        assert done.returncode == 70
        assert "bug in sailplan" in done.stderr
        assert "SAILPLAN_DEBUG=1" in done.stderr
        assert "Traceback" not in done.stderr
        env = {**os.environ, "SAILPLAN_DEBUG": "1"}
        shown = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True, env=env, check=False)
        assert shown.returncode == 70
        assert "ZeroDivisionError" in shown.stderr
        assert "Traceback" in shown.stderr

    def test_a_reader_that_goes_away_is_no_error(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "sailplan", "compose", "inference-fleet"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.close()
            said = process.stderr.read()
            process.wait(60)
        assert "BrokenPipe" not in said
        assert "Traceback" not in said
        assert process.returncode == 141

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
    def test_interrupted(self, number: int, code: int, slow_vela: tuple[Path, Path]) -> None:
        program, note = slow_vela
        default = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
        env = {**os.environ, "SAILPLAN_VELA": str(program)}
        # Who runs the tests may have been told to ignore what a closed terminal sends.
        script = f"import signal; signal.signal({int(number)}, signal.{default}); from sailplan.cli import main; main()"
        with subprocess.Popen(
            [sys.executable, "-c", script, "render", "inference-fleet"],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert _until(lambda: note.exists() and len(note.read_text().split()) == 2)
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        assert process.returncode == code
        assert "Traceback" not in said
        for pid in note.read_text().split():
            assert _until(lambda pid=pid: _ended(int(pid)))


@pytest.fixture
def slow_vela(tmp_path: Path) -> tuple[Path, Path]:
    """A vela of the right version that never comes back from a dry run, and where it notes its process ids."""
    program, note = tmp_path / "vela", tmp_path / "pids"
    real = proc.tool("vela")
    program.write_text(
        f'#!/bin/sh\ncase "$1" in dry-run) echo $$ >> "{note}"; sleep 120;; *) exec "{real}" "$@";; esac\n'
    )
    program.chmod(0o755)
    return program, note


def _until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.05)
    return False


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class TestTerminal:
    """What differs when a person looks: colour, and a word about what is going on."""

    def run(self, *args: str, env: dict[str, str] | None = None) -> str:
        main, child = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        environment |= {"TERM": "xterm", **(env or {})}
        with subprocess.Popen(
            [sys.executable, "-m", "sailplan", *args], cwd=ROOT, stdout=child, stderr=child, env=environment
        ) as process:
            os.close(child)
            text = b""
            while True:
                try:
                    part = os.read(main, 65536)
                except OSError:
                    break
                if not part:
                    break
                text += part
            process.wait(60)
        os.close(main)
        return text.decode()

    def test_colour_and_how_to_switch_it_off(self) -> None:
        assert "\033[33mwarning\033[0m" in self.run("check")
        assert "\033[" not in self.run("check", env={"NO_COLOR": "1"})
        assert "\033[" not in self.run("check", env={"TERM": "dumb"})
        assert "\033[" not in sailplan("check").out

    def test_progress_only_on_a_terminal(self) -> None:
        assert "rendering guardrail for sandbox" in self.run("render", "guardrail", "-o", "name")
        assert "rendering" not in sailplan("render", "guardrail", "-o", "name").err
