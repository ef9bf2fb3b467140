"""The queue, the slots and the pace of an engine: who runs, who waits, and when a token comes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field

from .metrics import Metrics
from .protocol import Ask
from .settings import Settings

ERROR, HANG, DISCONNECT = "error", "hang", "disconnect"
"""Faults: a 500 instead of an answer; no answer, and a slot held; the connection cut, in a stream after one token."""

_BLOCK = 16
"""Tokens of a block of the KV cache."""

_REMEMBERED = 4096
"""Blocks that the prefix cache holds."""

_WORD = re.compile(r"\s*\S+")
_FILLER = ("wind", "sail", "mast", "keel", "tide", "helm", "rope", "deck")


@dataclass(slots=True)
class Forced:
    """What a test forces on the engine; None leaves it as it is.

    Attributes:
        running, waiting, usage: values of the gauges.
        fault: ERROR, HANG or DISCONNECT for every request for text.
        latency: seconds before every first token.
    """

    running: float | None = None
    waiting: float | None = None
    usage: float | None = None
    fault: str | None = None
    latency: float | None = None


@dataclass(eq=False, slots=True)
class Turn:
    """One request in the engine.

    Attributes:
        ask: what it wants.
        start: when it came, seconds of the monotonic clock.
        admitted: set when it has a slot.
        made: tokens of its answer so far.
    """

    ask: Ask
    start: float = field(default_factory=time.monotonic)
    admitted: asyncio.Event = field(default_factory=asyncio.Event)
    begun: float = 0.0
    first: float = 0.0
    last: float = 0.0
    made: int = 0

    @property
    def held(self) -> int:
        """Tokens in the KV cache."""
        return self.ask.prompt_tokens + self.made


class Engine:
    """Holds at most `max_num_seqs` requests at once, the others first come, first served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forced = Forced()
        self._running: set[Turn] = set()
        self._waiting: OrderedDict[Turn, None] = OrderedDict()
        self._held = 0
        self._prefixes: OrderedDict[int, None] = OrderedDict()
        self.metrics = Metrics(settings, lambda: self.running, lambda: self.waiting, lambda: self.usage)

    @property
    def running(self) -> float:
        """Requests that run, or what is forced."""
        return float(len(self._running)) if self.forced.running is None else self.forced.running

    @property
    def waiting(self) -> float:
        """Requests that wait, or what is forced."""
        return float(len(self._waiting)) if self.forced.waiting is None else self.forced.waiting

    @property
    def usage(self) -> float:
        """Share of the KV cache in use, or what is forced."""
        if self.forced.usage is not None:
            return self.forced.usage
        return min(1.0, self._held / self.settings.kv_tokens)

    @property
    def busy(self) -> int:
        """Requests in the engine, whatever is forced."""
        return len(self._running) + len(self._waiting)

    async def pieces(self, ask: Ask) -> AsyncGenerator[tuple[str, str | None], None]:
        """Give the answer piece by piece, one token each, with the reason of the end beside the last.

        Closing this early, or cancelling whoever waits for it, frees the slot and counts as an abort.
        """
        with self._slot(ask) as turn:
            await turn.admitted.wait()
            turn.begun = time.monotonic()
            while self.forced.fault == HANG:
                await asyncio.sleep(0.05)
            latency = self.forced.latency
            await asyncio.sleep(self.settings.first_token_seconds if latency is None else latency)
            words, reason = self._answer(ask)
            for place, word in enumerate(words):
                if place:
                    await asyncio.sleep(self.settings.token_seconds)
                self._token(turn)
                last = place + 1 == len(words)
                if last:
                    self._done(turn, reason)
                yield word, reason if last else None

    @contextlib.contextmanager
    def _slot(self, ask: Ask) -> Iterator[Turn]:
        turn = Turn(ask)
        self._waiting[turn] = None
        self._admit()
        self._note_adapters()
        try:
            yield turn
        finally:
            if turn in self._running or turn in self._waiting:
                self._leave(turn)
                self.metrics.ended("abort")

    def _admit(self) -> None:
        """Let those in front of the queue run, as long as there is a slot and room for their prompt."""
        while self._waiting and len(self._running) < self.settings.max_num_seqs:
            turn = next(iter(self._waiting))
            if self._running and self._held + turn.held > self.settings.kv_tokens:
                return
            del self._waiting[turn]
            self._running.add(turn)
            self._held += turn.held
            self._cache(turn.ask)
            turn.admitted.set()

    def _leave(self, turn: Turn) -> None:
        if turn in self._running:
            self._running.discard(turn)
            self._held -= turn.held
        self._waiting.pop(turn, None)
        self._admit()
        self._note_adapters()

    def _note_adapters(self) -> None:
        names = [sorted({one.ask.adapter for one in some} - {""}) for some in (self._running, self._waiting)]
        self.metrics.adapters(*names)

    def _token(self, turn: Turn) -> None:
        now = time.monotonic()
        if turn.made:
            self.metrics.between.observe(now - turn.last)
        else:
            turn.first = now
            self.metrics.first_token.observe(now - turn.start)
        turn.last = now
        turn.made += 1
        self._held += 1
        self.metrics.generation_tokens.inc()

    def _done(self, turn: Turn, reason: str) -> None:
        """Free the slot of a request whose answer is complete, before anybody has read the end of it."""
        self._leave(turn)
        metrics, now = self.metrics, time.monotonic()
        metrics.ended(reason)
        metrics.end_to_end.observe(now - turn.start)
        metrics.queued.observe(turn.begun - turn.start)
        metrics.prefill.observe(turn.first - turn.begun)
        metrics.inference.observe(now - turn.begun)
        metrics.decode.observe(now - turn.first)
        metrics.per_token.observe((now - turn.first) / max(1, turn.made - 1))
        metrics.request_prompt_tokens.observe(turn.ask.prompt_tokens)
        metrics.request_generation_tokens.observe(turn.made)
        metrics.max_generation.observe(turn.made)
        metrics.n.observe(turn.ask.choices)
        if turn.ask.given_most:
            metrics.max_tokens.observe(turn.ask.given_most)

    def _cache(self, ask: Ask) -> None:
        """Look whole blocks of a prompt up in the prefix cache, and put them in. Adapters share none with the base."""
        found = 0
        if self.settings.prefix_caching:
            whole = ask.prompt_tokens // _BLOCK
            step = _BLOCK * 4
            keys = [hash((ask.adapter, ask.prompt[: step * (one + 1)])) for one in range(min(whole, 64))]
            found = _BLOCK * sum(1 for _ in itertools.takewhile(self._prefixes.__contains__, keys))
            self._prefixes.update(dict.fromkeys(keys))
            while len(self._prefixes) > _REMEMBERED:
                self._prefixes.popitem(last=False)
            self.metrics.prefix_queries.inc(ask.prompt_tokens)
            self.metrics.prefix_hits.inc(found)
        self.metrics.prompt(ask.prompt_tokens, found)
        self.metrics.computed.observe(ask.prompt_tokens - found)

    def _answer(self, ask: Ask) -> tuple[list[str], str]:
        """The tokens of an answer, and why it ends."""
        words = _WORD.findall(f"sim {ask.model} says: {ask.user or 'ahoy'}")
        if ask.exact:
            chance = random.Random(f"{self.settings.seed} {ask.prompt}")
            while len(words) < ask.most:
                words.append(f" {chance.choice(_FILLER)}")
            return words[: ask.most], "length"
        return words[: ask.most], "length" if len(words) > ask.most else "stop"
