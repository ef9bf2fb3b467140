"""`sailplan upgrade`: moves component pins to the checkout's version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application

app = application()


@app.command()
def upgrade(
    apps: options.Apps = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the difference and write nothing.")] = False,
    catalog: options.Catalog = "",
) -> None:
    """Move the pin of committed Applications. It goes to the checkout's version; what that changes is shown."""
    from sailplan import committed, differences
    from sailplan import upgrade as library

    chosen = options.choose(catalog, apps, None, committed=True)
    for document in chosen.apps:
        moved = library.upgrade(chosen.catalog, document)
        if moved.old == moved.new:
            terminal.out(f"{document.name} is at v{moved.new}\n")
            continue
        terminal.out(f"{document.name}: v{moved.old} -> v{moved.new}\n")
        for environment, found in moved.differences.items():
            terminal.out(f"{environment}:{'' if found else ' the same objects'}\n{differences.report(found)}")
        if not dry_run:
            path = Path(chosen.catalog.root, document.file).parent / committed.FILE
            committed.write(path, moved.text)
            terminal.say(f"wrote {path}")
