"""What clients get: the JSON of vLLM's answers, whole or in chunks."""

from __future__ import annotations

import base64
import random
import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import Refused
from .protocol import Ask, tokens
from .settings import Settings

DIMENSIONS = 64


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the answer to one request.

    Attributes:
        ask: the request.
        chat: whether it came to /v1/chat/completions.
        told: what the simulator adds under `sim`, so that a test can see what reached it.
        id, created: as in the API.
    """

    ask: Ask
    chat: bool
    told: Mapping[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: str, made: int, reason: str) -> dict[str, Any]:
        """The whole answer at once."""
        choices = [self._choice(place, text, reason) for place in range(self.ask.choices)]
        name = "chat.completion" if self.chat else "text_completion"
        return {**self._head(name), "choices": choices, "usage": self.usage(made), "sim": dict(self.told)}

    def first(self) -> list[dict[str, Any]]:
        """Chunks before the first token: a chat says who speaks, and the simulator what it got."""
        if not self.chat:
            return []
        delta = {"role": "assistant", "content": ""}
        return [{**self._chunk(self._choices(lambda: {"delta": dict(delta)}, None)), "sim": dict(self.told)}]

    def piece(self, text: str, reason: str | None) -> dict[str, Any]:
        """The chunk of one token."""
        return self._chunk(self._choices(lambda: {"delta": {"content": text}} if self.chat else {"text": text}, reason))

    def last(self, made: int) -> dict[str, Any]:
        """The chunk that says the usage."""
        return {**self._chunk([]), "usage": self.usage(made)}

    def usage(self, made: int) -> dict[str, Any]:
        """Tokens in and out."""
        prompt, answer = self.ask.prompt_tokens, made * self.ask.choices
        return {"prompt_tokens": prompt, "total_tokens": prompt + answer, "completion_tokens": answer}

    def _choice(self, place: int, text: str, reason: str) -> dict[str, Any]:
        said = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return {"index": place, **said, "logprobs": None, "finish_reason": reason, "stop_reason": None}

    def _choices(self, said: Any, reason: str | None) -> list[dict[str, Any]]:
        return [
            {"index": place, **said(), "logprobs": None, "finish_reason": reason} for place in range(self.ask.choices)
        ]

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self._head("chat.completion.chunk" if self.chat else "text_completion"), "choices": choices}

    def _head(self, name: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self.chat else "cmpl"
        return {"id": f"{prefix}-{self.id}", "object": name, "created": self.created, "model": self.ask.model}


def models(settings: Settings, since: int) -> dict[str, Any]:
    """The list of /v1/models: each served name, then each adapter with the base as its parent."""
    base = [
        _card(name, since, root=settings.model, parent=None, max_model_len=settings.max_model_len)
        for name in settings.names
    ]
    adapters = [
        _card(name, since, root=path, parent=settings.name, max_model_len=None)
        for name, path in settings.adapters.items()
    ]
    return {"object": "list", "data": base + adapters}


def _card(name: str, since: int, **more: Any) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": since, "owned_by": "vllm", **more, "permission": []}


def embeddings(model: str, texts: Sequence[str], read: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The answer of /v1/embeddings: the same text gives the same vector."""
    dimensions = read.get("dimensions") or DIMENSIONS
    if isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 1 <= dimensions <= 4096:
        raise Refused(f"dimensions must be between 1 and 4096, got {dimensions}.", parameter="dimensions")
    packed = read.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": place, "embedding": _vector(f"{seed} {model} {text}", dimensions, packed)}
        for place, text in enumerate(texts)
    ]
    count = sum(map(tokens, texts))
    usage = {"prompt_tokens": count, "total_tokens": count, "completion_tokens": 0}
    head = {"id": f"embd-{uuid.uuid4().hex}", "object": "list", "created": int(time.time()), "model": model}
    return {**head, "data": data, "usage": usage}


def _vector(text: str, dimensions: int, packed: bool) -> list[float] | str:
    chance = random.Random(text)
    raw = [chance.gauss(0, 1) for _ in range(dimensions)]
    length = sum(one * one for one in raw) ** 0.5
    vector = [one / length for one in raw]
    return base64.b64encode(struct.pack(f"<{dimensions}f", *vector)).decode() if packed else vector


def error(refused: Refused) -> dict[str, Any]:
    """An error in vLLM's shape."""
    body = {"message": refused.message, "type": refused.kind, "param": refused.parameter}
    return {"error": {**body, "code": int(refused.status)}}
