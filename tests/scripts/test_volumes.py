"""Where the preload script writes, and what it does when it cannot: in mount namespaces of a test's own."""

from __future__ import annotations

import os
import subprocess

import pytest

from scripts.fakehub import Hub
from scripts.job import Preload
from scripts.rendered import REPOSITORY, REVISION
from scripts.stubs import Stubs

_ROOTLESS = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
_SPACE = ["unshare", *_ROOTLESS, "--mount", "--propagation", "private"]

# All that is mounted becomes read-only but the two folders that the pod may write to. "$@" is the script.
_READ_ONLY = """
set -eu
for keep in "$MODELS_ROOT" "$TMPDIR"; do mount --bind "$keep" "$keep"; done
while read -r _ _ _ _ point _; do
  case $point in "$MODELS_ROOT" | "$TMPDIR") ;; *) mount -o remount,bind,ro "$point" 2>/dev/null || : ;; esac
done < /proc/self/mountinfo
! touch "$OUTSIDE" 2>/dev/null || exit 99
exec "$@"
"""

_SMALL = """
set -eu
mount -t tmpfs -o size="$SIZE" tmpfs "$MODELS_ROOT"
code=0
"$@" || code=$?
find "$MODELS_ROOT" -name '.preload-complete*' -size +0 > "$TMPDIR/markers"
find "$MODELS_ROOT" -maxdepth 1 -name '*.lock*' > "$TMPDIR/locks"
exit "$code"
"""


def _inside(job: Preload, text: str) -> Preload:
    job.prefix = [*_SPACE, "sh", "-c", text, "sh"]
    job.env["TMPDIR"] = str(job.tmp)
    probe = [*_SPACE, "mount", "-t", "tmpfs", "tmpfs", str(job.models)]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("no mount namespaces here: read-only roots and full volumes were NOT tried")
    return job


def test_only_the_volume_and_tmp_are_written(hub: Hub, preload: Preload) -> None:
    hub.repos[f"{REPOSITORY}@{REVISION}"] = {"config.json": b"{}", "model.safetensors": b"x" * 1000}
    job = _inside(preload, _READ_ONLY)
    job.env |= {"HF_ENDPOINT": hub.address, "OUTSIDE": str(job.tmp.parent / "outside")}
    code, said = job.run()
    assert code == 0, said
    assert job.complete()


def test_a_full_volume(hub: Hub, preload: Preload) -> None:
    hub.repos[f"{REPOSITORY}@{REVISION}"] = {"config.json": b"{}", "model.safetensors": b"x" * 400_000}
    job = _inside(preload, _SMALL)
    job.env |= {"HF_ENDPOINT": hub.address, "SIZE": "200k"}
    code, said = job.run()
    assert code != 0, said
    assert "No space left" in said
    assert (job.tmp / "markers").read_text() == ""
    assert (job.tmp / "locks").read_text() == ""


@pytest.mark.parametrize("room", [1, 2, 3, 4])
def test_a_volume_too_full_even_for_the_lock_or_the_marker(flow: Preload, stubbed: Stubs, room: int) -> None:
    """Room for so many files and folders; wanted are the model's folder, the lock, its file, weights, marker."""
    job = _inside(flow, _SMALL)
    job.env["SIZE"] = f"1m,nr_inodes={room + 1}"
    code, said = job.run(10)
    assert code != 0, said
    assert (job.tmp / "markers").read_text() == ""
    assert (job.tmp / "locks").read_text() == ""


def test_a_volume_that_is_read_only(flow: Preload, stubbed: Stubs) -> None:
    job = _inside(flow, 'mount -t tmpfs -o ro tmpfs "$MODELS_ROOT" && exec "$@"')
    assert job.run(10)[0] != 0
    assert not stubbed.calls("hf")


def test_a_complete_volume_may_be_read_only(flow: Preload, stubbed: Stubs) -> None:
    flow.folder.mkdir()
    flow.marker.write_text(f"{REPOSITORY}@{REVISION}")
    job = _inside(flow, 'cd "$MODELS_ROOT" && mount --bind . . && mount -o remount,bind,ro "$PWD" && exec "$@"')
    code, said = job.run(10)
    assert code == 0, said
    assert not stubbed.calls("hf")
