"""Builds the engine's virtual environment in the cache, once; finds it afterwards.

A virtual environment cannot be renamed into place, so a stamp written last says that it is whole. One without the
stamp, or made from another lock or Python, is made again from nothing; what was fetched before is not fetched again.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from toolchain import cache
from toolchain.errors import BuildFailed, Missing, ToolchainError
from toolchain.process import run, say

from . import NAME, VERSION, stubs

LOCK = Path(__file__).with_suffix("").parent.with_suffix(".lock")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that the lock file was resolved for."""

Argv = list[str | Path]

_EXACT = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement")
_SPACE_GIB = 5
_HINT = "python -m toolchain.engine ensure"
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_NO_INDEX")
_SMOKE = "import torch, vllm.entrypoints.cli.serve; print(vllm.__version__)"


def find() -> Path:
    """Return the Python of the environment; never builds.

    Raises:
        Missing: it is not there, or made from something else.
    """
    place = _place()
    if not _ready(place):
        raise Missing(f"the environment of {NAME} is not built", _HINT)
    return place / "bin" / "python"


def ensure() -> Path:
    """Return the Python of the environment; builds it first when needed (minutes, 1 GB to fetch).

    Raises:
        ToolchainError: not this machine: the wrong platform or Python, or no space.
        BuildFailed: something could not be fetched or installed.
    """
    place = _place()
    if not _ready(place):
        _suits()
        with cache.locked(cache.folder("locks") / f"engine-{NAME}.lock", lambda: say(f"{NAME}: another run builds it")):
            if not _ready(place):
                _build(place)
    return place / "bin" / "python"


def variables(scratch: Path) -> dict[str, str]:
    """Return environment variables for a process of the engine: no hub, no reports, all it writes below `scratch`.

    Compilation is switched off: it would need a C++ compiler and a minute, and no fact depends on it.
    """
    keep = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "TZ")}
    places = {"HOME": "", "TMPDIR": "", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}
    own = {key: str(scratch / part) for key, part in places.items()}
    switches = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "TORCHDYNAMO_DISABLE")
    fixed = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "USER": "engine"}
    return keep | own | dict.fromkeys(switches, "1") | fixed


def _place() -> Path:
    return cache.root() / "engine" / NAME


def _ready(place: Path) -> bool:
    try:
        return (place / ".ready").read_text(encoding="utf-8") == _wanted() and (place / "bin" / "python").exists()
    except OSError:
        return False


def _wanted() -> str:
    """Return a digest of all that decides what the environment is."""
    made_by = f"{sys.base_prefix}\n{sys.version}\n{stubs.REVISION}"
    return hashlib.sha256(LOCK.read_bytes() + made_by.encode()).hexdigest()


def _suits() -> None:
    """Say at once what would otherwise fail after a long download."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ToolchainError(f"{NAME} is pinned for Linux on x86-64, this is {cache.machine()}")
    version = "{}.{}".format(*sys.version_info)
    if sys.implementation.name != "cpython" or version not in PYTHONS:
        raise ToolchainError(f"{NAME} is pinned for CPython {', '.join(PYTHONS)}, this is {version}")
    free = shutil.disk_usage(cache.folder("engine")).free / 2**30
    if free < _SPACE_GIB:
        raise ToolchainError(f"{NAME} needs {_SPACE_GIB} GiB, {cache.root()} has {free:.1f}", "set SAILPLAN_CACHE")


def _build(place: Path) -> None:
    log = cache.folder("logs") / f"engine-{NAME}.log"
    clean = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    python = place / "bin" / "python"
    (place / ".ready").unlink(missing_ok=True)
    say(f"{NAME}: making its environment in {place} (1 GB to fetch, 3 GB on disk)")
    try:
        run([sys.executable, "-m", "venv", "--clear", place], title=f"{NAME}: creating", log=log, env=clean)
    except BuildFailed as error:
        raise BuildFailed(error.message, "on Debian and Ubuntu: apt-get install python3-venv") from error
    _pip(python, _uv_lines(), log, clean)
    # No dependencies: the lock leaves out what the GPU would need, which an installer would put back.
    uv: Argv = [place / "bin" / "uv", "pip", "install", "--python", python, *_EXACT, LOCK]
    clean["UV_CACHE_DIR"] = str(cache.folder("engine/downloads"))  # on the same disk, so that files are linked
    run(uv, title=f"{NAME}: fetching and installing packages", log=log, env=_as_pip(clean), status=_doing)
    packages = next((place / "lib").glob("python3.*/site-packages"))
    stubs.install(packages)
    _alias(packages)
    # The first import also leaves the bytecode that later ones are quick with.
    scratch = cache.folder("engine/scratch")
    said = run([python, "-c", _SMOKE], title=f"{NAME}: first import", log=log, env=variables(scratch)).splitlines()
    if said[-1:] != [VERSION]:
        raise BuildFailed(f"{NAME}: the environment says that it is {said[-1:]}", f"see {log}")
    cache.write(place / ".ready", _wanted())


def _alias(packages: Path) -> None:
    """Let the engine find its own version: it asks for the package `vllm`, and takes `+cpu` for its platform."""
    folder = packages / f"vllm-{VERSION}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n", encoding="utf-8")


def _uv_lines() -> str:
    """Return the lock's lines on uv: pip installs it, and it installs the rest in a tenth of pip's time."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("uv=="))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return "\n".join(lines[start:end])


def _pip(python: Path, requirements: str, log: Path, env: dict[str, str]) -> None:
    """Install with pip, which takes a person's settings of index and certificates."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(requirements)
        file.flush()
        argv: Argv = [python, "-m", "pip", "install", "--no-input", "--progress-bar", "off", *_EXACT, file.name]
        run(argv, title=f"{NAME}: installing uv", log=log, env=env)


def _as_pip(env: dict[str, str]) -> dict[str, str]:
    """Translate a person's settings for pip to uv, unless uv has its own."""
    pairs = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_EXTRA_INDEX_URL": "UV_INDEX", "PIP_CERT": "SSL_CERT_FILE"}
    return {new: env[old] for old, new in pairs.items() if old in env} | env


def _doing(log: Path) -> str:
    """Return what uv said last, for instance ", downloading torch (505.9MiB)"."""
    with log.open("rb") as text:
        text.seek(max(0, log.stat().st_size - 4096))
        lines = text.read().decode(errors="replace").splitlines()
    words = ("Resolved", "Downloading", "Downloaded", "Building", "Prepared", "Installed")
    last = next((line.strip() for line in reversed(lines) if line.strip().startswith(words)), "")
    return f", {last[0].lower()}{last[1:60]}" if last else ""
