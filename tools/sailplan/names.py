"""Names that people mistype: the error that says the nearest right one."""

from __future__ import annotations

from collections.abc import Iterable

from sailplan.errors import UsageError


def unknown(what: str, given: str, known: Iterable[str]) -> UsageError:
    """The error for a name that does not exist, with the nearest that does."""
    from sailplan.findings import nearest

    names = sorted(known)
    close = nearest(given, names)
    if close:
        return UsageError(f"unknown {what} {given}", f"did you mean {close}?")
    return UsageError(f"unknown {what} {given}", f"there are: {', '.join(names) or 'none'}")
