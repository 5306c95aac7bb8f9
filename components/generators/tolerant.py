"""TolerantChatGenerator: a chat generator that may be missing, slow or broken."""

import asyncio
import math
import re
import ssl
import threading
from collections.abc import AsyncIterator, Callable
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
_THOUGHTS = re.compile(
    r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL
)
_THOUGHT_TAGS = ("<think>", "<thinking>")
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>\s*")
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
        generator = self.chat_generator
        callback = select_streaming_callback(None, streaming_callback, requires_async=False)
        if generator is None or not messages:
            return _outcome()
        relay = _Relay(callback)
        try:
            if not isinstance(generator, OpenAIChatGenerator):
                options = relay.options(generator.run, relay.forward_now)
                return self._in_time(lambda: generator.run(messages=messages, **options))
            asked = _asked(generator, messages, relay)
            try:
                return asked.result(self.time_limit)
            except Exception as error:  # noqa: BLE001 - no generator's fault may cost the articles
                return _failed(error) if asked.done() else self._late()
            finally:
                asked.cancel()
        finally:
            relay.close()

    @component.output_types(replies=list[ChatMessage], failure=str)
    async def run_async(
        self, messages: list[ChatMessage], streaming_callback: StreamingCallbackT | None = None
    ) -> Outcome:
        """`run` without blocking the event loop; the callback is called in this loop."""
        generator = self.chat_generator
        if generator is None or not messages:
            return _outcome()
        relay = _Relay(streaming_callback, asyncio.get_running_loop())
        if not hasattr(generator, "run_async"):
            callback = None if streaming_callback is None else relay.forward_to_loop
            return await asyncio.to_thread(self.run, messages, callback)
        limit = asyncio.timeout(self.time_limit)
        try:
            async with limit:
                if isinstance(generator, OpenAIChatGenerator):
                    return await asyncio.wrap_future(_asked(generator, messages, relay))
                options = relay.options(generator.run_async, relay.forward)
                return _checked(await generator.run_async(messages=messages, **options))
        except Exception as error:  # noqa: BLE001 - no generator's fault may cost the articles
            return self._late() if limit.expired() else _failed(error)
        finally:
            relay.close()

    def _in_time(self, ask: Callable[[], dict[str, Any]]) -> Outcome:
        """The outcome of asking, or the failure that it took too long."""
        if not _free_threads.acquire(blocking=False):
            return _outcome(failure="the generator still has earlier questions to answer")
        outcome: list[Outcome] = []

        def work() -> None:
            try:
                outcome.append(_checked(ask()))
            except BaseException as error:  # noqa: BLE001 - a traceback might quote the prompt
                outcome.append(_failed(error))
            finally:
                _free_threads.release()

        # A generator cannot be interrupted; a daemon thread does not delay the end of the process.
        # Its traces belong to this question.
        thread = threading.Thread(
            target=copy_context().run, args=(work,), daemon=True, name="chat-generator"
        )
        thread.start()
        thread.join(self.time_limit)
        return outcome[0] if outcome else self._late()

    def _late(self) -> Outcome:
        logger.warning("The chat generator was given up after {n:g} s.", n=self.time_limit)
        return _outcome(failure=f"the generator did not reply in time ({self.time_limit:g} s)")


class _Relay:
    """Hands the chunks of a reply on while it may still be written, without its thoughts.

    Args:
        callback: takes them; None for nobody.
        loop: of the caller, in which the callback is called; None calls it where a chunk arrives.
    """

    def __init__(
        self, callback: StreamingCallbackT | None, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._callback = callback
        self._loop = loop
        self._held = ""
        self._thinking: bool | None = None  # None: the reply's first words are not here yet

    def options(self, run: Callable[..., Any], forward: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that let a generator's `run` call this; none where it cannot."""
        if self._callback is None or "streaming_callback" not in signature(run).parameters:
            return {}
        return {"streaming_callback": forward}

    def close(self) -> None:
        """Hand nothing on from here: the reply is whole, or its time is over."""
        self._callback = None

    def forward_now(self, chunk: StreamingChunk) -> None:
        """Hand a chunk on in the thread in which it arrives."""
        spoken = self._spoken(chunk)
        if self._callback is not None and spoken is not None:
            self._callback(spoken)

    def forward_to_loop(self, chunk: StreamingChunk) -> None:
        """Hand a chunk on from a worker thread to the caller's loop."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.forward(chunk), self._loop).result()

    async def forward(self, chunk: StreamingChunk) -> None:
        """Hand a chunk on, in the caller's loop if it has one."""
        spoken = self._spoken(chunk)
        if self._callback is None or spoken is None:
            return
        if self._loop is None or self._loop is asyncio.get_running_loop():
            await self._call(spoken)
        else:
            calling = asyncio.run_coroutine_threadsafe(self._call(spoken), self._loop)
            await asyncio.wrap_future(calling)

    async def _call(self, chunk: StreamingChunk) -> None:
        if self._callback is not None:
            called = self._callback(chunk)
            if isawaitable(called):
                await called

    def _spoken(self, chunk: StreamingChunk) -> StreamingChunk | None:
        """The chunk without thoughts; None while there is nothing else in it."""
        if self._thinking is False or not chunk.content:
            return chunk if chunk.content else None
        self._held += chunk.content
        begun = self._held.lstrip()
        if self._thinking is None:
            if begun.startswith(_THOUGHT_TAGS):
                self._thinking = True
            elif any(tag.startswith(begun) for tag in _THOUGHT_TAGS):
                return None  # it may yet become one
            else:
                self._thinking = False
                return replace(chunk, content=begun)
        end = _THOUGHT_ENDS.search(self._held)
        if end is None:
            return None
        self._thinking = False
        rest = self._held[end.end() :]
        return replace(chunk, content=rest) if rest else None


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
            if size > _LONGEST_RESPONSE:
                raise _ResponseError("the generator's response is longer than 1 MB")
            if parts > _MOST_PARTS:
                raise _ResponseError(
                    f"the generator's response has more than {_MOST_PARTS:,} parts"
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


def _asked(
    generator: OpenAIChatGenerator, messages: list[ChatMessage], relay: _Relay
) -> "Future[Outcome]":
    """The future outcome; cancelling it closes the connection."""
    # The copy has its own client, because an application may use the generator in its own loop.
    bounded = copy(generator)
    bounded.async_client = None
    own = generator.http_client_kwargs or {"verify": _certificates()}
    bounded.http_client_kwargs = {**own, **_BOUNDS}

    async def ask() -> Outcome:
        try:
            options = relay.options(bounded.run_async, relay.forward)
            return _checked(await bounded.run_async(messages=messages, **options))
        finally:
            await bounded.close_async()

    return asyncio.run_coroutine_threadsafe(ask(), _loop())


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
