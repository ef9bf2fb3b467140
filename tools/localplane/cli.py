"""The command line: `python -m localplane [--name NAME] COMMAND`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from toolchain import ToolchainError

from . import report
from .cluster import Cluster
from .errors import PlaneError
from .plane import Plane
from .simulation import answers


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 something is wrong, 2 usage, 3 a tool is missing, 130 interrupted."""
    args = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a CI's stop cleans up as ^C does
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # so does a closed terminal; nohup keeps its word
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return int(args.run(args, Plane(args.name, args.root, _say)))
    except (PlaneError, ToolchainError) as error:
        _say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:  # `... logs hub/kine | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    about = "A real KubeVela control plane on this machine, without containers."
    parser = argparse.ArgumentParser(prog="localplane", description=about, allow_abbrev=False)
    parser.add_argument("--name", default="default", help="planes of different names live side by side")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help_: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help_, description=help_, allow_abbrev=False)
        command.set_defaults(run=globals()[f"_{name.replace('-', '_')}"])
        return command

    add("up", "start what does not run; builds the programs first (once, about 15 minutes)")
    status = add("status", "show each component: running, died or stopped")
    status.add_argument("-o", "--output", choices=["table", "json"], default="table")
    add("stop", "stop everything; what the plane holds stays")
    add("reset", "stop everything and forget what the plane holds")
    add("env", "print the exports for a shell")
    logs = add("logs", "print a component's log, or where it is when it is empty")
    logs.add_argument("component")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    restart = add("restart", "stop and start one component")
    restart.add_argument("component")
    _add_simulation(add)
    return parser


def _add_simulation(add: object) -> None:
    """Declare the switches of the pretence."""
    assert callable(add)
    answer = add("answer", "let the stand-in for a controller answer a kind, or stop it")
    answer.add_argument("kind", choices=list(answers()))
    answer.add_argument("state", choices=["on", "off"])
    preload = add("preload", "set the fate of preload Jobs to come")
    preload.add_argument("--fail", nargs="*", default=[], metavar="COMPONENT", help="their Jobs keep failing")
    preload.add_argument("--seconds", type=float, default=1.0, help="how long a Job runs (default: 1)")
    pods = add("pods", "set how long pods take to become ready")
    pods.add_argument("--ready-after", type=float, required=True, metavar="SECONDS")
    node = add("remove-node", "let a node vanish, with what ran on it; `up` brings it back")
    node.add_argument("node")
    for command in (answer, preload, pods, node):
        command.add_argument("--cluster", help="one cluster only", required=command is node)


def _up(_: argparse.Namespace, plane: Plane) -> int:
    seconds = plane.up()
    mebibytes = plane.memory() / 2**20
    print(f"Plane {plane.state.name} is up after {seconds:.0f} s, {mebibytes:.0f} MiB. Next:\n\n{_next(plane)}")
    return 0


def _next(plane: Plane) -> str:
    others = ", ".join(name for name in plane.clusters if name != "hub")
    return f"""\
  export KUBECONFIG={plane.kubeconfig}
  vela cluster list                                      # local, {others}
  sailplan definitions publish
  sailplan compose inference-fleet | vela up -f -        # dev goes live, staging waits for
  vela workflow resume inference-fleet                   # an approval
  make plane-status                                      # and plane-stop, plane-reset
  python -m localplane --help                            # failing downloads, vanishing nodes, missing controllers"""


def _status(args: argparse.Namespace, plane: Plane) -> int:
    found = report.rows(plane)
    if not found:
        raise PlaneError(f"plane {plane.state.name} was never started", "`make plane` starts it")
    print(json.dumps(report.data(plane, found), indent=2) if args.output == "json" else report.table(found))
    died = [one for one in found if one.state == "died"]
    for one in died:
        _say(f"{one.component} ended by itself:{plane.runner.tail(one.component)}")
    return 1 if died else 0


def _stop(_: argparse.Namespace, plane: Plane) -> int:
    for name in plane.stop():
        _say(f"{name} did not end when asked and was killed")
    return 0


def _reset(_: argparse.Namespace, plane: Plane) -> int:
    plane.reset()
    return 0


def _env(_: argparse.Namespace, plane: Plane) -> int:
    print(f"export KUBECONFIG={plane.kubeconfig}")
    return 0


def _logs(args: argparse.Namespace, plane: Plane) -> int:
    log = plane.runner.log(plane.component(args.component).name)
    with log.open(encoding="utf-8", errors="replace") as text:
        while True:
            for line in text:
                print(line, end="", flush=True)
            if not args.follow:
                return 0
            time.sleep(0.3)


def _restart(args: argparse.Namespace, plane: Plane) -> int:
    component = plane.component(args.component)
    plane.runner.stop([component.name])
    plane.runner.start(component)
    return 0


def _answer(args: argparse.Namespace, plane: Plane) -> int:
    for one in _chosen(args, plane):
        one.simulation.answer(args.kind, on=args.state == "on")
    return 0


def _preload(args: argparse.Namespace, plane: Plane) -> int:
    for one in _chosen(args, plane):
        one.simulation.preload(fail=args.fail, seconds=args.seconds)
    return 0


def _pods(args: argparse.Namespace, plane: Plane) -> int:
    for one in _chosen(args, plane):
        one.simulation.ready_after(args.ready_after)
    return 0


def _remove_node(args: argparse.Namespace, plane: Plane) -> int:
    for one in _chosen(args, plane):
        one.simulation.remove_node(args.node)
    return 0


def _chosen(args: argparse.Namespace, plane: Plane) -> list[Cluster]:
    if args.cluster and args.cluster not in plane.clusters:
        raise PlaneError(f"no cluster {args.cluster!r}", f"one of: {', '.join(plane.clusters)}")
    return [one for name, one in plane.clusters.items() if args.cluster in (None, name)]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
