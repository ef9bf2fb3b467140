"""What the edge adds to a request: model, system prompt, temperature; and what it insists on. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .document import Document, parse
from .errors import BadRequest
from .settings import Settings

CHAT = "/chat/completions"
COMPLETIONS = "/completions"
EMBEDDINGS = "/embeddings"

_LONGEST_MODEL = 256


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as the backend gets it.

    Attributes:
        content: the body.
        model: the name that it asks for.
        stream: whether it asks for a stream.
    """

    content: bytes
    model: str
    stream: bool


def prepare(kind: str, body: bytes, settings: Settings) -> Prepared:
    """Judge a body and add what is missing.

    Args:
        kind: CHAT, COMPLETIONS or EMBEDDINGS.
        body: as the client sent it; the very bytes go on when nothing is missing.
        settings: what to add.

    Raises:
        BadRequest: the body cannot be what `kind` takes; `param` names the field.
    """
    document = parse(body)
    model = _model(document, settings.model)
    stream = _kind(document, "stream", bool, "true or false") or False
    if kind == CHAT:
        _system_prompt(document, settings.system_prompt)
    if kind != EMBEDDINGS:
        _temperature(document, settings.temperature)
    return Prepared(document.encoded() or body, model, stream)


def _model(document: Document, default: str | None) -> str:
    """The model's name. Some clients cannot leave it out, so an empty one means the default too."""
    given: str | None = _kind(document, "model", str, "a string")
    if given:
        if len(given) > _LONGEST_MODEL or not given.isprintable():
            raise BadRequest(f"model must be at most {_LONGEST_MODEL} printable characters", param="model")
        return given
    if default is None:
        raise BadRequest("model is missing, and no default is set here", param="model", code="missing_model")
    document.set("model", default)
    return default


def _system_prompt(document: Document, prompt: str | None) -> None:
    messages = _kind(document, "messages", list, "a list of messages")
    if messages is None:
        raise BadRequest("messages is missing", param="messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            raise BadRequest("a message must be an object", param=f"messages[{number}]")
        if not isinstance(message.get("role"), str):
            raise BadRequest("a message needs a role", param=f"messages[{number}].role")
    # "developer" is what newer clients call it.
    if prompt is not None and not any(message["role"] in ("system", "developer") for message in messages):
        document.prepend("messages", {"role": "system", "content": prompt})


def _temperature(document: Document, default: float | None) -> None:
    if _kind(document, "temperature", float, "a number") is None and default is not None:
        document.set("temperature", default)


def _kind(document: Document, key: str, kind: type, words: str) -> Any:
    value = document.value(key)
    if value is not None and not isinstance(value, kind):
        raise BadRequest(f"{key} must be {words}, not {_WORDS[type(value)]}", param=key)
    return value


_WORDS = {str: "a string", list: "a list", dict: "an object", bool: "true or false", float: "a number"}
