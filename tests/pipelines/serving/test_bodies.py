"""Reading bodies, without a network."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from pipelines.serving.bodies import BodyTooLongError, read_body, replaying
from pipelines.serving.limits import BODY_LIMIT


def sent(*parts: bytes, ends: bool = True) -> Receive:
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": True} for part in parts
    ]
    messages[-1]["more_body"] = not ends
    messages.append({"type": "http.disconnect"})

    async def receive() -> Message:
        return messages.pop(0)

    return receive


def test_a_body_comes_in_whatever_pieces():
    half = b"x" * (BODY_LIMIT // 2)
    for parts in ((b"",), (b"ab", b"", b"c"), (half, half)):
        assert asyncio.run(read_body(sent(*parts))) == b"".join(parts)


@pytest.mark.parametrize("parts", [(b"x" * (BODY_LIMIT + 1),), (b"x" * BODY_LIMIT, b"", b"x")])
def test_a_byte_over_the_limit_is_too_long(parts: tuple[bytes, ...]):
    with pytest.raises(BodyTooLongError):
        asyncio.run(read_body(sent(*parts)))


def test_a_body_without_end_is_not_read_to_it():
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1_000_000
        return {"type": "http.request", "body": b"x" * 1_000_000, "more_body": True}

    with pytest.raises(BodyTooLongError):
        asyncio.run(read_body(receive))
    assert read < 40_000_000


def test_a_client_that_goes_is_noticed():
    with pytest.raises(ClientDisconnect):
        asyncio.run(read_body(sent(b"ab", ends=False)))


def test_the_application_sees_the_body_once_and_then_what_follows():
    async def run() -> list[Message]:
        receive = sent(b"later")
        replay = replaying(b"body", receive)
        return [await replay(), await replay()]

    first, second = asyncio.run(run())
    assert first == {"type": "http.request", "body": b"body", "more_body": False}
    assert second["body"] == b"later"
