"""Modules of Go with replace lines, and what the real Go says without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.toolchain.conftest import Machine

from toolchain import BuildFailed, ensure, golang, pins
from toolchain.modules import main_module

GO_MOD = """module k8s.io/kubernetes

go 1.24.0

require k8s.io/api v0.0.0

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""


def test_the_copy_is_another_module_and_keeps_its_replace_lines() -> None:
    assert main_module(GO_MOD).splitlines()[0] == "module build.local/stand-in"
    assert main_module(GO_MOD).splitlines()[1:] == GO_MOD.splitlines()[1:]


def test_local_replace_lines_can_be_rewritten() -> None:
    """As a row for Kubernetes' own programs will want it."""
    text = main_module(GO_MOD, [(r"=> \./staging/src/(k8s\.io/[\w-]+)", r"=> \1 v0.34.1")])
    assert "k8s.io/api => k8s.io/api v0.34.1" in text
    assert "k8s.io/client-go => k8s.io/client-go v0.34.1" in text
    assert "staging" not in text


@pytest.mark.parametrize("name", ["cue", "vela"])
def test_without_a_network_the_real_go_fails_in_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAILPLAN_GO", str(golang.go()))
    monkeypatch.setenv("SAILPLAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv(pins.tool(name).env, raising=False)
    for proxy, words in (("off", "downloads are switched off"), ("http://127.0.0.1:1", "no network")):
        monkeypatch.setenv("GOPROXY", proxy)
        with pytest.raises(BuildFailed, match=words) as error:
            ensure(name)
        assert "GOPROXY" in error.value.hint
    assert not list((tmp_path / "cache" / "tools").iterdir())


def test_a_step_before_the_build_fails_in_words_too(machine: Machine) -> None:
    machine.go()
    (machine.bin / "go").write_text(
        "#!/bin/sh\n[ $1 = version ] && echo go version go1.26.9 linux/amd64 || "
        "{ echo 'go: x: dial tcp 127.0.0.1:1: connect: connection refused'; exit 1; }\n"
    )
    code, _, err = machine.run("ensure", "vela")
    assert code == 3
    assert "github.com/oam-dev/kubevela v1.11.0: downloading: no network" in err
    assert machine.leftovers() == []
