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
from copy import copy
from dataclasses import replace
from functools import cache
from inspect import isawaitable, signature
from typing import Any

import httpx
import openai
from haystack import component, logging
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
_LATE = "the generator did not reply in time"
_LONGEST_REPLY = 10_000  # characters; the prompt asks for five sentences
_LONGEST_RESPONSE = 1_000_000  # bytes of HTTP body
# Models that think aloud do so before the reply; the opening tag may be in the chat template.
_OPENED_THOUGHTS = r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|\Z)"
_THOUGHTS = re.compile(rf"{_OPENED_THOUGHTS}|\A(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL)
_STREAMED_THOUGHTS = re.compile(_OPENED_THOUGHTS, re.DOTALL)


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

    The response to an `OpenAIChatGenerator` is bounded as it arrives: a response of more than 1 MB,
        a compressed one and a redirect are failures, and the server is not asked again. Each reply
        is read and parsed in a daemon thread with a client of its own, which is closed when its
        time is over. Other generators must bound what they receive, and how long they take,
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
        self.time_limit = check_time_limit("TolerantChatGenerator", time_limit)

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
        with self._asked(messages, callback) as outcome:
            try:
                return outcome.result(self.time_limit)
            except TimeoutError:
                return _outcome(failure=_LATE)

    @component.output_types(replies=list[ChatMessage], failure=str)
    async def run_async(
        self, messages: list[ChatMessage], streaming_callback: StreamingCallbackT | None = None
    ) -> Outcome:
        """`run` without blocking the event loop; the callback is called in this loop."""
        loop = asyncio.get_running_loop()

        async def call(chunk: StreamingChunk) -> None:
            called = streaming_callback(chunk) if streaming_callback else None
            if isawaitable(called):
                await called

        def forward(chunk: StreamingChunk) -> None:
            asyncio.run_coroutine_threadsafe(call(chunk), loop).result()

        with self._asked(messages, forward if streaming_callback else None) as outcome:
            try:
                return await asyncio.wait_for(asyncio.wrap_future(outcome), self.time_limit)
            except TimeoutError:
                return _outcome(failure=_LATE)

    @contextmanager
    def _asked(
        self, messages: list[ChatMessage], callback: Callable[[StreamingChunk], Any] | None
    ) -> Iterator["Future[Outcome]"]:
        """The future outcome; on leaving, the connection is closed and no chunk is handed on."""
        generator: Any = self.chat_generator
        over = threading.Event()
        bounded = isinstance(generator, OpenAIChatGenerator)
        if bounded:
            generator = _bounded(generator)
        options: dict[str, Any] = {}
        if callback and generator and "streaming_callback" in signature(generator.run).parameters:
            options["streaming_callback"] = _without_thoughts(callback, over)

        def work() -> Outcome:
            if generator is None or not messages:
                return _outcome()
            try:
                return _checked(generator.run(messages=messages, **options))
            except BaseException as error:  # noqa: BLE001 - a traceback might quote the prompt
                return _failed(error)

        outcome: Future[Outcome] = Future()
        outcome.set_running_or_notify_cancel()  # so that whoever gives up does not cancel it
        run = copy_context().run  # its traces are this question's
        # The end of the process does not wait for a daemon thread, as it would for a pool's.
        threading.Thread(target=lambda: outcome.set_result(run(work)), daemon=True).start()
        try:
            yield outcome
        finally:
            over.set()
            if bounded:
                generator.close()


def check_time_limit(component: str, time_limit: float) -> float:
    """`time_limit` unchanged.

    Raises:
        ValueError: it is not a number above 0; names the component.
    """
    name = f"{component}.time_limit"
    check_number(name, time_limit, lambda limit: 0 < limit < math.inf, "seconds above 0")
    return time_limit


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


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates trusted by default, including the system's; reading them takes a while."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _bounded(generator: OpenAIChatGenerator) -> OpenAIChatGenerator:
    """A copy with a client of its own, which is closed when the time of the reply is over."""

    def check_response(response: httpx.Response) -> None:
        # httpx decompresses each piece in one go: 64 kB could become gigabytes before we count.
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _ResponseError("the generator's response is compressed, which was not asked for")
        response.stream = _BoundedStream(response.stream)

    bounded = copy(generator)
    bounded.client = None
    given = generator.http_client_kwargs or {"verify": _certificates()}
    bounded.http_client_kwargs = {
        **given,
        "headers": {**given.get("headers", {}), "Accept-Encoding": "identity"},
        "follow_redirects": False,  # the prompt is for the server that was named
        "event_hooks": {"response": [check_response]},
    }
    return bounded


class _ResponseError(openai.OpenAIError):
    """A response that is refused; after an OpenAIError the client does not retry."""


class _BoundedStream(httpx.SyncByteStream):
    """The body of a response, up to a limit."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._stream:
            size += len(piece)
            if size > _LONGEST_RESPONSE:
                raise _ResponseError("the generator's response is longer than 1 MB")
            yield piece

    def close(self) -> None:
        self._stream.close()


def _failed(error: BaseException) -> Outcome:
    # The error's message may contain the question, or a key.
    kind = type(error).__name__
    logger.warning("The chat generator failed with {kind}.", kind=kind)
    failure = f"the generator failed ({kind})"
    if isinstance(error, _ResponseError):
        failure = str(error)
    elif isinstance(error, (TimeoutError, openai.APITimeoutError)):
        failure = _LATE
    elif isinstance(error, openai.APIStatusError):
        failure = f"the generator refused or failed (HTTP status {error.status_code})"
    elif isinstance(error, openai.APIConnectionError):
        failure = "the generator cannot be reached"
    return _outcome(failure=failure)


def _checked(given: dict[str, Any]) -> Outcome:
    replies: list[ChatMessage] = given.get("replies") or []
    text = _THOUGHTS.sub("", replies[0].text or "").strip() if replies else ""
    if not text:
        return _outcome(failure="the generator's reply is empty")
    # If a generator gives a reason for ending, it must have ended by itself.
    if replies[0].meta.get("finish_reason", "stop") not in _WHOLE:
        return _outcome(failure="the generator's reply broke off")
    if len(text) > _LONGEST_REPLY:
        return _outcome(failure="the generator's reply is longer than 10,000 characters")
    return _outcome([ChatMessage.from_assistant(text, meta=replies[0].meta)])


def _outcome(replies: list[ChatMessage] | None = None, failure: str = "") -> Outcome:
    return {"replies": replies or [], "failure": failure}
