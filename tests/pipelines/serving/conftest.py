"""Services on a free port, over a small law or over a pipeline that waits for the test."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from haystack import Document, Pipeline, component

from pipelines.loading import load_pipeline
from pipelines.serving.app import build_app
from pipelines.serving.gate import Gate
from pipelines.serving.limits import Limits
from pipelines.serving.listening import address, listen
from pipelines.serving.served import ServedPipeline
from pipelines.serving.server import make_server


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], None]:
    """`until(holds)`: wait for what must become true, if need be on a machine that is busy."""

    def wait(holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)

    return wait


@component
class Held:
    """Finds one article once it is let go, or raises what it is told to raise."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.released = threading.Event()
        self.failure: Exception | None = None
        self.ended = 0

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        if self.failure is not None:
            raise self.failure
        return {"documents": [Document(id="a1", content="Rule 1", meta={"law": "Housing Code"})]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str) -> dict[str, list[Document]]:
        self.entered.release()
        try:
            while not self.released.is_set():
                await asyncio.sleep(0.005)
            return self.run(query)
        finally:
            self.ended += 1

    def wait_for(self, questions: int) -> None:
        """Until so many more questions have come to it."""
        for _ in range(questions):
            assert self.entered.acquire(timeout=20)


def held_pipeline(held: Held) -> Pipeline:
    pipeline = Pipeline(
        metadata={
            "name": "held",
            "inputs": {"query": ["held.query"]},
            "outputs": {"documents": ["held.documents"]},
        }
    )
    pipeline.add_component("held", held)
    return pipeline


class Service:
    """A running service; `client` sends to it."""

    def __init__(self, url: str, gate: Gate, served: dict[str, ServedPipeline]) -> None:
        self.url = url
        self.port = httpx.URL(url).port
        self.gate = gate
        self.served = served
        self.client = httpx.Client(base_url=url, timeout=30)

    def metric(self, line: str) -> float | None:
        """The value of a series, as "name{label="value"}"; None where there is none."""
        lines = self.client.get("/metrics").text.splitlines()
        found = [each for each in lines if each.startswith(f"{line} ")]
        return float(found[0].rsplit(" ", 1)[1]) if found else None


@contextmanager
def running(
    pipelines: dict[str, Pipeline],
    *,
    ready: bool = True,
    names: Collection[str] | None = None,
    **limits: Any,
) -> Iterator[Service]:
    bounds = Limits(**limits)
    gate = Gate(bounds.at_once, bounds.waiting)
    served = {
        name: ServedPipeline(pipeline, gate, bounds.seconds) for name, pipeline in pipelines.items()
    }
    if ready:
        for each in served.values():
            each.setup()
    server = make_server(build_app(served, gate, bounds, names), bounds)
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    service = Service(address(listening), gate, served)
    try:
        yield service
    finally:
        service.client.close()
        server.should_exit = True
        thread.join(timeout=20)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def serve_law() -> Callable[..., Any]:
    """`with serve_law(pipelines) as service`: a service of these pipelines, loaded."""
    return running


@pytest.fixture(scope="module")
def law_service(text_store: Path) -> Iterator[Service]:
    """The lexical pipeline over thirty articles of three laws."""
    with running({"lexical": load_pipeline("lexical", text_store)}) as service:
        yield service


@pytest.fixture
def held() -> Iterator[Held]:
    """What the service of `hold` waits for."""
    held = Held()
    yield held
    held.released.set()


@pytest.fixture
def hold(held: Held) -> Callable[..., Any]:
    """`with hold(**limits) as service`: a service whose one pipeline waits for `held`."""

    def start(**arguments: Any) -> Any:
        return running({"held": held_pipeline(held)}, **arguments)

    return start


class Asking:
    """Questions that are under way, each in its thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._threads: list[threading.Thread] = []
        self.answers: list[httpx.Response] = []

    def ask(self, number: int = 1) -> None:
        for _ in range(number):
            thread = threading.Thread(target=self._ask, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _ask(self) -> None:
        body = {"query": "Who decides?"}
        self.answers.append(httpx.post(f"{self._service.url}held/run", json=body, timeout=30))

    def statuses(self) -> list[int]:
        """Of all, once all are answered."""
        for thread in self._threads:
            thread.join(timeout=30)
            assert not thread.is_alive()
        return sorted(each.status_code for each in self.answers)


@pytest.fixture(scope="session")
def asking() -> type[Asking]:
    return Asking
