"""Runs one command in a mount namespace of its own. A script by itself: standard library only, quick to start.

    python -I inside.py SPEC.json PROGRAM ARGUMENT...

The file says (all but `env` may be missing):

    env      variables of the program, all of them
    binds    [[SOURCE, TARGET], ...]: appear at TARGET, which need not exist on this machine
    scratch  an empty folder, for when a TARGET does not exist
    forward  [[PORT, ADDRESS], ...]: the program gets a network namespace of its own, in which 127.0.0.1:PORT leads to
             ADDRESS:PORT outside; for hooks that ask their own pod
    once     the file goes once it is read
    parent   the process that this one must not outlive

Nothing of this is seen by any other process. Without the right to make namespaces it ends with 125.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

NO_NAMESPACE = 125
"""Exit code when this system gives no mount namespace."""

_NEWNS, _NEWUSER, _NEWNET = 0x00020000, 0x10000000, 0x40000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000
_LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Make the namespaces, then become the program; return only when it cannot or with `forward`."""
    spec: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if spec.get("once"):
        Path(sys.argv[1]).unlink()
    argv = sys.argv[2:]
    _die_with(spec.get("parent"))
    try:
        _enter()
        _mount(spec.get("binds", []), spec.get("scratch", ""))
    except OSError as error:
        print(f"podrunner: no mount namespace: {error}", file=sys.stderr)
        return NO_NAMESPACE
    try:
        if spec.get("forward"):
            return _beside(argv, spec["env"], spec["forward"])
        os.execvpe(argv[0], argv, spec["env"])
    except OSError as error:
        print(f"podrunner: cannot start {argv[0]}: {error}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def _die_with(parent: int | None) -> None:
    """Get killed when the runner dies, however it dies."""
    if parent is not None:
        _LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _enter() -> None:
    user, group = os.geteuid(), os.getegid()
    _check(_LIBC.unshare(_NEWNS if user == 0 else _NEWNS | _NEWUSER), "unshare")
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    _do("none", "/", "", _REC | _PRIVATE)


def _do(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind)]
    _check(_LIBC.mount(*texts, flags, data.encode() or None), f"mount {source} on {target}")


def _mount(binds: list[list[str]], scratch: str) -> None:
    missing = [Path(target) for _, target in binds if not os.path.lexists(target)]
    root = ""
    if missing:
        _do("tmpfs", scratch, "tmpfs", 0, "size=16m")
        folders = {_ancestor(target) for target in missing}
        if Path("/") in folders:
            root = _new_root(Path(scratch, "root"))
        for number, folder in enumerate(sorted(folders - {Path("/")})):
            _overlay(folder, Path(scratch, str(number)), root)
    for source, target in binds:
        _point(Path(f"{root}{target}"), is_folder=Path(source).is_dir())
        _do(source, f"{root}{target}", "", _BIND)
    if root:
        os.chroot(root)
        os.chdir("/")


def _ancestor(target: Path) -> Path:
    """The nearest folder above that exists."""
    return next(folder for folder in target.parents if folder.is_dir())


def _new_root(root: Path) -> str:
    """A root with everything that the present one has, in which more can be made."""
    root.mkdir()
    for entry in Path("/").iterdir():
        place = root / entry.name
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
            continue
        _point(place, is_folder=entry.is_dir())
        _do(str(entry), str(place), "", _BIND | _REC)
    return str(root)


def _overlay(folder: Path, layer: Path, root: str) -> None:
    """Let a folder be written to without anybody else seeing it."""
    for part in ("upper", "work"):
        (layer / part).mkdir(parents=True)
    options = f"lowerdir={folder},upperdir={layer}/upper,workdir={layer}/work"
    _do("overlay", f"{root}{folder}", "overlay", 0, options)


def _point(target: Path, *, is_folder: bool) -> None:
    """Make what a mount needs to be put on."""
    if is_folder:
        target.mkdir(parents=True, exist_ok=True)
    elif not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


def _beside(argv: list[str], env: dict[str, str], forward: list[list[Any]]) -> int:
    """Run the program in a network of its own and carry connections out of it. Only its thread is in that network."""
    listening: list[tuple[socket.socket, str, int]] = []
    started: list[subprocess.Popen[bytes] | OSError] = []

    def run() -> None:
        try:
            _check(_LIBC.unshare(_NEWNET), "unshare")
            _loopback_up()
            for port, address in forward:
                listening.append((socket.create_server(("127.0.0.1", port)), address, port))
            started.append(subprocess.Popen(argv, env=env))
        except OSError as error:
            started.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (child,) = started
    if isinstance(child, OSError):
        raise child
    for listener, address, port in listening:
        threading.Thread(target=_carry, args=(listener, address, port), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    return child.wait()


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        name, flags = struct.unpack("16sh", fcntl.ioctl(link, 0x8913, struct.pack("16sh", b"lo", 0)))
        fcntl.ioctl(link, 0x8914, struct.pack("16sh", name, flags | 1))


def _carry(listener: socket.socket, address: str, port: int) -> None:
    while True:
        inner, _ = listener.accept()
        try:
            outer = socket.create_connection((address, port), timeout=5)
        except OSError:
            # Nobody listens there any more: the next one that asks is refused in here too.
            listener.close()
            inner.close()
            return
        outer.settimeout(None)
        for one, other in ((inner, outer), (outer, inner)):
            threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    raise SystemExit(main())
