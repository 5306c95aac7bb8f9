"""TolerantChatGenerator: a chat generator that may be missing, slow or broken."""

import asyncio
import math
import re
import ssl
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextvars import copy_context
from copy import copy, deepcopy
from dataclasses import replace
from functools import cache
from inspect import isawaitable, signature
from typing import Any

import httpx
import openai
from haystack import component, default_from_dict, logging
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.generators.chat.types import ChatGenerator
from haystack.dataclasses import (
    ChatMessage,
    StreamingCallbackT,
    StreamingChunk,
    select_streaming_callback,
)

from components.parameters import AsyncWarmUp, StatuteComponent, check_number

logger = logging.getLogger(__name__)

Outcome = dict[str, Any]

_WHOLE = ("stop", "end_turn", "eos", "stop_sequence")
_LONGEST_REPLY = 10_000  # characters; the prompt asks for five sentences
_LONGEST_RESPONSE = 1_000_000  # bytes of HTTP body
# JSON objects and, in a stream, lines: OpenAI's client took 20 s to build 1 MB of "{}".
_MOST_PARTS = 25_000
_PART_SIGNS = b"{\n\r"
# It is part of the failure that the reader sees, and a server may write anything there.
_REASON = re.compile(r"[A-Za-z_-]{1,40}")
# Models that think aloud do so before the reply; the opening tag may be in the chat template.
_OPENED_THOUGHTS = r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|\Z)"
_THOUGHTS = re.compile(rf"{_OPENED_THOUGHTS}|\A(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL)
_STREAMED_THOUGHTS = re.compile(_OPENED_THOUGHTS, re.DOTALL)
_AT_ONCE = 8
# Threads that exceed their time cannot be stopped; this bounds their number.
_free_threads = threading.BoundedSemaphore(_AT_ONCE)


@component
class TolerantChatGenerator(AsyncWarmUp, StatuteComponent):
    """Asks a chat generator; if it fails, reports that, so the retrieved articles still answer.

    ```python
    from haystack.components.generators.chat import MockChatGenerator
    from haystack.dataclasses import ChatMessage

    from components.generators.tolerant import TolerantChatGenerator

    generator = TolerantChatGenerator(MockChatGenerator("Yes [1]."))
    generator.run([ChatMessage.from_user("May I?")])["replies"][0].text
    ```

    Nothing is generated without a generator, which is the default.

    The response to an `OpenAIChatGenerator` is bounded as it arrives: a response of more than 1 MB
        or 25,000 JSON objects, a compressed one and a redirect are failures, and the server is not
        asked again. It is read and parsed in an event loop of its own, in a daemon thread. Other
        generators must bound what they receive themselves.
    """

    def __init__(
        self, chat_generator: ChatGenerator | None = None, time_limit: float = 60.0
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            chat_generator: Haystack's `OpenAIChatGenerator`, with `api_base_url` for Ollama, vLLM,
                a llama.cpp server or another that speaks its protocol; or any other chat generator
                of Haystack's. None means that nothing is generated.
            time_limit: seconds that one reply may take in all, including retries.

        Raises:
            ValueError: the time limit is not a number above 0.
        """
        self.chat_generator = chat_generator
        self.time_limit = time_limit
        name = "TolerantChatGenerator.time_limit"
        check_number(name, time_limit, lambda limit: 0 < limit < math.inf, "seconds above 0")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TolerantChatGenerator":
        """The component that `to_dict` described."""
        # A generator's from_dict may change its argument.
        return default_from_dict(cls, deepcopy(data))

    def warm_up(self) -> None:
        """Warm up the generator; if that fails, the answer reports it."""
        generator: Any = self.chat_generator
        if hasattr(generator, "warm_up"):
            try:
                generator.warm_up()
            except Exception as error:  # noqa: BLE001 - retrieval needs no generator
                _failed(error)

    def close(self) -> None:
        """Close the generator's connections; the next question opens new ones."""
        generator: Any = self.chat_generator
        if hasattr(generator, "close"):
            generator.close()

    async def close_async(self) -> None:
        """`close` for the connections that belong to the running event loop."""
        generator: Any = self.chat_generator
        if hasattr(generator, "close_async"):
            await generator.close_async()
        else:
            self.close()

    @component.output_types(replies=list[ChatMessage], failure=str)
    def run(
        self, messages: list[ChatMessage], streaming_callback: StreamingCallbackT | None = None
    ) -> Outcome:
        """Ask the generator.

        Args:
            messages: the prompt; an empty list asks nothing.
            streaming_callback: takes the reply in chunks while it is written, without thoughts,
                until it is whole or its time is over. They are unchecked: a reply that breaks off
                is a failure, and whoever showed its chunks must take them back. It is called in
                another thread. A generator that does not stream calls it never.

        Returns:
            `replies`: at most one, complete and not empty, without thoughts (`<think>`).
            `failure`: what failed, "" if nothing did.

        Raises:
            ValueError: `streaming_callback` is a coroutine function; `run_async` takes those.
        """
        callback = select_streaming_callback(None, streaming_callback, requires_async=False)
        replying = self._replying(messages, _Relay(callback))
        try:
            return replying.result()
        finally:
            replying.cancel()

    @component.output_types(replies=list[ChatMessage], failure=str)
    async def run_async(
        self, messages: list[ChatMessage], streaming_callback: StreamingCallbackT | None = None
    ) -> Outcome:
        """`run` without blocking the event loop; the callback is called in this loop."""
        relay = _Relay(streaming_callback, asyncio.get_running_loop())
        return await asyncio.wrap_future(self._replying(messages, relay))

    def _replying(self, messages: list[ChatMessage], relay: "_Relay") -> "Future[Outcome]":
        """The future outcome; cancelling it closes the connection to OpenAI's kind of server."""
        return asyncio.run_coroutine_threadsafe(self._reply(messages, relay), _loop())

    async def _reply(self, messages: list[ChatMessage], relay: "_Relay") -> Outcome:
        generator = self.chat_generator
        if generator is None or not messages:
            return _outcome()
        limit = asyncio.timeout(self.time_limit)
        try:
            async with limit:
                if isinstance(generator, OpenAIChatGenerator):
                    return await _ask_bounded(generator, messages, relay)
                return await _ask_in_thread(generator, messages, relay)
        except Exception as error:  # noqa: BLE001 - no generator's fault may cost the articles
            if not limit.expired():
                return _failed(error)
            logger.warning("The chat generator was given up after {n:g} s.", n=self.time_limit)
            return _outcome(failure=f"the generator did not reply in time ({self.time_limit:g} s)")
        finally:
            relay.callback = None


async def _ask_bounded(
    generator: OpenAIChatGenerator, messages: list[ChatMessage], relay: "_Relay"
) -> Outcome:
    # The copy has its own client, because an application may use the generator in its own loop.
    bounded = copy(generator)
    bounded.async_client = None
    own = generator.http_client_kwargs or {"verify": _certificates()}
    bounded.http_client_kwargs = {**own, **_BOUNDS}
    forward = None if relay.callback is None else relay.forward
    try:
        return _checked(await bounded.run_async(messages, streaming_callback=forward))
    finally:
        await bounded.close_async()


async def _ask_in_thread(
    generator: ChatGenerator, messages: list[ChatMessage], relay: "_Relay"
) -> Outcome:
    if not _free_threads.acquire(blocking=False):
        return _outcome(failure="the generator still has earlier questions to answer")
    options: dict[str, Any] = {}
    if relay.callback is not None and "streaming_callback" in signature(generator.run).parameters:
        options["streaming_callback"] = relay.forward_from_thread
    outcome: Future[Outcome] = Future()

    def work() -> None:
        try:
            outcome.set_result(_checked(generator.run(messages=messages, **options)))
        except BaseException as error:  # noqa: BLE001 - a traceback might quote the prompt
            outcome.set_result(_failed(error))
        finally:
            _free_threads.release()

    # A generator cannot be interrupted; a daemon thread does not delay the end of the process.
    # Its traces belong to this question.
    thread = threading.Thread(
        target=copy_context().run, args=(work,), daemon=True, name="chat-generator"
    )
    outcome.set_running_or_notify_cancel()
    thread.start()
    return await asyncio.wrap_future(outcome)


class _Relay:
    """Hands the chunks of a reply on while it is written, without its thoughts.

    Args:
        callback: takes them; None for nobody. Set to None when the reply is whole or its time over.
        loop: of the caller, in which the callback is called; None calls it in the generators' loop.
    """

    def __init__(
        self, callback: StreamingCallbackT | None, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.callback = callback
        self._loop = loop or _loop()
        self._begin: str | None = ""  # None: the reply has begun

    def forward_from_thread(self, chunk: StreamingChunk) -> None:
        """Hand a chunk on from a worker thread."""
        asyncio.run_coroutine_threadsafe(self.forward(chunk), _loop()).result()

    async def forward(self, chunk: StreamingChunk) -> None:
        """Hand a chunk on from the generators' loop."""
        spoken = self._spoken(chunk)
        if spoken is not None:
            calling = asyncio.run_coroutine_threadsafe(self._call(spoken), self._loop)
            await asyncio.wrap_future(calling)

    async def _call(self, chunk: StreamingChunk) -> None:
        called = self.callback(chunk) if self.callback is not None else None
        if isawaitable(called):
            await called

    def _spoken(self, chunk: StreamingChunk) -> StreamingChunk | None:
        """The chunk without thoughts; None while there is nothing else in it."""
        if self._begin is None:
            return chunk if chunk.content else None
        self._begin = (self._begin + chunk.content).lstrip()
        may_be_thoughts = any(tag.startswith(self._begin) for tag in ("<think>", "<thinking>"))
        text = _STREAMED_THOUGHTS.sub("", self._begin)
        if may_be_thoughts or not text:
            return None
        self._begin = None
        return replace(chunk, content=text)


def _failed(error: BaseException) -> Outcome:
    # The error's message may contain the question, or a key.
    logger.warning("The chat generator failed with {kind}.", kind=type(error).__name__)
    return _outcome(failure=_described(error))


class _ResponseError(openai.OpenAIError):
    """A response that is refused; after an OpenAIError the client does not retry."""


class _BoundedStream(httpx.AsyncByteStream):
    """The body of a response, up to a limit."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = parts = 0
        async for piece in self._stream:
            size += len(piece)
            parts += sum(map(piece.count, _PART_SIGNS))
            if size > _LONGEST_RESPONSE or parts > _MOST_PARTS:
                raise _ResponseError(
                    f"the generator's response is longer than 1 MB or {_MOST_PARTS:,} parts"
                )
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _ask_uncompressed(request: httpx.Request) -> None:
    request.headers["Accept-Encoding"] = "identity"


async def _bound(response: httpx.Response) -> None:
    # httpx decompresses each piece in one go: 64 kB could become gigabytes before we count them.
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise _ResponseError("the generator's response is compressed, which was not asked for")
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _BoundedStream(response.stream)


_BOUNDS = {
    "follow_redirects": False,  # the prompt is for the server that was named
    "event_hooks": {"request": [_ask_uncompressed], "response": [_bound]},
}


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates trusted by default, including the system's; reading them takes a while."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop in which generators are asked, in a daemon thread.

    A task can be cancelled at any point, even while a server sends endless headers; a thread
    cannot. Parsing a response does not block the caller's loop either.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="chat-generators").start()
    return loop


def _described(error: BaseException) -> str:
    if isinstance(error, (TimeoutError, openai.APITimeoutError)):
        return "the generator did not reply in time"
    if isinstance(error, _ResponseError):
        return str(error)
    if isinstance(error, openai.APIStatusError):
        status = f"(HTTP status {error.status_code})"
        if error.status_code < 400:
            return f"the generator redirects to another address {status}, which is not followed"
        return f"the generator refused or failed {status}"
    if isinstance(error, openai.APIConnectionError):
        return "the generator cannot be reached"
    return f"the generator failed ({type(error).__name__})"


def _checked(given: dict[str, Any]) -> Outcome:
    replies: list[ChatMessage] = given.get("replies") or []
    text = _THOUGHTS.sub("", replies[0].text or "").strip() if replies else ""
    if not text:
        return _outcome(failure="the generator's reply is empty")
    meta = replies[0].meta
    # If a generator gives a reason for ending, it must have ended by itself.
    if meta.get("finish_reason", "stop") not in _WHOLE:
        reason = str(meta["finish_reason"] or "")
        reason = reason if _REASON.fullmatch(reason) else "no reason given"
        return _outcome(failure=f"the generator's reply broke off ({reason})")
    if len(text) > _LONGEST_REPLY:
        return _outcome(
            failure=f"the generator's reply is longer than {_LONGEST_REPLY:,} characters"
        )
    return _outcome([ChatMessage.from_assistant(text, meta=meta)])


def _outcome(replies: list[ChatMessage] | None = None, failure: str = "") -> Outcome:
    return {"replies": replies or [], "failure": failure}
