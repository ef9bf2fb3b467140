"""Promises of the checkout's own files: lock, Makefile, CI, and the rule about skipped tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolchain.lock import SERVE_LOCK, serve_requirements
from toolchain.venv import CHECKOUT, LOCK

REGISTRIES = re.compile(r"pypi\.org|pythonhosted|proxy\.golang|npmjs|crates\.io|deb\.debian")
OUR_FOLDERS = re.compile(r"(?<![\w.-])/(work|root|home/\w+|tmp/b)/")


def committed() -> list[Path]:
    """Return the files that git knows, texts only."""
    out = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return [CHECKOUT / name for name in out.stdout.split("\0") if name and (CHECKOUT / name).is_file()]


def test_every_locked_package_is_exact_and_hashed() -> None:
    assert len(blocks(LOCK)) > 40
    for name in (LOCK, SERVE_LOCK):
        assert [b for b in blocks(name) if not re.match(r"[\w.-]+==\S+", b) or "--hash=sha256:" not in b] == []


def blocks(name: Path) -> list[str]:
    """Return a lock's packages, each with its hashes."""
    return re.split(r"\n(?=\S)", (CHECKOUT / name).read_text(encoding="utf-8").strip())


def test_servers_are_tested_with_the_versions_that_their_image_installs() -> None:
    served, ours = ({re.match(r"[\w.-]+==[\w.]+", block)[0] for block in blocks(name)} for name in (SERVE_LOCK, LOCK))  # type: ignore[index]
    assert served <= ours
    named = {block.partition("==")[0] for block in served}
    assert {re.split(r"[<>=~ ]", line)[0] for line in serve_requirements()} <= named


def test_nothing_committed_names_a_registry_or_a_folder_of_somebody() -> None:
    here = Path(__file__).resolve()
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path != here and (match := REGISTRIES.search(text) or OUR_FOLDERS.search(text)):
            found.append(f"{path.relative_to(CHECKOUT)}: {match[0]}")
    assert found == []


def test_help_lists_every_target_for_people() -> None:
    text = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    said = make("help").stdout
    for target in re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE):
        assert f"make {target} " in said
    assert make().stdout == said


def test_all_targets_exist_and_are_no_files() -> None:
    text = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())  # type: ignore[index]
    assert targets == phony
    assert {"help", "demo", "test", "test-all", "check", "golden", "docs", "lint", "lock", "bench", "clean"} <= targets


def test_ci_calls_make_and_nothing_else() -> None:
    lines = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    parts = re.search(r"^for part in (.*); do$", "\n".join(lines), re.MULTILINE)
    assert parts is not None
    for part in parts[1].split():
        assert make("--dry-run", part).returncode == 0


@pytest.mark.parametrize(
    ("ci", "flags", "closing"),
    [
        (True, [], "1 failed, 1 passed, 1 xfailed, 1 error"),
        (True, ["--allow-skips"], "1 passed, 2 skipped, 1 xfailed"),
        (False, [], "1 passed, 2 skipped, 1 xfailed"),
    ],
)
def test_a_skip_fails_in_ci(tmp_path: Path, ci: bool, flags: list[str], closing: str) -> None:
    shutil.copyfile(CHECKOUT / "tests" / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_one.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "def test_skips(): pytest.skip('no engine here')\n"
        "@pytest.mark.xfail\n"
        "def test_known(): assert False\n"
    )
    (tmp_path / "test_two.py").write_text("import pytest\npytest.importorskip('not_installed')\n")
    env = {"PATH": os.environ["PATH"], "CI": "true" if ci else ""}
    argv = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", *flags]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert closing in done.stdout
    assert done.returncode == (1 if ci and not flags else 0)


def make(*args: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    argv = ["make", "--no-print-directory", *args]
    return subprocess.run(argv, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
