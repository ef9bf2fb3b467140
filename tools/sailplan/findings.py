"""Helpers for lists of findings: their order, the nearest right name for a wrong one, how a value is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sailplan.model import SEVERITIES, Finding, Path

_WHO = re.compile(r"(://[^\n]*|(?<![^\s\"'])/*[^\s/:@]+:(?!//)[^\s@]+)@(?!sha256:)")
"""User and password before a host, with a scheme or without; an image has its digest after the @."""

_QUERY = re.compile(r"""(://[^\s"'?#]*\?)[^\s"'#]+""")
"""What a URL asks for: many services take their key there."""

_ASKED = re.compile(
    r"([?&;][\w.-]{0,40}(?:key|token|secret|passw|pwd|sig|auth|cred)[\w.-]{0,40}=)[^\s\"'&#]+", re.IGNORECASE
)
"""The same without a scheme in front, where the name says what it is."""

_LOOKED_AT = 2000
"""Characters of a value that are looked at for a password: no URL is longer, and a value may have a million."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings once each, errors before warnings before notes, then by place."""
    unique = dict.fromkeys(findings)
    return sorted(unique, key=lambda f: (SEVERITIES.index(f.severity), f.position, f.id, f.field, f.message))


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those among `findings` that keep a command from going on."""
    return [finding for finding in findings if finding.severity == "error"]


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that `name` most looks like a misspelling of; "" when none comes near."""
    import difflib

    known = list(dict.fromkeys(names))
    folded = {other.casefold().replace("_", "-"): other for other in known}
    same = folded.get(name.casefold().replace("_", "-"))
    if same:
        return same
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return close[0] if close else ""


def dotted(path: Path) -> str:
    """A path as people write it: `spec.components[0].set`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def shortened(value: object, limit: int = 80) -> str:
    """A value as text for a message, without passwords and not longer than `limit` characters."""
    text = masked(str(value)[:_LOOKED_AT])
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def masked(text: str) -> str:
    """A text for a message with `***` for user, password and query of a URL: reports end in logs that many read."""
    # Users first: a password may hold a question mark.
    if "@" in text:
        text = _WHO.sub(lambda found: "://***@" if found[1].startswith("://") else "***@", text)
    return _ASKED.sub(r"\1***", _QUERY.sub(r"\1***", text)) if "=" in text or "?" in text else text
