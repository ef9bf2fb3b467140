"""`sailplan version`."""

from __future__ import annotations

from sailplan.cli.commands import application

app = application()


@app.command()
def version() -> None:
    """Print versions."""
    from sailplan import __version__
    from sailplan.cli import terminal

    terminal.out(f"sailplan {__version__}\n")
