"""The port of the page, taken before anything slow starts."""

from __future__ import annotations

import socket


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections at once; they are answered once the server runs.

    Args:
        host: a name or address of this machine.
        port: 0 for any free one.

    Raises:
        OSError: the port is in use or not for us, or the host is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def address(listening: socket.socket) -> str:
    """Where a browser on this machine finds the page."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
