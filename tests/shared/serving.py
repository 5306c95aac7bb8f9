"""A web server in a thread of the test's process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from waiting import until

from pipelines.serving.limits import address, listen


def free_port() -> int:
    """A port of the loopback that nobody listens at."""
    with listen("127.0.0.1", 0) as bound:
        return int(bound.getsockname()[1])


@contextmanager
def served(server: uvicorn.Server) -> Iterator[str]:
    """Run a server on a free port of the loopback; gives its address, which ends with a slash."""
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield address(listening)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
