"""Ratios, measured side by side in one run: `make bench`. Each number is the median of cold processes.

Ratios rather than seconds, because they hold on any machine; both sides of a ratio take turns, so that a busy moment
hits both.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.big import make
from sailplan.catalog import find_root, load
from sailplan.compose import compose
from sailplan.render import for_environment
from sailplan.toolbox import proc

pytestmark = pytest.mark.bench

ROOT = find_root(Path(__file__).parent)
FLEET = "inference-fleet"
PYTHON = sys.executable
SAILPLAN = (PYTHON, "-m", "sailplan")

HELLO = """
import typer, yaml
app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
@app.command()
def main(name: str = "world") -> None:
    print(yaml.safe_dump({"hello": name}))
app()
"""


def seconds(args: Sequence[str], env: dict[str, str] | None = None, cwd: Path = ROOT) -> float:
    started = time.perf_counter()
    done = subprocess.run(args, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, check=False, text=True)
    taken = time.perf_counter() - started
    assert done.returncode == 0, done.stderr or done.stdout
    return taken


def side_by_side(
    one: Sequence[str], other: Sequence[str], runs: int, other_env: dict[str, str] | None = None
) -> tuple[float, float]:
    """Median seconds of two commands that take turns; a first run of each only fills caches."""
    pairs = [(seconds(one), seconds(other, other_env)) for _ in range(runs + 1)]
    first, second = zip(*pairs[1:], strict=True)
    return statistics.median(first), statistics.median(second)


def say(what: str, taken: float, base: float, limit: float) -> None:
    print(f"\n{what}: {taken:.2f} s against {base:.2f} s, ratio {taken / base:.2f} (at most {limit:g})")


def test_compose_against_hello_world(tmp_path: Path) -> None:
    """All of it: reading the catalog, schema, references, layers, rules, YAML; the schema's answers are remembered."""
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    taken, base = side_by_side([*SAILPLAN, "compose", FLEET], [PYTHON, str(hello)], runs=9)
    say("compose the fleet for three environments / hello world of typer and PyYAML", taken, base, 2)
    assert taken / base <= 2


def test_render_against_a_plain_dry_run(tmp_path: Path) -> None:
    catalog = load(ROOT)
    application = for_environment(compose(catalog, catalog.apps[FLEET]), catalog.environments["production"])
    (tmp_path / "application.yaml").write_text(json.dumps(application))
    (tmp_path / "kubeconfig").write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "none",
                "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
                "contexts": [{"name": "none", "context": {"cluster": "none", "user": "nobody"}}],
                "users": [{"name": "nobody", "user": {}}],
            }
        )
    )
    folder = str(tmp_path / "definitions")
    for part in ("component", "trait"):
        shutil.copytree(ROOT / "definitions" / part, tmp_path / "definitions" / part)
    plain = [proc.tool("vela"), "dry-run", "--offline", "-d", folder, "-f", str(tmp_path / "application.yaml")]
    ours = [*SAILPLAN, "render", FLEET, "--env", "production"]
    private = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "kubeconfig")}
    taken, base = side_by_side(ours, plain, runs=5, other_env=private)
    say("render one environment of the fleet / one plain vela dry-run of it", taken, base, 3)
    assert taken / base <= 3


def test_check_of_large_catalogs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """1,000 models under 5 s, and no worse than linear up to 10,000."""
    taken, work = {}, {}
    for models in (1_000, 10_000):
        checkout = tmp_path_factory.mktemp(f"models-{models}")
        make(ROOT, checkout, models)
        apps = sorted(path.name for path in (checkout / "applications").iterdir())
        # Nothing is remembered about these documents; the tools are found where they are.
        env = {"XDG_CACHE_HOME": str(checkout / "cache")}
        env |= {f"SAILPLAN_{name.upper()}": proc.tool(name) for name in ("cue", "vela")}
        seconds([*SAILPLAN, "schema", "--write", "--catalog", str(checkout)], env)
        seconds([*SAILPLAN, "compose", *apps, "--write", "--catalog", str(checkout)], env)
        remembered = seconds([*SAILPLAN, "check", "--catalog", str(checkout)], env)
        for file in (checkout / "cache").rglob("valid*"):
            file.unlink()
        before = _processor_seconds()
        taken[models] = seconds([*SAILPLAN, "check", "--catalog", str(checkout)], env)
        work[models] = _processor_seconds() - before
        print(f"\ncheck {models} models: {taken[models]:.2f} s; again, with nothing changed: {remembered:.2f} s")
    growth = work[10_000] / work[1_000]
    print(f"ten times the models are {growth:.1f} times the work")
    assert taken[1_000] < 5
    # Whatever is not linear would show as a factor near 100.
    assert growth < 12


def _processor_seconds() -> float:
    """What processes that we waited for have used so far: unlike the clock, it does not see what else is running."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
