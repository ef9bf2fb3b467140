"""What `check` was asked about: all of a checkout, or some places in it and intents from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sailplan.files import read_all
from sailplan.model import Document, Finding

CHECKED = ("catalog", "definitions", "applications")
"""Folders of a checkout that `check` looks at."""

_INTENT = re.compile(r"""(?:^|[\s{,])["']?kind["']?\s*:\s*["']?App["']?\s*(?:[,}#]|$)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What findings are wanted about.

    Attributes:
        root: the checkout.
        places: files and folders in it.
        intents: those from elsewhere.
        everything: nothing was named, so all is wanted.
    """

    root: Path
    places: Sequence[Path] = ()
    intents: Sequence[Document] = ()
    everything: bool = True

    def within(self, file: str) -> bool:
        """Whether a file of the checkout is, or is in, one of the places; as it is named, or where a link leads."""
        named = self.root / file
        return any(one.is_relative_to(place) for one in (named, named.resolve()) for place in self.places)

    def wants(self, finding: Finding) -> bool:
        """Whether a finding stands where somebody asked."""
        file = finding.position.file
        return self.everything or self.within(file) or any(file == intent.file for intent in self.intents)

    def about(self, app: Document) -> bool:
        """Whether an intent itself was asked about."""
        return self.everything or any(app is one for one in self.intents) or self.within(app.file)


def checked(root: Path, place: Path) -> bool:
    """Whether `check` looks at a place in the checkout, or at anything in it."""
    folders = [root / name for name in CHECKED]
    return any(place.is_relative_to(folder) or folder.is_relative_to(place) for folder in folders)


def intent(path: Path) -> bool:
    """Whether a file that lies anywhere seems to be an intent."""
    if path.suffix not in (".yaml", ".yml", ".json"):
        return False
    found, _ = read_all(path.parent, [path])
    return any(_INTENT.search(text) for text in found.values())
