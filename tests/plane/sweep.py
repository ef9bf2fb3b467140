"""Ends what a run of the plane's tests left, whoever started it and whether or not it could clean up.

A worker of pytest-xdist is killed ten seconds after ^C, which is sooner than a plane with applications on it can stop.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

from localplane import NotReady, wait

END_SECONDS = 20


def swept(folder: Path) -> int:
    """End all processes that know of a folder, remove it, and return how many they were."""
    found = knowing(folder)
    for ending in (signal.SIGTERM, signal.SIGKILL):
        for pid in knowing(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, ending)
        with contextlib.suppress(NotReady):
            wait("they have ended", lambda: not knowing(folder), END_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    return len(found)


def knowing(folder: Path) -> set[int]:
    """Processes, other than this one, that were started with a folder in an argument or a variable."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is somebody else's
            said = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            if str(folder).encode() in said and int(place.name) != os.getpid():
                found.add(int(place.name))
    return found
