"""Clients of one Service: so many streams in flight as asked for, and what became of each."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

import httpx

_SECONDS = 60.0
"""How long a stream may be silent: then it counts as lost."""

_TOKENS = range(6, 11)
"""Tokens of an answer, by chance: streams that began together do not end together."""

_PROMPT = "and so on " * 60
"""Makes a prompt of some 150 tokens, so that the KV cache is used as well."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request.

    Attributes:
        began, ended: seconds of the clients' clock.
        instance: the pod that answered, "" when none did.
        wrong: why it is lost, "" when it was answered as it should be.
    """

    began: float
    ended: float
    instance: str
    wrong: str = ""


class Clients:
    """Streams one chat request after the other, each over a connection of its own, as many at once as asked for.

    Args:
        url: of the Service, "http://ADDRESS:PORT".
        model: that is asked for.
        clock: seconds since the scenario began.

    Attributes:
        answers: of all requests that have ended.
        aims: (seconds, requests in flight from then on).
    """

    def __init__(self, url: str, model: str, clock: Callable[[], float]) -> None:
        self.answers: list[Answer] = []
        self.aims: list[tuple[float, int]] = [(clock(), 0)]
        self._url = url
        self._model = model
        self._clock = clock
        self._wanted = self._flying = 0
        self._closed = False
        self._chance = random.Random(0)
        self._began = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="clients", daemon=True)
        self._thread.start()
        self._began.wait()

    def aim(self, count: int) -> float:
        """Keep so many requests in flight from now on; those beyond end as they are. Return when that was."""
        now = self._clock()
        self.aims.append((now, count))
        self._wanted = count
        self._loop.call_soon_threadsafe(self._changed.set)
        return now

    @property
    def idle(self) -> bool:
        """Whether nothing is asked and every answer is there."""
        return not self._wanted and not self._flying

    def close(self) -> None:
        """End, and drop what is in flight."""
        self._closed = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._changed.set)
            self._thread.join()

    async def _run(self) -> None:
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        self._began.set()
        tasks: set[asyncio.Task[None]] = set()

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            self._changed.set()

        # Without proxies, and a connection a request: the balancer chooses by connection.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=_SECONDS, limits=limits, trust_env=False) as http:
            for number in itertools.count():
                while len(tasks) >= self._wanted and not self._closed:
                    self._flying = len(tasks)
                    self._changed.clear()
                    await self._changed.wait()
                if self._closed:
                    break
                task = asyncio.create_task(self._ask(http, number))
                tasks.add(task)
                task.add_done_callback(ended)
                self._flying = len(tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, http: httpx.AsyncClient, number: int) -> None:
        began = self._clock()
        text, tokens = f"question {number} {_PROMPT}", self._chance.choice(_TOKENS)
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": tokens,
            "ignore_eos": True,
            "stream": True,
        }
        reader = _Reader()
        try:
            async with http.stream("POST", f"{self._url}/v1/chat/completions", json=body) as response:
                wrong = "" if response.status_code == httpx.codes.OK else f"status {response.status_code}"
                async for line in response.aiter_lines():
                    reader.take(line)
        except (httpx.HTTPError, ValueError) as error:
            wrong = repr(error)
        expected = f"sim {self._model} says: question {number} "
        wrong = wrong or reader.wrong(expected, tokens)
        self.answers.append(Answer(began, self._clock(), reader.instance, wrong))


class _Reader:
    """Takes in the lines of a stream."""

    def __init__(self) -> None:
        self.instance = ""
        self._pieces: list[str] = []
        self._done = False

    def take(self, line: str) -> None:
        """Take in a line."""
        data = line.removeprefix("data: ")
        if data == line:
            return
        self._done = data == "[DONE]"
        if self._done:
            return
        event = json.loads(data)
        self.instance = self.instance or event.get("sim", {}).get("instance", "")
        self._pieces += [one["delta"]["content"] for one in event["choices"] if one["delta"].get("content")]

    def wrong(self, expected: str, tokens: int) -> str:
        """Say what is wrong with the whole answer; "" when it is whole and the client's own."""
        text = "".join(self._pieces)
        if not self._done or len(self._pieces) != tokens:
            return f"ended after {len(self._pieces)} of {tokens} tokens"
        return "" if f"{text} ".startswith(expected) else f"the answer to another request: {text[:60]!r}"
