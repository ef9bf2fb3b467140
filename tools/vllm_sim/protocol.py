"""What clients ask: JSON bodies of the OpenAI API, checked as far as a client can notice."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from .errors import Refused, unknown_model
from .settings import Settings

MOST_CHOICES = 64
_CHARACTERS = 4
"""Characters of a token. Real tokenizers give 3 to 5 for plain text."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for text.

    Attributes:
        model: as asked for; the first served name where none was.
        adapter: its name when `model` is an adapter, else "".
        prompt: all of the text that goes in.
        system, user: the system prompt, and the last words of the user.
        prompt_tokens: tokens of `prompt`.
        most: tokens the answer may have.
        exact: answer with exactly `most` tokens (`ignore_eos`).
        stream, usage: server-sent events, and whether the last one says the usage.
        choices: parameter `n`.
        temperature: as given, None when not.
        given_most: `max_tokens` as given.
    """

    model: str
    adapter: str
    prompt: str
    system: str | None
    user: str
    prompt_tokens: int
    most: int
    exact: bool
    stream: bool
    usage: bool
    choices: int
    temperature: float | None
    given_most: int | None


def tokens(text: str) -> int:
    """Tokens of a text, at least one unless it is empty."""
    return math.ceil(len(text) / _CHARACTERS)


def body(data: bytes) -> dict[str, Any]:
    """A request's JSON object.

    Raises:
        Refused: it is none.
    """
    try:
        read = json.loads(data)
        # What no answer could say again: numbers beyond a float, and halves of characters.
        json.dumps(read, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise _bad("JSON decode error", None) from None
    if not isinstance(read, dict):
        raise _bad("the body is no JSON object", None)
    return read


def chat(read: Mapping[str, Any], settings: Settings) -> Ask:
    """A request to /v1/chat/completions.

    Raises:
        Refused: a field is missing or wrong, the model is not served, or the context is too long.
    """
    messages = read.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _bad("messages: a list with at least one message is required", "messages")
    said = [_message(one, place) for place, one in enumerate(messages)]
    system = next((text for role, text in said if role in ("system", "developer")), None)
    user = next((text for role, text in reversed(said) if role == "user"), "")
    prompt = "\n".join(f"{role}: {text}" for role, text in said)
    most = read.get("max_completion_tokens")
    return _ask(read, settings, prompt, system, user, "max_tokens" if most is None else "max_completion_tokens")


def completion(read: Mapping[str, Any], settings: Settings) -> Ask:
    """A request to /v1/completions.

    Raises:
        Refused: as for `chat`.
    """
    prompt = read.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, list) and prompt and all(isinstance(one, int) for one in prompt):
        prompt = "".join(f"{one:>{_CHARACTERS}}" for one in prompt)
    if not isinstance(prompt, str):
        raise _bad("prompt: a text, a list of one text, or a list of tokens is required", "prompt")
    return _ask(dict(read, max_tokens=read.get("max_tokens", 16)), settings, prompt, None, prompt, "max_tokens")


def inputs(read: Mapping[str, Any], settings: Settings) -> tuple[str, list[str]]:
    """A request to /v1/embeddings: its model and its texts.

    Raises:
        Refused: as for `chat`.
    """
    model, _ = _served(read, settings)
    given = read.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise _bad("input: a text or a list of texts is required", "input")
    for text in texts:
        _fits(tokens(text), 0, settings)
    return model, texts


def _ask(read: Mapping[str, Any], settings: Settings, prompt: str, system: str | None, user: str, field: str) -> Ask:
    model, adapter = _served(read, settings)
    count = max(1, tokens(prompt))
    given = _integer(read, field, least=1)
    _fits(count, given or 1, settings)
    temperature = read.get("temperature")
    if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, int | float)):
        raise _bad("temperature: a number is required", "temperature")
    if not (temperature is None or temperature >= 0):
        raise _bad(f"temperature must be non-negative, got {temperature}.", "temperature")
    options = read.get("stream_options")
    if options is not None and (not isinstance(options, dict) or not read.get("stream")):
        raise _bad("Stream options can only be defined when `stream=True`.", "stream_options")
    return Ask(
        model=model,
        adapter=adapter,
        prompt=prompt,
        system=system,
        user=user,
        prompt_tokens=count,
        most=given or settings.max_model_len - count,
        exact=bool(read.get("ignore_eos")) and given is not None,
        stream=bool(read.get("stream")),
        usage=bool((options or {}).get("include_usage")),
        choices=_integer(read, "n", least=1, most=MOST_CHOICES) or 1,
        temperature=temperature,
        given_most=given,
    )


def _served(read: Mapping[str, Any], settings: Settings) -> tuple[str, str]:
    """The model that is asked for, and the adapter that this means."""
    model = read.get("model")
    if model is not None and not isinstance(model, str):
        raise _bad("model: a text is required", "model")
    if not model:
        return settings.name, ""
    if model in settings.names:
        return model, ""
    if model in settings.adapters:
        return model, model
    raise unknown_model(model)


def _fits(prompt: int, answer: int, settings: Settings) -> None:
    if prompt + answer > settings.max_model_len:
        raise Refused(
            f"This model's maximum context length is {settings.max_model_len} tokens. However, you requested {answer} "
            f"output tokens and your prompt contains {prompt} input tokens, for a total of {prompt + answer} tokens.",
            parameter="input_tokens",
        )


def _message(one: Any, place: int) -> tuple[str, str]:
    """Role and text of a message; the text may come in parts."""
    field = f"messages[{place}]"
    if not isinstance(one, dict) or not isinstance(one.get("role"), str):
        raise _bad(f"{field}: an object with a role is required", field)
    content = one.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise _bad(f"{field}.content: a text or a list of parts is required", f"{field}.content")
    return one["role"], content or ""


def _integer(read: Mapping[str, Any], field: str, least: int, most: int | None = None) -> int | None:
    value = read.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _bad(f"{field}: a whole number is required", field)
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if value < least else f"at most {most}"
        raise Refused(f"{field} must be {limit}, got {value}.", parameter=field)
    return value


def _bad(message: str, field: str | None) -> Refused:
    return Refused(message, HTTPStatus.BAD_REQUEST, "Bad Request", field)
