"""Names that people mistype: the nearest right one, and an error that says it."""

from __future__ import annotations

from collections.abc import Iterable

from sailplan.errors import UsageError


def nearest(given: str, known: Iterable[str]) -> str:
    """The known name that `given` most likely means; empty when none is close."""
    from difflib import get_close_matches

    found = get_close_matches(given, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def unknown(what: str, given: str, known: Iterable[str]) -> UsageError:
    """The error for a name that does not exist."""
    names = sorted(known)
    close = nearest(given, names)
    hint = f"did you mean {close}?" if close else ""
    listed = f"there are: {', '.join(names)}" if names else f"there are no {what}s"
    return UsageError(f"unknown {what} {given!r}", "; ".join(part for part in (hint, listed) if part))
