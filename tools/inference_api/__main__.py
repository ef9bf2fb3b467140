"""`python -m inference_api`: serve until told to stop. Exit codes: 0 stopped, 2 bad settings, 3 cannot listen."""

from __future__ import annotations

import importlib.util
import os
import resource
import sys

from .endpoints import Edge
from .keys import KeysError
from .logs import configure
from .server import Server
from .settings import SettingsError, load


def main() -> int:
    """Read the settings, serve, return the exit code."""
    try:
        settings = load(os.environ)
        configure(settings.log_level)
        edge = Edge(settings)
    except SettingsError as error:
        for problem in error.problems:
            print(f"inference_api: {problem}", file=sys.stderr)
        return 2
    except KeysError as error:
        print(f"inference_api: {error}", file=sys.stderr)
        return 2
    _spare_imports()
    _raise_file_limit(4 * settings.max_connections + 256)
    Server(edge).run()
    return 0


def _spare_imports() -> None:
    """Let httpcore's `import sniffio`, several for each request, fail at once where it is not installed.

    Python remembers no import that failed: each time it would look through all folders, a fifth of a request's time.
    """
    if importlib.util.find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]


def _raise_file_limit(wanted: int) -> None:
    """Allow as many open files as connections need: some container runtimes begin with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


if __name__ == "__main__":
    sys.exit(main())
