"""Rendering by the real vela: what it is asked, what comes back, and what its refusals become."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sailplan.catalog import find_root, load
from sailplan.compose import compose
from sailplan.errors import FindingsError, ToolError
from sailplan.model import Catalog, Composition, Document
from sailplan.render import CLUSTERS, for_environment, render, render_all
from sailplan.toolbox import vela
from sailplan.writer import dump, dump_all

ROOT = find_root(Path(__file__).parent)
FLEET = "inference-fleet"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(ROOT)


@pytest.fixture(scope="module")
def fleet(catalog: Catalog) -> Composition:
    return compose(catalog, catalog.apps[FLEET])


@pytest.fixture(scope="module")
def rendered(catalog: Catalog, fleet: Composition) -> dict[str, list[dict[str, Any]]]:
    return render_all(catalog, fleet, list(catalog.apps[FLEET].spec["environments"]))


def intent(*components: dict[str, Any], environments: tuple[str, ...] = ("sandbox",), **spec: Any) -> Document:
    data = {
        "metadata": {"name": "try", "owner": "me"},
        "spec": {"components": list(components), "environments": list(environments), **spec},
    }
    return Document("App", "try", "try.yaml", data, {("spec", "components"): (7, 3)})


def one(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    return next(item for item in objects if item["kind"] == kind and item["metadata"]["name"] == name)


def changed(catalog: Catalog, model: str, **properties: Any) -> Catalog:
    """The catalog with other properties for one model."""
    document = catalog.models[model]
    data = deepcopy(dict(document.data))
    data["spec"].setdefault("properties", {}).update(properties)
    return replace(catalog, models={**catalog.models, model: replace(document, data=data)})


def test_every_app_renders_everywhere(catalog: Catalog) -> None:
    for name, app in catalog.apps.items():
        if name != FLEET:  # the fleet is rendered by the fixture
            found = render_all(catalog, compose(catalog, app), app.spec["environments"])
            assert all(found.values())


def test_objects_know_their_namespace_and_clusters(catalog: Catalog, rendered: dict[str, list[dict[str, Any]]]) -> None:
    for environment, objects in rendered.items():
        spec = catalog.environments[environment].spec
        assert len(objects) > 40
        for item in objects:
            assert item["metadata"]["namespace"] == spec["namespace"]
            assert item["metadata"]["annotations"][CLUSTERS] == ",".join(spec["clusters"])
            assert list(item)[:3] == ["apiVersion", "kind", "metadata"]


def test_definitions_see_the_environments_namespace(
    catalog: Catalog, rendered: dict[str, list[dict[str, Any]]]
) -> None:
    """Assertion 21: the same model in two environments must not share one signal."""
    for environment, objects in rendered.items():
        namespace = catalog.environments[environment].spec["namespace"]
        triggers = one(objects, "ScaledObject", "xplane-qwen-coder")["spec"]["triggers"]
        assert all(f'namespace="{namespace}"' in trigger["metadata"]["query"] for trigger in triggers)


def test_an_environments_override_stays_there(rendered: dict[str, list[dict[str, Any]]]) -> None:
    kinds = {environment: {item["kind"] for item in objects} for environment, objects in rendered.items()}
    assert "NetworkPolicy" in kinds["dev"]
    assert "CiliumNetworkPolicy" not in kinds["dev"]
    assert "CiliumNetworkPolicy" in kinds["production"]
    assert "PersistentVolumeClaim" in kinds["dev"]
    assert "PersistentVolumeClaim" not in kinds["production"]


def test_rendering_is_repeatable(
    catalog: Catalog, fleet: Composition, rendered: dict[str, list[dict[str, Any]]]
) -> None:
    again = render(catalog, fleet, "dev")
    assert dump_all(again, blocks=True) == dump_all(rendered["dev"], blocks=True)
    assert list(yaml.safe_load_all(dump_all(again, blocks=True))) == again


def test_withheld_is_everything_but_the_routes(
    catalog: Catalog, fleet: Composition, rendered: dict[str, list[dict[str, Any]]]
) -> None:
    """Assertion 28: no route before the model is healthy; nothing else differs in what serves."""
    first = render(catalog, fleet, "dev", stage="withheld")
    kinds = {item["kind"] for item in first}
    assert "AIGatewayRoute" not in kinds
    assert "Deployment" in kinds
    for name in ("xplane-qwen-coder", "xplane-llamaguard3-1b"):
        assert one(first, "Deployment", name)["spec"] == one(rendered["dev"], "Deployment", name)["spec"]


@pytest.mark.parametrize("environment", ["dev", "production"])
def test_kubevelas_merge_of_base_and_override_is_the_full_merge(
    catalog: Catalog, fleet: Composition, environment: str
) -> None:
    """The override policy gives what the layers meant: the same objects as an Application that says it all itself."""
    application = for_environment(fleet, catalog.environments[environment])
    full = deepcopy(application)
    full["spec"]["policies"] = full["spec"]["policies"][:1]
    full["spec"]["workflow"]["steps"][0]["properties"]["policies"] = [full["spec"]["policies"][0]["name"]]
    for part, component in zip(full["spec"]["components"], fleet.components, strict=True):
        properties, traits = component.environments[environment]
        part["properties"] = properties
        part["traits"] = [{"type": name, "properties": values} for name, values in traits.items()]
    files = sorted((ROOT / "definitions").glob("*/*.cue"))
    with_policy = [yaml.safe_load(item.text) for item in vela.dry_run(application, files)]
    by_itself = [yaml.safe_load(item.text) for item in vela.dry_run(full, files)]
    assert with_policy == by_itself


def test_siblings_with_one_name_inside_the_other(catalog: Catalog) -> None:
    """R01: an override for `llama` must not reach `llama-big`."""
    parts = [
        {"model": "qwen-coder-fim", "name": name, "capabilities": ["saturation-scaling"]}
        for name in ("llama", "llama-big")
    ]
    app = intent(*parts, overrides={"sandbox": {"llama": {"model.maxNumSeqs": 7}}})
    objects = render(catalog, compose(catalog, app), "sandbox")
    seqs = [
        one(objects, "Deployment", name)["metadata"]["annotations"]["oam.ai/max-num-seqs"]
        for name in ("llama", "llama-big")
    ]
    assert seqs == ["7", "64"]


def test_nothing_is_retyped_on_the_way_through_vela(catalog: Catalog) -> None:
    """R28."""
    values = {"A": "12e45", "B": "y", "C": "0o17", "D": "012", "E": "2001-01-01", "F": "1:30", "G": "", "H": "a\nb"}
    made = compose(changed(catalog, "qwen-coder-fim", env=values), intent({"model": "qwen-coder-fim", "name": "x"}))
    assert yaml.safe_load(dump(made.application)) == made.application
    objects = render(catalog, made, "sandbox")
    env = one(objects, "Deployment", "x")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {item["name"]: item["value"] for item in env if item["name"] in values} == values


def test_the_pin_is_stripped_and_checked(catalog: Catalog) -> None:
    """R11: a dry run cannot resolve pins, and rendering another version than the pinned one would be a lie."""
    app = intent({"model": "qwen-coder-fim", "name": "x"})
    asked = for_environment(compose(catalog, app), catalog.environments["sandbox"])
    assert asked["spec"]["components"][0]["type"] == "vllm-model"
    with pytest.raises(FindingsError) as caught:
        render(catalog, compose(catalog, app, {"vllm-model": "0.9.0"}), "sandbox")
    found = caught.value.findings[0]
    assert (found.id, found.given) == ("SP606", "v0.9.0")
    assert "--repin" in found.fix


def test_refusals_of_all_components_are_collected(catalog: Catalog) -> None:
    wrong = changed(changed(catalog, "qwen-coder-fim", shmSize="lots"), "llamaguard3-1b", gpuMemoryUtilization=2)
    app = intent({"model": "qwen-coder-fim", "name": "a"}, {"model": "llamaguard3-1b", "name": "b"})
    with pytest.raises(FindingsError) as caught:
        render(wrong, compose(wrong, app), "sandbox")
    found = {finding.field: finding for finding in caught.value.findings}
    assert set(found) == {"a.properties.shmSize", "b.properties.gpuMemoryUtilization"}
    assert found["a.properties.shmSize"].given == '"lots"'
    assert found["b.properties.gpuMemoryUtilization"].allowed == "at most 1"
    assert all(finding.position.file.startswith("catalog/models/") for finding in found.values())


def test_refusals_of_all_environments_are_collected(catalog: Catalog) -> None:
    wrong = changed(catalog, "qwen-coder-fim", shmSize="lots")
    app = intent({"model": "qwen-coder-fim", "name": "a"}, environments=("dev", "sandbox"))
    with pytest.raises(FindingsError) as caught:
        render_all(wrong, compose(wrong, app), ["dev", "sandbox"])
    said = [finding.message for finding in caught.value.findings]
    assert [name in text for name, text in zip(("dev", "sandbox"), said, strict=True)] == [True, True]


@pytest.mark.parametrize("said", ["plain", "an emoji \U0001f642", "\U00010000", "\u2028", "\u00e9 \u4e16"])
def test_any_text_reaches_the_objects(catalog: Catalog, said: str) -> None:
    """YAML reads no pairs of surrogates, which is how JSON likes to write what lies above U+FFFF."""
    made = compose(
        catalog,
        intent({"model": "llama32-1b", "name": "x", "capabilities": ["prompt-sre"], "set": {"prompt.system": said}}),
    )
    objects = render(catalog, made, "inference")
    [prompt] = [item for item in objects if item["kind"] == "ConfigMap"]
    assert said in prompt["data"].values()


def test_an_unknown_trait_is_velas_own_error(catalog: Catalog, tmp_path: Path) -> None:
    made = compose(catalog, intent({"model": "qwen-coder-fim", "name": "x"}))
    asked = for_environment(made, catalog.environments["sandbox"])
    asked["spec"]["components"][0]["traits"].append({"type": "nope"})
    with pytest.raises(ToolError, match="nope"):
        vela.dry_run(asked, sorted((ROOT / "definitions").glob("*/*.cue")))


@pytest.fixture
def cluster() -> Iterator[socket.socket]:
    """Something that listens where the person's kubeconfig says a cluster is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_no_cluster_is_asked_and_nothing_is_left(
    catalog: Catalog, cluster: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R27: not even the person's own; and vela's folders do not end up in their home."""
    home = tmp_path / "home"
    home.mkdir()
    config = tmp_path / "kubeconfig"
    address = f"http://127.0.0.1:{cluster.getsockname()[1]}"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "mine",
                "clusters": [{"name": "mine", "cluster": {"server": address}}],
                "contexts": [{"name": "mine", "context": {"cluster": "mine", "user": "me"}}],
                "users": [{"name": "me", "user": {}}],
            }
        )
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    path = vela.proc.tool("vela")  # found before HOME changes: built tools lie below it
    monkeypatch.setattr(vela.proc, "tool", lambda _: path)
    monkeypatch.setenv("KUBECONFIG", str(config))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert render(catalog, compose(catalog, intent({"model": "qwen-coder-fim", "name": "x"})), "sandbox")
    with pytest.raises(BlockingIOError):
        cluster.accept()
    assert not list(home.iterdir())
    assert not list(temporary.iterdir())


def test_it_works_without_home_and_kubeconfig(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compose(catalog, intent({"model": "qwen-coder-fim", "name": "x"}))
    path = vela.proc.tool("vela")  # found before HOME goes: built tools lie below it
    monkeypatch.setattr(vela.proc, "tool", lambda _: path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    assert render(catalog, made, "sandbox")
