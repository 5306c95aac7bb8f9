"""A local chat server for all generators."""

from __future__ import annotations

import pytest
from chat_server import chat_server


@pytest.fixture(scope="package")
def running():
    with chat_server() as script:
        yield script


@pytest.fixture
def server(running):
    """The server, which replies nothing until a test says what."""
    running.reply, running.fault = "", ""
    running.asked.clear()
    running.hung_up.clear()
    running.sent = 0
    return running
