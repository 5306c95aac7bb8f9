"""ServingMetrics: what Prometheus is told."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from pipelines.serving.exchange import Exchange
from pipelines.serving.gate import Gate

# Seconds. A question takes some 30 ms on an idle machine, and may wait for its turn.
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServingMetrics:
    """Counts requests; labels are pipelines, statuses and reasons, never anything of a question.

    Args:
        gate: its places are told as gauges.
    """

    def __init__(self, gate: Gate) -> None:
        # They are a second series beside each, that nobody reads.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "lexarbor_requests",
            "Requests to a pipeline, by HTTP status.",
            ("pipeline", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "lexarbor_request_seconds",
            "Time from a request to its answer, waiting included.",
            ("pipeline",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._rejected = Counter(
            "lexarbor_rejected",
            "Requests that got no answer, by reason.",
            ("reason",),
            registry=self._registry,
        )
        for name, help_, read in (
            ("in_flight", "Questions that are being answered.", lambda: gate.inside),
            ("waiting", "Questions that wait for their turn.", lambda: gate.waiting),
        ):
            gauge = Gauge(f"lexarbor_requests_{name}", help_, registry=self._registry)
            gauge.set_function(read)

    def count(self, exchange: Exchange, status: int, seconds: float) -> None:
        """Count one request that has ended."""
        if exchange.reason is not None:
            self._rejected.labels(exchange.reason).inc()
        if exchange.pipeline is not None:
            self._requests.labels(exchange.pipeline, str(status)).inc()
            self._seconds.labels(exchange.pipeline).observe(seconds)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
