"""The command line: `python -m podrunner --plane NAME ...`, and `podrunner exec`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from . import images
from .errors import RunnerError
from .space import Space


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit code: 0, 1 it cannot, 2 usage, 4 cluster unreachable."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["exec"]:
            return _exec(_exec_parser().parse_args(given[1:]))
        return _run(_parser().parse_args(given))
    except RunnerError as error:
        _say(f"error: {error}")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    about = "Starts the commands of pods as processes on loopback. `podrunner exec -h`: a command beside them."
    parser = argparse.ArgumentParser(prog="podrunner", description=about, allow_abbrev=False)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--plane", metavar="NAME", help="of localplane, whose nodes are all adopted unless --adopt says which"
    )
    where.add_argument("--kubeconfig", type=Path, help="of any other cluster; needs --state")
    parser.add_argument("--cluster", default="hub", help="of the plane (default: hub)")
    parser.add_argument("--context", default="", help="of the kubeconfig (default: its current one)")
    parser.add_argument("--namespace", action="append", default=[], help="whose pods are run (default: all)")
    parser.add_argument(
        "--state", type=Path, help="folder for logs, hosts, targets.json, pods.json (default: the plane's)"
    )
    parser.add_argument(
        "--images", type=Path, help="YAML: local commands by pattern of image, before the built-in ones"
    )
    parser.add_argument("--adopt", metavar="NODES", help="take nodes over from KWOK: all, or NAME,NAME")
    parser.add_argument("--most", type=_count, default=24, help="pods at once (default: 24)")
    parser.add_argument("--back-off", type=_seconds, default=10.0, help="seconds before a second restart (default: 10)")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 1000")
    return int(text)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 3600:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 3600")


def _exec_parser() -> argparse.ArgumentParser:
    about = "Runs a command that sees the names of Services as the pods of a runner do."
    parser = argparse.ArgumentParser(prog="podrunner exec", description=about, allow_abbrev=False)
    parser.add_argument("--state", type=Path, required=True, help="of the runner")
    parser.add_argument("--namespace", default="", help="whose short names are known (default: names that are unique)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    return parser


def _run(args: argparse.Namespace) -> int:
    from .runner import READY, Options, Runner

    _complete(args)
    state: Path = args.state.absolute()
    known = images.read(args.images)
    held = _hold(state)
    for stale in ("pods", "trial", "exec"):
        shutil.rmtree(state / stale, ignore_errors=True)
    (state / READY).unlink(missing_ok=True)
    options = Options(
        kubeconfig=args.kubeconfig,
        state=state,
        images=known,
        context=args.context,
        namespaces=tuple(args.namespace),
        adopt=args.adopt or "",
        most=args.most,
        back_off=args.back_off,
    )

    async def until_told() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        await Runner(options, _say).run(stop)

    try:
        asyncio.run(until_told())
    finally:
        (state / READY).unlink(missing_ok=True)
        held.close()
    return 0


def _complete(args: argparse.Namespace) -> None:
    """Work out from a plane's name what else was not given.

    Raises:
        RunnerError: there is no such plane or cluster, or --state is missing.
    """
    if args.plane:
        from localplane.errors import PlaneError
        from localplane.state import State

        try:
            place = State(args.plane).folder / args.cluster
        except PlaneError as error:
            raise RunnerError(error.message, error.hint) from error
        args.kubeconfig = place / "kubeconfig"
        args.state = args.state or place / "pods"
        args.adopt = "all" if args.adopt is None else args.adopt
        if not args.kubeconfig.is_file():
            raise RunnerError(f"plane {args.plane} has no cluster {args.cluster!r}", "`make plane` starts a plane")
    if not args.state:
        raise RunnerError("--state is missing", "a folder for logs, hosts, targets.json, pods.json")


def _hold(state: Path) -> IO[bytes]:
    """Take a state folder for the length of this process.

    Raises:
        RunnerError: another runner has it, or it cannot be made.
    """
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = (state / "lock").open("ab")
    except OSError as error:
        raise RunnerError(f"--state {state}: {error.strerror}", "name a folder that you may write") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise RunnerError(f"another runner uses {state}", "end it, or choose another --state") from None
    return handle


def _exec(args: argparse.Namespace) -> int:
    hosts = args.state.absolute() / (f"hosts.d/{args.namespace}" if args.namespace else "hosts")
    if not hosts.is_file():
        raise RunnerError(f"{hosts} is not there", "does a runner with this --state run, and has it such pods?")
    argv = command(hosts, args.command, once=True)
    os.execv(argv[0], argv)


def command(hosts: Path, wanted: Sequence[str], once: bool = False) -> list[str]:
    """The argument list of a command that has a file for /etc/hosts; otherwise as the caller is.

    Args:
        hosts: `hosts`, or one of `hosts.d`, of a runner's state.
        wanted: program and arguments.
        once: whether it is used once only, and leaves no file then.
    """
    place = hosts.parent if hosts.name == "hosts" else hosts.parent.parent
    space = Space(place / "exec" / f"{os.getpid()}-{time.monotonic_ns()}", str(hosts))
    return space.argv(wanted, os.environ, tied=False, once=once)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
