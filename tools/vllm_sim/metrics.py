"""vLLM's metrics under vLLM's names, with its labels and its buckets.

Read off a running 0.25.0 and its source; tests/engine holds the real server against the names we query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .settings import Settings

FINISHED = ("stop", "length", "abort", "error", "repetition")
"""How a request can end."""

_LABELS = ("model_name", "engine")
_FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
    *(160.0, 640.0, 2560.0),
)
_BETWEEN_TOKENS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
_LATENCY = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0),
    *(1920.0, 7680.0),
)
_STEP = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """One engine's metrics. The gauges are read when somebody asks.

    Args:
        settings: of the engine.
        running, waiting, usage: what the gauges say now.
    """

    def __init__(
        self,
        settings: Settings,
        running: Callable[[], float],
        waiting: Callable[[], float],
        usage: Callable[[], float],
    ) -> None:
        self.registry = CollectorRegistry()
        self._values = {"model_name": settings.name, "engine": "0"}
        self._gauge("num_requests_running", "Requests in the batch that runs").set_function(running)
        self._gauge("num_requests_waiting", "Requests that wait for a place").set_function(waiting)
        by_reason = self._gauge("num_requests_waiting_by_reason", "Waiting requests by reason", "reason")
        by_reason.labels(reason="capacity", **self._values).set_function(waiting)
        by_reason.labels(reason="deferred", **self._values).set(0)
        self._gauge("kv_cache_usage_perc", "Share of the KV cache in use, 1 is all").set_function(usage)
        asleep = self._gauge("engine_sleep_state", "Whether the engine sleeps", "sleep_state")
        for state in ("awake", "weights_offloaded", "discard_all"):
            asleep.labels(sleep_state=state, **self._values).set(float(state == "awake"))
        self._counters()
        self._histograms(settings.max_model_len)
        self._max_lora = settings.max_loras
        self._lora = self._lora_gauge() if settings.max_loras else None
        info = {"engine": "0", "enable_prefix_caching": str(settings.prefix_caching), "block_size": "16"}
        blocks = {"num_gpu_blocks": str(settings.kv_tokens // 16), **info}
        described = "Settings of the KV cache"
        Gauge("vllm:cache_config_info", described, tuple(blocks), registry=self.registry).labels(**blocks).set(1)

    def _counters(self) -> None:
        self.prefix_queries = self._counter("prefix_cache_queries", "Prompt tokens looked up in the prefix cache")
        self.prefix_hits = self._counter("prefix_cache_hits", "Prompt tokens found in the prefix cache")
        self._counter("external_prefix_cache_queries", "Prompt tokens looked up in an external prefix cache")
        self._counter("external_prefix_cache_hits", "Prompt tokens found in an external prefix cache")
        self._counter("mm_cache_queries", "Items looked up in the multi-modal cache")
        self._counter("mm_cache_hits", "Items found in the multi-modal cache")
        self._counter("num_preemptions", "Requests that were put back")
        self.prompt_tokens = self._counter("prompt_tokens", "Tokens of prompts")
        by_source = self._counter("prompt_tokens_by_source", "Tokens of prompts by where they came from", "source")
        self._by_source = {
            source: by_source.labels(source=source, **self._values)
            for source in ("local_compute", "local_cache_hit", "external_kv_transfer")
        }
        self.prompt_tokens_cached = self._counter("prompt_tokens_cached", "Tokens of prompts that were cached")
        self.generation_tokens = self._counter("generation_tokens", "Tokens of answers")
        success = self._counter("request_success", "Requests that ended", "finished_reason")
        self._success = {one: success.labels(finished_reason=one, **self._values) for one in FINISHED}

    def _histograms(self, max_model_len: int) -> None:
        lengths = _one_two_five(max_model_len)
        self.request_prompt_tokens = self._histogram("request_prompt_tokens", lengths, "Tokens of a prompt")
        self.request_generation_tokens = self._histogram("request_generation_tokens", lengths, "Tokens of an answer")
        self._histogram("iteration_tokens_total", _STEP, "Tokens in one step")
        self.max_generation = self._histogram("request_max_num_generation_tokens", lengths, "Most tokens of an answer")
        self.n = self._histogram("request_params_n", (1, 2, 5, 10, 20), "Parameter n")
        self.max_tokens = self._histogram("request_params_max_tokens", lengths, "Parameter max_tokens")
        self.first_token = self._histogram("time_to_first_token_seconds", _FIRST_TOKEN, "Until the first token")
        self.between = self._histogram("inter_token_latency_seconds", _BETWEEN_TOKENS, "Between two tokens")
        self.per_token = self._histogram(
            "request_time_per_output_token_seconds", _BETWEEN_TOKENS, "Seconds a token of an answer"
        )
        self.end_to_end = self._histogram("e2e_request_latency_seconds", _LATENCY, "From start to end")
        self.queued = self._histogram("request_queue_time_seconds", _LATENCY, "Waiting")
        self.inference = self._histogram("request_inference_time_seconds", _LATENCY, "Running")
        self.prefill = self._histogram("request_prefill_time_seconds", _LATENCY, "Until the first token, running")
        self.decode = self._histogram("request_decode_time_seconds", _LATENCY, "From the first token on")
        self.computed = self._histogram("request_prefill_kv_computed_tokens", lengths, "Prompt tokens computed")

    def ended(self, reason: str) -> None:
        """Count a request that ended."""
        self._success[reason].inc()

    def prompt(self, tokens: int, cached: int) -> None:
        """Count a prompt."""
        self.prompt_tokens.inc(tokens)
        self.prompt_tokens_cached.inc(cached)
        self._by_source["local_compute"].inc(tokens - cached)
        self._by_source["local_cache_hit"].inc(cached)

    def adapters(self, running: Iterable[str], waiting: Iterable[str]) -> None:
        """Say which adapters are in use; as with vLLM, label sets of earlier moments stay, with their older times."""
        if self._lora is not None:
            labels = {"running_lora_adapters": ",".join(running), "waiting_lora_adapters": ",".join(waiting)}
            self._lora.labels(max_lora=str(self._max_lora), **labels).set_to_current_time()

    def text(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)

    def _lora_gauge(self) -> Gauge:
        labels = ("max_lora", "waiting_lora_adapters", "running_lora_adapters")
        return Gauge("vllm:lora_requests_info", "Adapters in use", labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *more: str) -> Any:
        made = Gauge(f"vllm:{name}", text, (*_LABELS, *more), registry=self.registry)
        return made if more else made.labels(**self._values)

    def _counter(self, name: str, text: str, *more: str) -> Any:
        made = Counter(f"vllm:{name}", text, (*_LABELS, *more), registry=self.registry)
        return made if more else made.labels(**self._values)

    def _histogram(self, name: str, buckets: Sequence[float], text: str) -> Any:
        made = Histogram(f"vllm:{name}", text, _LABELS, buckets=buckets, registry=self.registry)
        return made.labels(**self._values)


def _one_two_five(most: int) -> list[float]:
    """1, 2, 5, 10, 20, 50 ... up to `most`."""
    found: list[float] = []
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power > most:
                return found
            found.append(step * power)
        power *= 10
