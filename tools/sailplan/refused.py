"""What definitions refuse in Applications, as only the real engine can say: each is rendered for each environment.

`compose` and the rules never start vela, so that they stay fast and need no more than cue. This asks vela about
everything at once: some half a second of a processor for each Application in an environment (measured), two at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sailplan import sources
from sailplan.errors import FindingsError
from sailplan.findings import worst_first
from sailplan.model import Catalog, Composition, Finding
from sailplan.render import render_with
from sailplan.toolbox import proc, vela

Files = Mapping[str, Sequence[Path]]
"""Application -> files of the definitions that it is rendered with."""


def refused(catalog: Catalog, compositions: Sequence[Composition]) -> list[Finding]:
    """What vela says against Applications, in any of their environments; worst first, each at the value it is about.

    Components are rendered with the versions that they are pinned to, from the history of the checkout if need be.

    Raises:
        ToolError: vela is missing, or took too long.
    """
    found: list[Finding] = []
    files: dict[str, Sequence[Path]] = {}
    with tempfile.TemporaryDirectory(prefix="sailplan-") as place:
        for made in compositions:
            folder = Path(place, made.app.name)
            folder.mkdir()
            try:
                files[made.app.name] = sources.checkout(catalog, made, folder)
            except FindingsError as error:
                found += error.findings
        # The largest first, so that none of them is left for the end alone.
        largest = sorted(compositions, key=lambda made: -len(made.components))
        wanted = [(made, name) for made in largest if made.app.name in files for name in made.app.spec["environments"]]
        said = proc.run_all(lambda pair: _one(catalog, files, *pair), wanted)
    return worst_first([*found, *(finding for some in said for finding in some)])


def _one(catalog: Catalog, files: Files, made: Composition, environment: str) -> Sequence[Finding]:
    try:
        render_with(files[made.app.name], made, catalog.environments[environment])
    except FindingsError as error:
        return error.findings
    except vela.VelaError as error:
        at = made.app.at("spec", "components")
        message = f"vela could not render it in {environment}: {error.stderr or error.message}"
        return [Finding("SP302", "error", at, "spec.components", message)]
    return []
