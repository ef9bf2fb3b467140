"""`python -m inference_api`: serve until told to stop. Exit codes: 0 stopped, 2 bad settings, 3 cannot listen."""

from __future__ import annotations

import os
import resource
import sys

from .endpoints import Edge
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
    except (OSError, ValueError) as error:
        print(f"inference_api: keys cannot be read: {type(error).__name__}", file=sys.stderr)
        return 2
    _raise_file_limit(4 * settings.max_connections + 256)
    Server(edge).run()
    return 0


def _raise_file_limit(wanted: int) -> None:
    """Allow as many open files as connections need: some container runtimes begin with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


if __name__ == "__main__":
    sys.exit(main())
