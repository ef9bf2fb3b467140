"""Edges on a hub, with real HTTP: the results of the reference's table, and what its authors left open.

Everything is delivered by `vela up` from what `sailplan` composed, and runs as the pods' own commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from plane.checkout import Checkout, copied
from plane.family import LIMIT, OLLAMA, OTHER, Family, adapted, ollama
from plane.support import DEPLOYMENT, ROOT, Desk, names
from podrunner.handle import running

HPA = ("autoscaling/v2", "HorizontalPodAutoscaler")
QUOTA = ("v1", "ResourceQuota")
KEY = "key-of-team-a"
SRE = "You are a concise SRE assistant. Prefer short, actionable answers."
NAMESPACES = ("inference", "inference-dev", "inference-staging", "llmd-sim", "llm-sandbox")
APPS = (
    "inference-ollama", "inference-llmd", "catalog-sre", "inference-multi-model", "inference-multi-env", "chat-edge",
    "inference-quota", "vllm-simulator",
)  # fmt: skip


@pytest.fixture(scope="module")
def family(published: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Family]:
    """A hub whose pods are processes, the simulator on it, and Ollama outside."""
    folder = tmp_path_factory.mktemp("family")
    checkout = Checkout(copied(ROOT, folder / "checkout"), published)
    client = published.plane.clusters["hub"].client
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "llmd-sim"}})
    wanted = [word for name in NAMESPACES for word in ("--namespace", name)]
    with (
        ollama(folder) as url,
        running(published.plane.kubeconfig, folder / "runner", "--adopt", "all", "--back-off", "1", *wanted) as runner,
    ):
        adapted(checkout.folder, url)
        made = Family(published, runner, checkout)
        try:
            published.up(simulator())
            published.until("the simulator serves", lambda: healthy(published, "vllm-simulator", "llmd-sim"), LIMIT)
            yield made
        finally:
            for app in APPS:
                published.remove(app)
            print(runner.log)


def simulator() -> dict[str, Any]:
    """The example of the simulator, from the namespace that the tests look at, carried to its own."""
    app: dict[str, Any] = yaml.safe_load((ROOT / "definitions/examples/vllm-simulator.yaml").read_text())
    place = app["metadata"].pop("namespace")
    app["metadata"]["namespace"] = "default"
    topology = {"clusters": ["local"], "namespace": place}
    app["spec"]["policies"] = [{"name": "there", "type": "topology", "properties": topology}]
    return app


def healthy(desk: Desk, app: str, namespace: str) -> bool:
    services = desk.app(app).get("status", {}).get("services") or []
    return any(one.get("healthy") and one.get("namespace") == namespace for one in services)


def environment(family: Family, namespace: str, name: str) -> dict[str, Any]:
    item = family.desk.plane.clusters["hub"].client.get(*DEPLOYMENT, name, namespace)
    (container,) = item["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value") for one in container["env"]}


def test_path_a_one_edge_in_front_of_ollama(family: Family) -> None:
    family.deliver("inference-ollama")
    assert family.get("inference", "chat-api", "/healthz").status_code == 200
    assert family.get("inference", "chat-api", "/readyz").status_code == 200
    answer = family.chat("inference", "chat-api", "Are you there?")
    assert answer["model"] == OLLAMA
    assert answer["choices"][0]["message"]["role"] == "assistant"
    assert (answer["sim"]["system"], answer["sim"]["temperature"]) == (SRE, 0.2)
    assert environment(family, "inference", "chat-api")["MODEL"] == OLLAMA


def test_a_request_that_says_more_is_left_alone(family: Family) -> None:
    own = [{"role": "system", "content": "Sing."}, {"role": "user", "content": "Now"}]
    answer = family.chat("inference", "chat-api", "Now", messages=own, model=OTHER, temperature=1)
    assert (answer["model"], answer["sim"]["system"], answer["sim"]["temperature"]) == (OTHER, "Sing.", 1)


def test_another_prompt_and_another_model_roll_the_pods_and_lose_no_request(family: Family) -> None:
    """Edit, compose, `vela up`: asked all the while, the edge answers, first as before and then as told."""
    family.change("applications/inference-ollama/app.yaml", "  environments:", _SET)
    ran = family.checkout.sailplan("compose", "inference-ollama")
    assert ran.code == 0, ran.all
    family.desk.up(ran.out)
    said = family.until_said("inference", "chat-api", "system", "Answer in one word.")
    assert said["temperature"] == 0
    family.change("catalog/models/llama32-1b.yaml", f'"{OLLAMA}"', f'"{OTHER}"')
    family.desk.up(family.checkout.sailplan("compose", "inference-ollama").out)
    family.until_said("inference", "chat-api", "model", OTHER)
    family.change("catalog/models/llama32-1b.yaml", f'"{OTHER}"', f'"{OLLAMA}"')
    family.desk.until_phase("inference-ollama", "running", LIMIT)


_SET = """      set: {prompt.system: "Answer in one word.", prompt.temperature: 0}
  environments:"""


def test_path_b_the_same_edge_in_front_of_a_pool(family: Family) -> None:
    family.deliver("inference-llmd")
    answer = family.chat("inference", "chat-llmd", "routing check")
    assert answer["model"] == "simulator"
    prompt = "You are a simulator-backed assistant used to validate llm-d routing."
    assert answer["sim"]["system"] == prompt
    item = family.desk.plane.clusters["hub"].client.get(*DEPLOYMENT, "chat-llmd", "inference")
    for meta in (item["metadata"], item["spec"]["template"]["metadata"]):
        assert meta["labels"]["oam.ai/pool-name"] == "llmd-sim-pool"


def test_an_edge_with_keys_answers_only_those_who_have_one(family: Family) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "edge-client-keys", "namespace": "inference"}}
    family.desk.plane.clusters["hub"].client.apply({**secret, "stringData": {"team-a": KEY}})
    family.change("applications/inference-llmd/app.yaml", "pool-routing]", "pool-routing, client-keys]")
    family.deliver("inference-llmd")
    asked = {key: family.get("inference", "chat-llmd", "/v1/models", key).status_code for key in ("", "x", KEY)}
    assert asked == {"": 401, "x": 401, KEY: 200}
    assert family.get("inference", "chat-llmd", "/readyz").status_code == 200


def test_catalog_composition_has_its_autoscaler(family: Family) -> None:
    family.deliver("catalog-sre")
    assert family.chat("inference", "catalog-sre", "disk is full")["sim"]["system"] == SRE
    client = family.desk.plane.clusters["hub"].client
    spec = client.get(*HPA, "catalog-sre", "inference")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 3)
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    annotations = family.desk.app("catalog-sre")["metadata"]["annotations"]
    assert annotations["oam.ai/catalog-model"] == "llama32-1b"
    assert annotations["oam.ai/catalog-capabilities"] == "prompt-sre,autoscaling,resource-small"


def test_multi_model_both_answer(family: Family) -> None:
    family.deliver("inference-multi-model")
    models = {name: family.chat("inference", name, "who?")["model"] for name in ("chat-ollama", "chat-sim")}
    assert models == {"chat-ollama": OLLAMA, "chat-sim": "simulator"}
    assert "chat-sim" in names(family.desk.plane.clusters["hub"].client, HPA, "inference")


def test_multi_environment_has_other_backends_and_prompts(family: Family) -> None:
    family.deliver("inference-multi-env")
    dev, staging = (family.chat(f"inference-{one}", "chat-api", "who?") for one in ("dev", "staging"))
    assert (dev["model"], staging["model"]) == (OLLAMA, "simulator")
    assert dev["sim"]["system"] == "DEV: answer briefly for local debugging."
    assert dev["sim"]["temperature"] == 0.3
    assert (staging["sim"]["system"], staging["sim"]["temperature"]) == (SRE, 0.2)
    client = family.desk.plane.clusters["hub"].client
    assert "chat-api" in names(client, HPA, "inference-dev") & names(client, HPA, "inference-staging")


def test_from_the_simulator_to_a_model_of_ours_is_one_preset(family: Family) -> None:
    """The client asks the same address in the same words; one word of the intent is another."""
    intent = "applications/chat-edge/app.yaml"
    family.change(intent, "model: engine-edge", "model: simulator")
    family.deliver("chat-edge")
    before = family.chat("llm-sandbox", "chat-edge", "hello")
    family.change(intent, "model: simulator", "model: engine-edge")
    family.deliver("chat-edge")
    told = family.until_said("llm-sandbox", "chat-edge", "model", "chat-edge-model")
    assert before["model"] == "simulator"
    assert told["system"] == before["sim"]["system"] == SRE
    assert "chat-edge-model-" in told["instance"]


def step(url: str) -> dict[str, Any]:
    app: dict[str, Any] = yaml.safe_load((ROOT / "definitions/examples/wait-inference-ready.yaml").read_text())
    app["metadata"] = {"name": "inference-ollama", "namespace": "default"}
    place = {"clusters": ["local"], "namespace": "inference"}
    app["spec"]["policies"] = [{"name": "there", "type": "topology", "properties": place}]
    deploy, wait = app["spec"]["workflow"]["steps"]
    deploy.update(type="deploy", properties={"policies": ["there"]})
    wait["properties"].update(namespace="inference", url=url)
    return app


def test_a_step_waits_until_an_edge_answers(family: Family) -> None:
    """First for a URL that says no, with its code as the reason; then for one that says yes."""
    app = step(f"http://{family.runner.service('inference', 'catalog-sre')}:8080/nowhere")
    app["spec"]["components"][0]["properties"].update(environment_of(family, "catalog-sre"))
    family.desk.up(app)

    def reason() -> bool:
        found = (family.desk.app("inference-ollama").get("status", {}).get("workflow") or {}).get("steps") or []
        return any("answers 404" in one.get("message", "") for one in found if one["name"] == "wait-ready")

    family.desk.until("the step says why it waits", reason, LIMIT, app="inference-ollama")
    good = f"http://{family.runner.service('inference', 'catalog-sre')}:8080/healthz"
    app["spec"]["workflow"]["steps"][1]["properties"]["url"] = good
    family.desk.up(app)
    family.desk.until_step("inference-ollama", "wait-ready", "succeeded", LIMIT)


def environment_of(family: Family, name: str) -> dict[str, str]:
    found = environment(family, "inference", name)
    return {"backendURL": str(found["BACKEND_URL"]), "model": str(found["MODEL"])}


@pytest.mark.parametrize("order", [1, -1])
def test_two_backends_are_refused_at_the_door(family: Family, order: int) -> None:
    """By the definitions themselves, whichever comes first; `sailplan check` refuses such an intent earlier (SP301)."""
    app: dict[str, Any] = yaml.safe_load((ROOT / "definitions/examples/model-config.yaml").read_text())
    app["metadata"] = {"name": "two-backends", "namespace": "default"}
    pool = {"type": "llmd-routing", "properties": {"poolName": "p", "model": "m", "backendURL": "http://a/v1"}}
    traits = app["spec"]["components"][0]["traits"]
    app["spec"]["components"][0]["traits"] = [*traits, pool][::order]
    path = family.checkout.folder / "two.yaml"
    path.write_text(yaml.safe_dump(app))
    said = family.desk.refused("up", "-f", str(path))
    assert "exclude each other: both say which backend is asked" in said


def test_a_quota_reaches_the_cluster(family: Family) -> None:
    """A policy's own objects would land on the hub, in the Application's namespace."""
    app: dict[str, Any] = yaml.safe_load((ROOT / "definitions/examples/namespace-quota.yaml").read_text())
    family.desk.up(app)
    family.desk.until_phase("inference-quota", "running", LIMIT)
    client = family.desk.plane.clusters["hub"].client
    item = client.get(*QUOTA, "inference", "inference-staging")
    assert item["status"]["hard"]["pods"] == "40"
    assert "pods" in item["status"]["used"]
    assert "inference" not in names(client, QUOTA, "default")
