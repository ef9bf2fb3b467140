"""Reads an argument list as the engine's parser does, by the engine's own list of flags.

The list is the one that `sailplan check` uses (catalog/engine-flags). Where flags are spelt in some other allowed way
(underscores, abbreviations, `--flag=value`, `--no-flag`, `--flag.key=value`), the result has the listed name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sailplan.engineflags import Engine, normal

from .errors import Unusable

_SIZE = re.compile(r"^(?P<number>\d+(\.\d+)?)(?P<unit>[kKmMgGtT]?)$")
_NUMBER = re.compile(r"^-\d+$|^-\d*\.\d+$")


def parse(arguments: Sequence[str], engine: Engine) -> tuple[str, dict[str, Any]]:
    """Read an argument list, with or without `serve` in front.

    Args:
        arguments: as in a container's `args`.
        engine: the flags of the engine's version.

    Returns:
        The model, "" when none is named, and the values by flag with its dashes: True or False for switches, a list
        for flags that take several, text, int or float for others. The last of two equal flags wins.

    Raises:
        Unusable: what the engine's parser would refuse.
    """
    rest = list(arguments[1:] if arguments[:1] == ["serve"] else arguments)
    models: list[str] = []
    values: dict[str, Any] = {}
    while rest:
        word = rest.pop(0)
        if not _is_flag(word):
            models.append(word)
            continue
        flag, given = _known(word, engine)
        name = str(flag["name"])
        switched_off = flag.get("negation") not in (None, name) and _is_negation(word, flag)
        values[name] = False if switched_off else _take(flag, given, rest)
    if len(models) > 1:
        raise Unusable(f"error: unrecognized arguments: {' '.join(models[1:])}")
    return (models[0] if models else str(values.get("--model", ""))), values


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NUMBER.match(word)


def _known(word: str, engine: Engine) -> tuple[Mapping[str, Any], str | None]:
    """The flag that a word stands for, and the value behind its equals sign."""
    name, equals, value = word.partition("=")
    if not name.startswith("--"):
        if name not in engine.flags:
            raise Unusable(f"error: unrecognized arguments: {word}")
        return engine.flags[name], value if equals else None
    found = engine.find(word)
    if len(found) != 1:
        message, _, fix = engine.wrong(word)
        raise Unusable(f"error: unrecognized arguments: {word} ({'; '.join(filter(None, [message, fix]))})")
    flag = engine.flags[found[0]]
    if "." in name and flag.get("type") != "json":
        raise Unusable(f"error: unrecognized arguments: {word} ({found[0]} takes no keys)")
    return flag, value if equals else None


def _is_negation(word: str, flag: Mapping[str, Any]) -> bool:
    return normal(word).startswith("--no-") and not str(flag["name"]).startswith("--no-")


def _take(flag: Mapping[str, Any], given: str | None, rest: list[str]) -> Any:
    """Take the values of a flag off the rest of the line."""
    name, takes = str(flag["name"]), flag["takes"]
    if takes == "none":
        if given is not None:
            raise Unusable(f"error: argument {name}: ignored explicit argument {given!r}")
        return True
    words = [given] if given is not None else list(_following(rest, 1 if takes != "values" else len(rest)))
    if not words and takes == "optional":
        return True
    if not words:
        raise Unusable(f"error: argument {name}: expected {'at least one' if takes == 'values' else 'one'} argument")
    read = [_convert(flag, word) for word in words]
    return read if takes == "values" else read[0]


def _following(rest: list[str], most: int) -> Iterable[str]:
    for _ in range(most):
        if not rest or _is_flag(rest[0]):
            return
        yield rest.pop(0)


def _convert(flag: Mapping[str, Any], word: str) -> Any:
    kind = str(flag.get("type", "str"))
    try:
        value = _KINDS[kind](word)
    except ValueError:
        raise Unusable(f"error: argument {flag['name']}: invalid {kind} value: {word!r}") from None
    choices = flag.get("choices")
    if choices and value not in choices:
        listed = ", ".join(map(str, choices))
        raise Unusable(f"error: argument {flag['name']}: invalid choice: {word!r} (choose from {listed})")
    return value


def size(text: str) -> int:
    """A number as people write it: 1k is 1000, 25.6k is 25600, 1K is 1024.

    Raises:
        ValueError: it is none, or has a decimal point with a binary unit or none.
    """
    found = _SIZE.match(text)
    if not found or ("." in found["number"] and not found["unit"].islower()):
        raise ValueError(text)
    unit = found["unit"]
    if not unit.islower():
        return int(found["number"]) * int(1024 ** " KMGT".index(unit or " "))
    return int(float(found["number"]) * 1000 ** " kmgt".index(unit))


def _size_or_auto(text: str) -> int | str:
    return text if text in ("auto", "-1") else size(text)


def _json(text: str) -> Any:
    # Values behind a dotted name are plain words; bad JSON passes the engine's parser too and fails at boot.
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


_KINDS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "json": _json,
    "size": size,
    "size or auto": _size_or_auto,
}
