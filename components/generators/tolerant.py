"""TolerantChatGenerator: a chat generator that may be missing, slow or broken."""

import asyncio
import math
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
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
# Threads of other generators cannot be stopped when their time is over; this bounds their number.
_free_threads = threading.BoundedSemaphore(8)


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
        asked again. Each reply is read and parsed in a daemon thread with a client of its own,
        which is closed when its time is over. Other generators must bound what they receive
        themselves.
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
        over = threading.Event()
        with self._asked(messages, callback, over) as outcome:
            try:
                return outcome.result(self.time_limit)
            except TimeoutError:
                return self._given_up()

    @component.output_types(replies=list[ChatMessage], failure=str)
    async def run_async(
        self, messages: list[ChatMessage], streaming_callback: StreamingCallbackT | None = None
    ) -> Outcome:
        """`run` without blocking the event loop; the callback is called in this loop."""
        loop, over = asyncio.get_running_loop(), threading.Event()

        async def call(chunk: StreamingChunk) -> None:
            called = streaming_callback(chunk) if streaming_callback and not over.is_set() else None
            if isawaitable(called):
                await called

        def forward(chunk: StreamingChunk) -> None:
            asyncio.run_coroutine_threadsafe(call(chunk), loop).result()

        with self._asked(messages, forward if streaming_callback else None, over) as outcome:
            try:
                async with asyncio.timeout(self.time_limit):
                    return await asyncio.wrap_future(outcome)
            except TimeoutError:
                return self._given_up()

    @contextmanager
    def _asked(
        self,
        messages: list[ChatMessage],
        callback: Callable[[StreamingChunk], Any] | None,
        over: threading.Event,
    ) -> Iterator["Future[Outcome]"]:
        """The future outcome; on leaving, `over` is set and the connection closed."""
        outcome: Future[Outcome] = Future()
        generator: Any = self.chat_generator
        bounded = isinstance(generator, OpenAIChatGenerator)
        refused: Outcome | None = None
        if generator is None or not messages:
            refused = _outcome()
        elif not bounded and not _free_threads.acquire(blocking=False):
            refused = _outcome(failure="the generator still has earlier questions to answer")
        if refused is not None:
            outcome.set_result(refused)
            yield outcome
            return
        generator = _bounded(generator, over) if bounded else generator
        options: dict[str, Any] = {}
        if callback is not None and "streaming_callback" in signature(generator.run).parameters:
            options["streaming_callback"] = _without_thoughts(callback, over)

        def work() -> None:
            try:
                outcome.set_result(_checked(generator.run(messages=messages, **options)))
            except BaseException as error:  # noqa: BLE001 - a traceback might quote the prompt
                outcome.set_result(_outcome() if over.is_set() else _failed(error))
            finally:
                if not bounded:
                    _free_threads.release()

        # A daemon thread does not delay the end of the process. Its traces are this question's.
        outcome.set_running_or_notify_cancel()
        run = copy_context().run
        threading.Thread(target=run, args=(work,), daemon=True, name="chat-generator").start()
        try:
            yield outcome
        finally:
            over.set()
            if bounded:
                generator.close()

    def _given_up(self) -> Outcome:
        logger.warning("The chat generator was given up after {n:g} s.", n=self.time_limit)
        return _outcome(failure=f"the generator did not reply in time ({self.time_limit:g} s)")


def _without_thoughts(
    callback: Callable[[StreamingChunk], Any], over: threading.Event
) -> Callable[[StreamingChunk], None]:
    begin: str | None = ""  # None: the reply has begun

    def forward(chunk: StreamingChunk) -> None:
        nonlocal begin
        if over.is_set():
            raise _ResponseError("nobody waits for the reply any more")
        if begin is not None:
            begin = (begin + chunk.content).lstrip()
            text = _STREAMED_THOUGHTS.sub("", begin)
            if not text or any(tag.startswith(begin) for tag in ("<think>", "<thinking>")):
                return
            begin, chunk = None, replace(chunk, content=text)
        if chunk.content:
            callback(chunk)

    return forward


def _bounded(generator: OpenAIChatGenerator, over: threading.Event) -> OpenAIChatGenerator:
    """A copy with a client of its own, which is closed when the time of the reply is over."""

    def check_request(request: httpx.Request) -> None:
        if over.is_set():
            raise _ResponseError("nobody waits for the reply any more")
        request.headers["Accept-Encoding"] = "identity"

    def check_response(response: httpx.Response) -> None:
        # httpx decompresses each piece in one go: 64 kB could become gigabytes before we count.
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _ResponseError("the generator's response is compressed, which was not asked for")
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _BoundedStream(response.stream, over)

    bounded = copy(generator)
    bounded.client = None
    bounded.http_client_kwargs = {
        **(generator.http_client_kwargs or {"verify": _certificates()}),
        "follow_redirects": False,  # the prompt is for the server that was named
        "event_hooks": {"request": [check_request], "response": [check_response]},
    }
    return bounded


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates trusted by default, including the system's; reading them takes a while."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


class _ResponseError(openai.OpenAIError):
    """A response that is refused; after an OpenAIError the client does not retry."""


class _BoundedStream(httpx.SyncByteStream):
    """The body of a response, up to a limit."""

    def __init__(self, stream: httpx.SyncByteStream, over: threading.Event) -> None:
        self._stream, self._over = stream, over

    def __iter__(self) -> Iterator[bytes]:
        size = parts = 0
        for piece in self._stream:
            size += len(piece)
            parts += sum(map(piece.count, _PART_SIGNS))
            if size > _LONGEST_RESPONSE or parts > _MOST_PARTS or self._over.is_set():
                raise _ResponseError(
                    f"the generator's response is longer than 1 MB or {_MOST_PARTS:,} parts"
                )
            yield piece

    def close(self) -> None:
        self._stream.close()


def _failed(error: BaseException) -> Outcome:
    # The error's message may contain the question, or a key.
    logger.warning("The chat generator failed with {kind}.", kind=type(error).__name__)
    if isinstance(error, (TimeoutError, openai.APITimeoutError)):
        return _outcome(failure="the generator did not reply in time")
    if isinstance(error, _ResponseError):
        return _outcome(failure=str(error))
    if isinstance(error, openai.APIStatusError):
        redirects = error.status_code < 400
        what = "redirects, which is not followed" if redirects else "refused or failed"
        return _outcome(failure=f"the generator {what} (HTTP status {error.status_code})")
    if isinstance(error, openai.APIConnectionError):
        return _outcome(failure="the generator cannot be reached")
    return _outcome(failure=f"the generator failed ({type(error).__name__})")


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
