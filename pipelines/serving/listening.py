"""A port of this machine, taken before anything slow starts."""

from __future__ import annotations

import argparse
import errno
import ipaddress
import socket


def port_number(text: str) -> int:
    """A port, for argparse; 0 stands for any free one."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, a whole number from 0 to 65535")
    return int(text)


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


def refusal(host: str, port: int, error: OSError, usual_port: int) -> str:
    """Why `listen` failed and what to do, for the person at the terminal."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use. Stop what runs there, or choose another one: "
            f"--port {port + 1 if port < 65535 else usual_port}."
        )
    if error.errno == errno.EACCES:
        return f"port {port} is reserved by the system. Choose one above 1023: --port {usual_port}."
    return f"{host} is no address of this machine. Give another one with --host."


def address(listening: socket.socket) -> str:
    """Where a client on this machine finds the service."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service on that host; a name is looked up.

    A name that nobody knows counts as loopback: `listen` refuses it.
    """
    if not host:
        return False  # every interface
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return True
    return all(ipaddress.ip_address(each[4][0]).is_loopback for each in found)
