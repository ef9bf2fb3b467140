"""Definitions on a hub: published once, never changed, and replaced only by what breaks nobody.

The tests of this file are one story and run in its order; afterwards the hub has what the checkout has.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from localplane.components import HUB
from localplane.hub import SYSTEM
from plane.checkout import Checkout, copied
from plane.support import APP_API, DEPLOYMENT, ROOT, Desk

APP = "guardrail"


@pytest.fixture(scope="module", autouse=True)
def _as_before(published: Desk) -> Iterator[None]:
    """The hub has the definitions of this checkout, and afterwards no others."""
    yield
    client = published.plane.clusters[HUB].client
    if client.find(APP_API, "Application", APP, "default"):
        published.vela("delete", APP, "-n", "default", "--yes", "--wait")
    for file in published.definitions():
        published.vela("def", "apply", str(file))
    for one in client.list(APP_API, "DefinitionRevision", SYSTEM):
        if one["metadata"]["name"].endswith(("-v1.1.0", "-v1.2.0")):
            client.delete(APP_API, "DefinitionRevision", one["metadata"]["name"], SYSTEM)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as it was when the story began, with two applications: `publish` renders all there are."""
    folder = copied(ROOT, tmp_path_factory.mktemp("source"))
    for app in (folder / "applications").iterdir():
        if app.name not in (APP, "inference-fleet"):
            shutil.rmtree(app)
    return folder


@pytest.fixture
def checkout(tmp_path: Path, source: Path, desk: Desk) -> Checkout:
    return Checkout(copied(source, tmp_path), desk)


def live_version(desk: Desk, kind: str, name: str) -> str:
    return str(desk.plane.clusters[HUB].client.get(APP_API, kind, name, SYSTEM)["spec"]["version"])


def test_publishing_twice_is_a_no_op(desk: Desk, checkout: Checkout) -> None:
    assert checkout.sailplan("definitions", "publish").code == 0
    again = checkout.sailplan("definitions", "publish")
    assert again.code == 0
    assert again.out.splitlines()[-1] == f"nothing to publish: the hub has all {len(desk.definitions())}"


def test_what_is_missing_is_published_and_can_be_pinned(desk: Desk, checkout: Checkout) -> None:
    client = desk.plane.clusters[HUB].client
    client.delete(APP_API, "TraitDefinition", "prefix-cache", SYSTEM)
    desk.until("its revision is gone", lambda: desk.revisions("prefix-cache") == [])
    tried = checkout.sailplan("definitions", "publish", "--dry-run")
    assert tried.code == 0
    assert "+ trait prefix-cache v1.0.0: new" in tried.out
    assert client.find(APP_API, "TraitDefinition", "prefix-cache", SYSTEM) is None
    done = checkout.sailplan("definitions", "publish", "prefix-cache")
    assert done.out.splitlines()[-2:] == ["published prefix-cache v1.0.0", "1 of 1 published"]
    assert desk.revisions("prefix-cache") == ["prefix-cache-v1.0.0"]


def test_changed_content_under_a_published_version_is_refused(desk: Desk, checkout: Checkout) -> None:
    checkout.edit("prefix-cache", '"prefix cache ', '"prefix caching ')
    checkout.edit("gpu", version="1.1.0")
    done = checkout.sailplan("definitions", "publish")
    assert done.code == 1
    assert "SP703" in done.err
    assert "definitions/trait/prefix-cache.cue" in done.err
    assert live_version(desk, "TraitDefinition", "gpu") == "1.0.0", "nothing is published when something is refused"


def test_an_older_checkout_does_not_take_the_hub_back(desk: Desk, checkout: Checkout) -> None:
    client = desk.plane.clusters[HUB].client
    was = client.get(APP_API, "TraitDefinition", "prefix-cache", SYSTEM)["spec"]
    changed = checkout.folder / "prefix-cache.cue"
    checkout.edit("prefix-cache", '"prefix cache ', '"prefix caching ')
    checkout.edit("prefix-cache", version="1.1.0")
    changed.write_text((checkout.folder / "definitions/trait/prefix-cache.cue").read_text())
    desk.vela("def", "apply", str(changed))
    assert live_version(desk, "TraitDefinition", "prefix-cache") == "1.1.0"
    checkout.edit("prefix-cache", '"prefix caching ', '"prefix cache ')
    checkout.edit("prefix-cache", version="1.0.0")
    done = checkout.sailplan("definitions", "publish", "prefix-cache")
    assert (done.code, "the hub has gone on to v1.1.0" in done.out) == (0, True)
    desk.vela("def", "apply", str(checkout.folder / "definitions/trait/prefix-cache.cue"))
    assert client.get(APP_API, "TraitDefinition", "prefix-cache", SYSTEM)["spec"] == was


def test_a_new_component_version_changes_nothing_for_those_pinned_to_the_old(desk: Desk, checkout: Checkout) -> None:
    client, namespace = desk.cluster("sandbox")
    desk.up(desk.sailplan("compose", APP))
    desk.until_phase(APP, "running")
    before = client.get(*DEPLOYMENT, APP, namespace)["spec"]

    checkout.edit("vllm-model", '*"8Gi"', '*"9Gi"', version="1.1.0")
    done = checkout.sailplan("definitions", "publish")
    assert done.code == 0, done.all
    assert "~ component vllm-model v1.1.0: the hub has v1.0.0" in done.out
    assert live_version(desk, "ComponentDefinition", "vllm-model") == "1.1.0"

    application = desk.compose(APP)
    assert application["spec"]["components"][0]["type"] == "vllm-model@v1.0.0"
    application["metadata"]["annotations"]["touched"] = "yes"
    desk.up(yaml.safe_dump(application))
    desk.until_phase(APP, "running")
    assert client.get(*DEPLOYMENT, APP, namespace)["spec"] == before


def test_a_trait_that_takes_less_is_refused_before_it_reaches_the_hub(desk: Desk, checkout: Checkout) -> None:
    checkout.edit("vllm-model", '*"8Gi"', '*"9Gi"', version="1.1.0")
    checkout.edit("gpu", "count: *1 | int & >=1 & <=8", "count: *1 | int & >=1 & <=4", version="1.1.0")
    done = checkout.sailplan("definitions", "publish")
    assert done.code == 1
    assert "SP705" in done.err
    assert "count: maximum was 8 and is 4" in done.err
    assert live_version(desk, "TraitDefinition", "gpu") == "1.0.0"
    assert desk.revisions("gpu") == ["gpu-v1.0.0"]


def test_a_trait_that_breaks_an_application_by_a_rule_is_refused(desk: Desk, checkout: Checkout) -> None:
    checkout.edit("vllm-model", '*"8Gi"', '*"9Gi"', version="1.1.0")
    checkout.edit(
        "prefix-cache", "errs: [", 'errs: [\n\t\tif parameter.enabled {"off is the only way"},', version="1.2.0"
    )
    done = checkout.sailplan("definitions", "publish")
    assert done.code == 1
    assert "SP706" in done.err
    assert "inference-fleet would no longer render in production" in done.err
    assert live_version(desk, "TraitDefinition", "prefix-cache") == "1.0.0"


def test_a_trait_that_changes_objects_wants_a_yes(desk: Desk, checkout: Checkout) -> None:
    checkout.edit("vllm-model", '*"8Gi"', '*"9Gi"', version="1.1.0")
    checkout.edit("observability", "scrapeTimeoutSeconds: *10", "scrapeTimeoutSeconds: *9", version="1.1.0")
    asked = checkout.sailplan("definitions", "publish")
    assert asked.code == 1
    assert "guardrail in sandbox:" in asked.out
    assert "--accept-changes" in asked.err
    assert live_version(desk, "TraitDefinition", "observability") == "1.0.0"
    done = checkout.sailplan("definitions", "publish", "--accept-changes")
    assert done.code == 0, done.all
    assert live_version(desk, "TraitDefinition", "observability") == "1.1.0"
    assert desk.revisions("observability") == ["observability-v1.0.0", "observability-v1.1.0"]


def test_an_upgrade_moves_the_pin_and_shows_what_changes(desk: Desk, checkout: Checkout) -> None:
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "before"]):
        subprocess.run([*git, *args], cwd=checkout.folder, check=True)
    assert checkout.sailplan("upgrade", APP).out == f"{APP} is at v1.0.0\n"
    checkout.edit("vllm-model", '*"8Gi"', '*"9Gi"', version="1.1.0")
    done = checkout.sailplan("upgrade", APP)
    assert done.code == 0, done.all
    assert done.out.splitlines()[:3] == [
        f"{APP}: v1.0.0 -> v1.1.0",
        "sandbox:",
        f"~ changed deployment.apps/{APP}",
    ]
    assert '  +            sizeLimit: "9Gi"' in done.out
    client, namespace = desk.cluster("sandbox")
    text = (checkout.folder / "applications" / APP / "application.yaml").read_text(encoding="utf-8")
    assert 'type: "vllm-model@v1.1.0"' in text
    desk.up(text)

    def shared_memory() -> str:
        pod = client.get(*DEPLOYMENT, APP, namespace)["spec"]["template"]["spec"]
        return str(next(one["emptyDir"]["sizeLimit"] for one in pod["volumes"] if one["name"] == "shm"))

    desk.until("the Deployment has it", lambda: shared_memory() == "9Gi", app=APP)
