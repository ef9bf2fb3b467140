"""What vela prints, taken apart; what CUE says, in a person's words. The texts are vela 1.11.0's own."""

from __future__ import annotations

from typing import Any

import pytest

from sailplan.compose import compose
from sailplan.model import Composition, Position
from sailplan.refusals import finding, words
from sailplan.toolbox.proc import Completed
from sailplan.toolbox.vela import Refusal, VelaError, complaint, judge, parse, refusals
from unit.plain import PRODUCTION, app, catalog

START = "Error: cannot generate manifests from components and traits: "
WORKLOAD = f"{START}evaluate base template app=x in namespace=n: validation failed for workload m:\n\n"
TRAIT = f"{START}evaluate template trait=gpu app=m: validation failed for trait gpu:\n\n"
NOISE = (
    'ERR  Failed to load external packages for workload compiler: Get "http://127.0.0.1:1/apis": connection refused \n'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{WORKLOAD}Parameter errors:\n  parameter.model.contextWindwo: field not allowed\n",
            Refusal("", "m", "model.contextWindwo", ("field not allowed",)),
        ),
        (
            (
                f"{WORKLOAD}Parameter errors:\n  parameter.env.HOME: field not allowed\n\n\n"
                'Template errors:\n  _env.HOME: conflicting values "x" and "/tmp"\n'
            ),
            Refusal("", "m", "env.HOME", ("field not allowed",)),
        ),
        (
            f"{TRAIT}Parameter errors:\n  parameter.cuont: field not allowed\n",
            Refusal("gpu", "m", "cuont", ("field not allowed",)),
        ),
        (
            f"{TRAIT}User Errors:\n  gpu.count 3 cannot be split\n  and more\n",
            Refusal("gpu", "m", "", ("gpu.count 3 cannot be split", "and more")),
        ),
        (
            (
                f"{START}evaluate template trait=gpu app=m: cue: marshal error: parameter.model.revision: "
                'cannot convert incomplete value "=~\\"^x$\\"" to JSON'
            ),
            Refusal("gpu", "m", "model.revision", ('incomplete value "=~\\"^x$\\""',)),
        ),
        (
            (
                f"{START}cannot generate manifests from component m:\n\nParameter errors:\n"
                '  parameter.model.revision: incomplete value =~"^x$"\n'
            ),
            Refusal("", "m", "model.revision", ('incomplete value =~"^x$"',)),
        ),
    ],
)
def test_refusals(text: str, expected: Refusal) -> None:
    assert refusals(complaint(NOISE + text)) == [expected]


def test_vela_itself_giving_up_is_no_refusal() -> None:
    assert refusals("Error: failed to parseComponents: trait definition of nope not found") == []


def test_objects_that_vela_prints_before_an_error_are_left_out() -> None:
    said = complaint(
        f'ERR  Failed to have the workload="{{\n  kind: "Deployment"\n}}" err="x"\n{WORKLOAD}User Errors:\n  no\n'
    )
    assert "Deployment" not in said
    assert refusals(said)[0].messages == ("no",)


def test_a_limit_on_address_space_is_no_complaint() -> None:
    """A program that vela carries says so under `ulimit -v`, and works."""
    said = "2026/12/01 05:32:54 Starlark failed to allocate 4GB address space: cannot allocate memory. Integer perf\n"
    assert complaint(said + NOISE) == ""
    assert complaint(said + "2026/12/01 05:32:54 something else\n") == "2026/12/01 05:32:54 something else"


OUTPUT = """---
# Application(shop with topology topology-dev) -- Component(coder)
---

apiVersion: apps/v1
kind: Deployment
metadata:
  name: coder
spec:
  text: |
    ---
    # Application(no) -- Component(no)

---
## From the auxiliary workload
kind: Service

---
## From the trait gpu
kind: Thing

---

---
# Application(shop with topology topology-dev) -- Policy(keep)
---

kind: ConfigMap

---
"""


def test_parse() -> None:
    found = parse(OUTPUT)
    assert [(item.component, item.trait) for item in found] == [("coder", ""), ("coder", ""), ("coder", "gpu")]
    assert "    # Application(no)" in found[0].text


def test_a_component_that_vela_left_out_is_an_error() -> None:
    """It exits 0 on some partial failures."""
    application = {"spec": {"components": [{"name": "coder"}, {"name": "other"}]}}
    with pytest.raises(VelaError, match="left out other"):
        judge(Completed(("vela",), 0, OUTPUT, NOISE), application)
    application["spec"]["components"].pop()
    assert len(judge(Completed(("vela",), 0, OUTPUT, NOISE), application)) == 3
    with pytest.raises(VelaError, match="exit code: 1"):
        judge(Completed(("vela",), 1, "", NOISE), application)


@pytest.mark.parametrize(
    ("messages", "said", "given", "allowed"),
    [
        (["field not allowed"], "no such parameter", "", ""),
        (
            [
                "2 errors in empty disjunction:",
                "conflicting values 4096 and 5",
                "invalid value 5 (out of bound >=1024)",
            ],
            "is out of range",
            "5",
            "at least 1024",
        ),
        (
            [
                'conflicting values "x" and 4096 (mismatched types string and int)',
                'conflicting values "x" and int (mismatched types string and int)',
            ],
            "is of the wrong kind",
            "text",
            "a whole number",
        ),
        (
            ['conflicting values "awq" and "fp7"', 'conflicting values "fp16" and "fp7"'],
            "is not one of the choices",
            '"fp7"',
            '"awq", "fp16"',
        ),
        (['incomplete value =~"^[0-9a-f]{40}$"'], "is missing", "", 'text like "^[0-9a-f]{40}$"'),
        (
            ['invalid value "x:latest" (out of bound !~":latest$")'],
            "is out of range",
            '"x:latest"',
            'no text like ":latest$"',
        ),
        (["invalid value 80 (out of bound <1)"], "is out of range", "80", "less than 1"),
        (["something new"], "something new", "", ""),
    ],
)
def test_words(messages: list[str], said: str, given: str, allowed: str) -> None:
    """R08: one line a person can act on."""
    found = words(messages)
    assert (found.message, found.given, found.allowed) == (said, given, allowed)


def test_a_finding_is_at_the_line_that_gave_the_value() -> None:
    found = catalog()
    made = compose(found, app({"model": "coder", "capabilities": ["scaling"], "set": {"scaling.maxReplicas": 3}}))
    refusal = Refusal("keda-saturation-scaling", "coder", "maxReplicas", ("invalid value 3 (out of bound <=2)",))
    said = finding(refusal, made, "dev")
    assert said.position == made.app.at("spec", "components", 0, "set", "scaling.maxReplicas")
    assert said.field == "coder.traits.keda-saturation-scaling.maxReplicas"
    assert (said.severity, said.given, said.allowed) == ("error", "3", "at most 2")


def test_a_trait_that_only_noticed_what_the_component_lacks() -> None:
    made = compose(catalog(), app())
    said = finding(Refusal("gpu", "coder", "model.revision", ('incomplete value "=~\\"^x$\\""',)), made, "dev")
    assert said.field == "coder.properties.model.revision"
    assert "is missing" in said.message


SCALER = "keda-saturation-scaling"


def overridden(traits: dict[str, Any], properties: dict[str, Any], **component: Any) -> tuple[Composition, Any]:
    """An Application in an environment with overrides, and where a path in those stands."""
    spec = {**PRODUCTION, "overrides": {"traits": traits, "properties": properties}}
    found = catalog(environments={"production": spec})
    made = compose(found, app({"model": "coder", **component}, environments=("production",)))
    return made, lambda *path: found.environments["production"].at("spec", "overrides", *path)


def errs(text: str, trait: str = SCALER) -> Refusal:
    """What a definition says in its own words."""
    return Refusal(trait, "coder", "", (text,))


def test_own_words_are_about_the_value_that_was_written_last() -> None:
    """The model's maxReplicas was right until the environment asked for another fallback."""
    made, at = overridden({SCALER: {"fallback": {"replicas": 4}}}, {}, capabilities=["scaling"])
    said = finding(errs("fallback.replicas 4 is above maxReplicas 2"), made, "production")
    assert said.position == at("traits", SCALER, "fallback", "replicas")
    assert said.field == f"coder.traits.{SCALER}.fallback.replicas"
    assert (said.given, said.allowed) == ("4", "at most 2")
    assert said.fix.startswith("change fallback.replicas or maxReplicas (model/coder.yaml:")
    assert f"{SCALER} refuses it in production: fallback.replicas 4 is above" in said.message


def test_own_words_that_compare_the_other_way_round() -> None:
    made, at = overridden({}, {"resources": {"limits": {"cpu": "10m"}}})
    said = finding(errs("resources.requests.cpu 4 is above resources.limits.cpu 10m", ""), made, "production")
    assert said.position == at("properties", "resources", "limits", "cpu")
    assert (said.given, said.allowed, said.fix) == ("10m", "at least 4", "")
    made, at = overridden({SCALER: {"scaleDownStabilizationSeconds": 30}}, {}, capabilities=["scaling"])
    said = finding(errs("scaleDownStabilizationSeconds 30 is below scaleDownPeriodSeconds 60: x"), made, "production")
    assert (said.position, said.allowed) == (at("traits", SCALER, "scaleDownStabilizationSeconds"), "at least 60")


def test_an_intent_that_turns_a_knob_too_far_for_an_environment() -> None:
    turned = {"scaling.minReplicas": 8}
    made, _ = overridden({SCALER: {"maxReplicas": 3}}, {}, capabilities=["scaling"], set=turned)
    said = finding(errs("minReplicas 8 is above maxReplicas 3"), made, "production")
    assert said.position == made.app.at("spec", "components", 0, "set", "scaling.minReplicas")


def test_own_words_about_a_map_or_a_list() -> None:
    made, at = overridden(
        {}, {"disruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}, "extraArgs": ["--model=y"]}
    )
    said = finding(
        errs("disruptionBudget wants exactly one of minAvailable and maxUnavailable", ""), made, "production"
    )
    assert said.position.line in {
        at("properties", "disruptionBudget", key).line for key in ("minAvailable", "maxUnavailable")
    }
    said = finding(errs('extraArgs "--model=y" is managed: --model has a parameter', ""), made, "production")
    assert (said.position, said.given) == (at("properties", "extraArgs"), '["--model=y"]')
    made, at = overridden({"gpu": {"tolerations": {"a": {"operator": "Exists", "value": "b"}}}}, {})
    said = finding(
        errs("gpu.tolerations.a.value goes with operator Equal: Exists takes any", "gpu"), made, "production"
    )
    assert said.position == at("traits", "gpu", "tolerations", "a", "value")


def test_own_words_that_name_no_value_are_about_the_trait() -> None:
    made, _ = overridden({}, {})
    said = finding(errs("gpu goes with a vllm-model component; this workload is none", "gpu"), made, "production")
    assert isinstance(said.position, Position)
    assert (said.position.file, said.field, said.given) == ("model/coder.yaml", "coder.traits.gpu", "")
