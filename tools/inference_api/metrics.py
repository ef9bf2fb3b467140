"""What Prometheus reads at /metrics. Every label's values are a short, fixed list: no client can add a series."""

from __future__ import annotations

import prometheus_client as prometheus

from .exchange import Exchange

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
CONTENT_TYPE = prometheus.CONTENT_TYPE_LATEST


class Metrics:
    """The edge's counters, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        self.requests = prometheus.Counter(
            "inference_api_requests",
            "Requests answered; 499 is a client that left.",
            ["path", "status"],
            registry=self.registry,
        )
        self.seconds = prometheus.Histogram(
            "inference_api_request_seconds", "From a request to the end of its answer.", ["path"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.first_byte = prometheus.Histogram(
            "inference_api_first_byte_seconds", "From a request to the first byte of its answer.", ["path"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.in_flight = prometheus.Gauge(
            "inference_api_in_flight_requests", "Requests at the backend now.", registry=self.registry
        )
        self.upstream_errors = prometheus.Counter(
            "inference_api_upstream_errors",
            "Requests that the backend failed, by how.",
            ["reason"],
            registry=self.registry,
        )
        self.refused = prometheus.Counter(
            "inference_api_overload_refusals", "Requests that found no room.", registry=self.registry
        )
        self.ready = prometheus.Gauge(
            "inference_api_backend_ready", "Whether the backend answered when last asked.", registry=self.registry
        )
        prometheus.ProcessCollector(registry=self.registry)
        prometheus.GCCollector(registry=self.registry)

    def answered(self, exchange: Exchange, status: int) -> None:
        """Count a request that has ended."""
        self.requests.labels(exchange.path, str(status)).inc()
        self.seconds.labels(exchange.path).observe(exchange.seconds())
        if exchange.first_byte is not None:
            self.first_byte.labels(exchange.path).observe(exchange.first_byte)

    def text(self) -> bytes:
        """Return all of it in Prometheus' text format."""
        return prometheus.generate_latest(self.registry)
