"""Bodies of requests: read up to a limit, and handed on."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from pipelines.serving.limits import BODY_LIMIT

_DISCARDED = 32 * 1024 * 1024


class BodyTooLongError(Exception):
    """A request's body is longer than `BODY_LIMIT`."""


async def read_body(receive: Receive) -> bytes:
    """The whole body.

    Bytes are counted as they come, so that a body in chunks, or one whose header lies about its
    length, is held to the same limit. What is over it is read and thrown away: a client that is
    still sending reads its answer only then, since a connection that is closed with bytes unread
    is reset under it. Nobody gets more than `_DISCARDED` bytes read in that way.

    Raises:
        BodyTooLongError: it is over `BODY_LIMIT`.
        ClientDisconnect: the client has gone before its end.
    """
    body = bytearray()
    size, more = 0, True
    while more and size <= BODY_LIMIT + _DISCARDED:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size <= BODY_LIMIT:
            body += part
        more = message.get("more_body", False)
    if size > BODY_LIMIT:
        raise BodyTooLongError
    return bytes(body)


def replaying(body: bytes, receive: Receive) -> Receive:
    """`receive` as the application sees it: the body in one piece, then whatever follows."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
