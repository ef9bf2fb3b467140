r"""YAML out: block style, every string in double quotes, the same bytes for the same data.

An emitter of our own, because what we need is the small part of YAML that reads the same everywhere (PyYAML writes
`5e10` and `y` plain, and KubeVela's parser then makes a number and a boolean of them), and because lines may carry a
comment that says where a value came from. Keys are plain only when no parser could take them for anything but a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sailplan.errors import SailplanError
from sailplan.model import Path

Comment = Callable[[Path], str]
"""What to write behind the line of the value at a path; empty for nothing."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_RETYPED = re.compile(r"(y|n|yes|no|on|off|true|false|null|nan|inf)\Z", re.IGNORECASE)
# JSON leaves these as they are; to YAML they are line breaks, byte order marks, or not allowed at all.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
# A block may hold what a reader sees: no control characters, and nothing invisible at the end of a line.
_BLOCK = re.compile(r"[^\n \t][^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*\Z")


def dump(data: Any, comment: Comment | None = None, blocks: bool = False) -> str:
    """One YAML document, without the `---` in front; ends in a newline.

    Args:
        data: maps with string keys, lists, strings, numbers, booleans and None.
        comment: says what to write behind each line.
        blocks: write strings of several lines as literal blocks (`|`), which a person can read.

    Raises:
        SailplanError: `data` holds something else.
    """
    return "\n".join(_lines(data, "", (), comment or _no_comment, blocks)) + "\n"


def dump_all(documents: Iterable[Any], blocks: bool = False) -> str:
    """A stream of YAML documents, each with its `---`."""
    return "".join(f"---\n{dump(document, blocks=blocks)}" for document in documents)


def dump_json(data: Any) -> str:
    """JSON with two spaces of indentation; ends in a newline."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def quote(text: str) -> str:
    """A string in double quotes, on one line, in the form that JSON and YAML share."""
    return dump_line(text)


def dump_line(data: Any) -> str:
    """One line that JSON and YAML read as the same: YAML has no pairs of surrogates, so an emoji stays what it is."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(data, ensure_ascii=False))


def _no_comment(_: Path) -> str:
    return ""


def _lines(value: Any, indent: str, path: Path, comment: Comment, blocks: bool) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_key(key)}:", item, f"{indent}  ", (*path, key), comment, blocks)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            here = (*path, index)
            if isinstance(item, Mapping | list) and item:
                # The first line of what is inside stands behind the dash.
                inner = _lines(item, f"{indent}  ", here, comment, blocks)
                yield f"{indent}- {next(inner)[len(indent) + 2 :]}"
                yield from inner
            else:
                yield from _entry(f"{indent}-", item, f"{indent}  ", here, comment, blocks)
    else:
        yield indent + _scalar(value)


def _entry(start: str, item: Any, indent: str, path: Path, comment: Comment, blocks: bool) -> Iterator[str]:
    note = comment(path)
    behind = f"  # {note}" if note else ""
    if isinstance(item, Mapping | list) and item:
        yield start + behind
        yield from _lines(item, indent, path, comment, blocks)
    elif blocks and isinstance(item, str) and "\n" in item and _fits_block(item):
        yield f"{start} |{_chomping(item)}{behind}"
        yield from (f"{indent}{line}" if line else "" for line in item.removesuffix("\n").split("\n"))
    else:
        yield f"{start} {_scalar(item)}{behind}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping | list):
        return "[]" if isinstance(value, list) else "{}"
    raise SailplanError(f"cannot write a {type(value).__name__} as YAML")


def _float(value: float) -> str:
    text = repr(value)
    if not text.strip("-").isalpha():
        # Without an exponent: parsers disagree about `1e-05`.
        return text if "e" not in text else _with_point(_without_exponent(text))
    raise SailplanError(f"cannot write {text} as YAML")


def _without_exponent(text: str) -> str:
    from decimal import Decimal

    return format(Decimal(text), "f")


def _with_point(text: str) -> str:
    return text if "." in text else f"{text}.0"


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise SailplanError(f"cannot write the key {key!r} as YAML: it is not a string")
    return key if _PLAIN_KEY.match(key) and not _RETYPED.match(key) else quote(key)


def _fits_block(text: str) -> bool:
    return bool(_BLOCK.match(text)) and not any(line != line.rstrip() for line in text.split("\n"))


def _chomping(text: str) -> str:
    if not text.endswith("\n"):
        return "-"
    return "+" if text.endswith("\n\n") else ""
