"""A local chat server for all generators."""

from __future__ import annotations

import pytest
from chat_server import chat_server


@pytest.fixture
def server():
    """The server, which replies nothing until a test says what."""
    with chat_server() as script:
        yield script
