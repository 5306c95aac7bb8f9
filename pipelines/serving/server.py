"""The server: runs the application until it is asked to end, and ends in good order."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Collection

import uvicorn
from fastapi import FastAPI

from pipelines.command_line import FAILED
from pipelines.serving.limits import Limits
from pipelines.serving.protocol import PromptProtocol
from pipelines.serving.served import ServedPipeline

# Seconds. Requests in flight end within the time that a question has; what is left then is stuck.
_MARGIN = 5.0

_MAX_HEADERS = 16 * 1024  # bytes

_logger = logging.getLogger(__name__)


def make_server(app: FastAPI, limits: Limits) -> uvicorn.Server:
    """A web server for the application; the application writes the log itself."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            # Of uvicorn's two parsers the one that limits the length of headers, and their time.
            http=PromptProtocol,
            h11_max_incomplete_event_size=_MAX_HEADERS,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # A reverse proxy's word on who asks is not needed: nobody is named in the log.
            proxy_headers=False,
            limit_concurrency=limits.connections,
            timeout_graceful_shutdown=round(limits.seconds + _MARGIN / 2),
        )
    )


def serve(
    server: uvicorn.Server,
    listening: socket.socket,
    served: Collection[ServedPipeline],
) -> None:
    """Answer until SIGINT or SIGTERM; then nothing new, and what is in flight ends.

    The last thing that a process does: a few seconds later it is gone, whatever still runs in it.

    Models and indexes are loaded behind the running server, which says meanwhile that it is not
    ready.

    Args:
        server: not started yet.
        listening: what it listens on.
        served: those that are loaded.

    Raises:
        ModelError, StoreError, VectorError: what kept a pipeline from being loaded.
    """
    failures: list[Exception] = []

    def load() -> None:
        try:
            for pipeline in served:
                pipeline.setup()
        except Exception as error:  # noqa: BLE001 - raised below, in the main thread
            failures.append(error)
            server.should_exit = True
        else:
            # What is loaded now stays to the end. Python's full collections, in which everything
            # stands still for some tenths of a second, need not look at it.
            gc.collect()
            gc.freeze()
            _logger.info("ready")

    def end(*_: object) -> None:
        # uvicorn calls this once it has drained its connections. A thread that hangs in a component
        # would keep the process for ever.
        server.should_exit = True
        watchdog = threading.Timer(_MARGIN, _give_up)
        watchdog.daemon = True
        watchdog.start()

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        threading.Thread(target=load, name="loading", daemon=True).start()
        server.run(sockets=[listening])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if failures:
        raise failures[0]


def _give_up() -> None:
    _logger.error("What was in flight does not end; ending without it.")
    logging.shutdown()
    os._exit(FAILED)
