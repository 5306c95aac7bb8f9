"""TolerantChatGenerator against a server that speaks OpenAI's protocol, and fails."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from chat_server import ENDLESS, Fault, Script, chat_server
from haystack import Pipeline, component
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from components.generators.tolerant import TolerantChatGenerator

QUESTION = [ChatMessage.from_user("my secret question")]
KEY = "sk-very-secret"


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with chat_server() as script:
        yield script


def generator(url: str, time_limit: float = 5.0, **parameters: Any) -> TolerantChatGenerator:
    parameters = {"max_retries": 0, **parameters}
    asked = OpenAIChatGenerator(
        api_key=Secret.from_token(KEY), model="scripted", api_base_url=url, **parameters
    )
    return TolerantChatGenerator(asked, time_limit)


def asked(generator: TolerantChatGenerator, asynchronous: bool) -> dict[str, Any]:
    if asynchronous:
        return asyncio.run(generator.run_async(QUESTION))
    return generator.run(QUESTION)


both_ways = pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "run_async"])


@both_ways
def test_a_reply_is_handed_out(server: Script, asynchronous: bool) -> None:
    server.reply, server.fault = "It is returned [1].", ""
    outcome = asked(generator(server.url), asynchronous)
    assert [reply.text for reply in outcome["replies"]] == ["It is returned [1]."]
    assert outcome["failure"] == ""


@both_ways
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("500", "HTTP status 500"),
        ("401", "HTTP status 401"),
        ("slow", "did not reply in time"),
        ("cut", "the generator"),
        ("no json", "the generator failed"),
        ("length", "broke off (length)"),
    ],
)
def test_a_failure_is_an_output(
    server: Script,
    fault: Fault,
    said: str,
    asynchronous: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.reply, server.fault = "It is returned [1].", fault
    time_limit = 0.3 if fault == "slow" else 5.0
    outcome = asked(generator(server.url, time_limit), asynchronous)
    assert outcome["replies"] == []
    assert said in outcome["failure"]
    assert "secret" not in outcome["failure"] + caplog.text


@both_ways
@pytest.mark.parametrize("fault", ["endless", "endless error", "endless stream"])
def test_a_response_without_end_is_read_up_to_a_limit_and_once(
    server: Script, fault: Fault, asynchronous: bool
) -> None:
    server.fault = fault
    server.asked.clear()
    streamed = {"streaming_callback": lambda _: None} if fault == "endless stream" else {}
    asking = generator(server.url, time_limit=60.0, max_retries=2, **streamed)
    outcome = asked(asking, asynchronous)
    assert outcome["replies"] == []
    assert "1 MB" in outcome["failure"]
    assert server.hung_up.wait(10)
    assert server.sent < ENDLESS / 2  # what the sockets hold is sent too
    assert len(server.asked) == 1


@both_ways
def test_a_response_of_many_small_parts_is_not_parsed(server: Script, asynchronous: bool) -> None:
    server.fault, server.body = "body", hostile_body(parts=30_000)
    outcome = asked(generator(server.url), asynchronous)
    assert outcome["replies"] == []
    assert "25,000 parts" in outcome["failure"]


@both_ways
def test_a_compressed_response_is_not_read(server: Script, asynchronous: bool) -> None:
    server.reply, server.fault = "It is returned [1].", "gzip bomb"
    server.asked.clear()
    outcome = asked(generator(server.url, max_retries=2), asynchronous)
    assert outcome["replies"] == []
    assert "compressed" in outcome["failure"]
    assert len(server.asked) == 1


@both_ways
@pytest.mark.parametrize("parameters", [{}, {"http_client_kwargs": {"follow_redirects": True}}])
def test_a_redirect_is_not_followed(
    server: Script, parameters: dict[str, Any], asynchronous: bool
) -> None:
    with chat_server() as other:
        other.reply = "It is returned [1]."
        server.fault, server.location = "redirect", f"{other.url}/chat/completions"
        outcome = asked(generator(server.url, **parameters), asynchronous)
        assert other.asked == []
    assert outcome["replies"] == []
    assert "HTTP status 307" in outcome["failure"]


@both_ways
@pytest.mark.parametrize("fault", ["slow", "drip", "endless headers"])
def test_a_connection_is_closed_when_the_time_is_over(
    server: Script, fault: Fault, asynchronous: bool
) -> None:
    server.fault = fault
    server.hung_up.clear()
    outcome = asked(generator(server.url, time_limit=0.3), asynchronous)
    assert outcome["replies"] == []
    assert "in time (0.3 s)" in outcome["failure"]
    assert fault == "slow" or server.hung_up.wait(10)


def test_a_question_that_is_given_up_closes_its_connection(server: Script) -> None:
    server.fault = "drip"
    server.asked.clear()
    server.hung_up.clear()

    async def give_up() -> None:
        asking = asyncio.create_task(generator(server.url, 60.0).run_async(QUESTION))
        while not server.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(give_up())
    assert server.hung_up.wait(10)


def hostile_body(parts: int) -> bytes:
    """A reply with as many objects as asked for, which take long to parse."""
    message = {"role": "assistant", "content": "Yes [1].", "annotations": [{}] * parts}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"id": "c1", "model": "scripted", "choices": [choice]}).encode()


def test_the_event_loop_goes_on_while_a_response_is_parsed(server: Script) -> None:
    server.fault, server.body = "body", hostile_body(parts=24_000)
    server.sent = 0
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.002)
            ticks += bool(server.sent)  # it is only parsed from here on

    async def ask() -> dict[str, Any]:
        ticking = asyncio.create_task(tick())
        outcome = await generator(server.url, 60.0).run_async(QUESTION)
        ticking.cancel()
        return outcome

    assert asyncio.run(ask())["failure"] == ""
    assert ticks > 8


def test_a_generator_that_was_saved_is_bounded_too(
    server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    server.reply, server.fault = "It is returned [1].", ""
    made = OpenAIChatGenerator(api_key=Secret.from_env_var("A_KEY"), api_base_url=server.url)
    asking = TolerantChatGenerator(made)
    before = asking.to_dict()
    assert asking.run(QUESTION)["failure"] == ""
    assert asking.to_dict() == before
    server.fault = "endless"
    assert "1 MB" in TolerantChatGenerator.from_dict(before).run(QUESTION)["failure"]


@both_ways
def test_an_empty_reply_is_a_failure(server: Script, asynchronous: bool) -> None:
    server.reply, server.fault = " \n", ""
    outcome = asked(generator(server.url), asynchronous)
    assert outcome == {"replies": [], "failure": "the generator's reply is empty"}


@both_ways
def test_a_stream_cut_in_the_middle_is_a_failure(server: Script, asynchronous: bool) -> None:
    server.reply = "It is returned [1]. It bears interest [2]."
    chunks: list[str] = []
    streaming = generator(server.url, streaming_callback=lambda chunk: chunks.append(chunk.content))
    server.fault = ""
    whole = asked(streaming, asynchronous)
    assert [reply.text for reply in whole["replies"]] == [server.reply]
    server.fault = "cut stream"
    chunks.clear()
    outcome = asked(streaming, asynchronous)
    assert "".join(chunks) == server.reply[: len(server.reply) // 2]
    assert outcome["replies"] == []
    assert outcome["failure"]


@both_ways
def test_a_server_that_is_down_is_a_failure(asynchronous: bool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = asked(generator(f"http://127.0.0.1:{port}/v1"), asynchronous)
    assert outcome == {"replies": [], "failure": "the generator cannot be reached"}


@both_ways
def test_a_missing_key_is_a_failure(
    server: Script, asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keyless = OpenAIChatGenerator(
        api_key=Secret.from_env_var("A_KEY_THAT_NOBODY_SET", strict=True), api_base_url=server.url
    )
    outcome = asked(TolerantChatGenerator(keyless), asynchronous)
    assert outcome["replies"] == []
    assert outcome["failure"].startswith("the generator failed")


@both_ways
def test_without_a_generator_nothing_is_said(asynchronous: bool) -> None:
    assert asked(TolerantChatGenerator(), asynchronous) == {"replies": [], "failure": ""}


@both_ways
def test_without_messages_nothing_is_asked(server: Script, asynchronous: bool) -> None:
    server.asked.clear()
    asking = generator(server.url)
    outcome = asyncio.run(asking.run_async([])) if asynchronous else asking.run([])
    assert outcome == {"replies": [], "failure": ""}
    assert server.asked == []


@component
class Plain:
    """A generator that cannot be awaited."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
        return {"replies": [ChatMessage.from_assistant("Plain [1].")]}


def test_a_generator_that_cannot_be_awaited_is_asked_in_a_thread() -> None:
    outcome = asyncio.run(TolerantChatGenerator(Plain()).run_async(QUESTION))
    assert [reply.text for reply in outcome["replies"]] == ["Plain [1]."]


@component
class Given:
    """Hands out what it is given, or raises it."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.warm = 0

    def warm_up(self) -> None:
        self.warm += 1
        if isinstance(self.given, BaseException):
            raise self.given

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given

    @component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: list[ChatMessage]) -> Any:
        return self.run(messages)


def said(text: str, **meta: Any) -> dict[str, Any]:
    return {"replies": [ChatMessage.from_assistant(text, meta=meta)]}


@both_ways
@pytest.mark.parametrize(
    ("given", "failure"),
    [
        (None, "the generator failed (AttributeError)"),
        ({"replies": ["text"]}, "the generator failed (AttributeError)"),
        ({}, "the generator's reply is empty"),
        (said("The landlord may [1", finish_reason="content_filter"), "broke off (content_filter)"),
        (said("Yes [1].", finish_reason="tool_calls"), "broke off (tool_calls)"),
        (said("Yes [1].", finish_reason=None), "broke off"),
        (said("Yes [1].", finish_reason="✓ verified " * 9), "broke off (no reason given)"),
        (said("x" * 10_001), "longer than 10,000 characters"),
        (said("<think>The tenant pays."), "is empty"),
        (MemoryError("secret"), "the generator failed (MemoryError)"),
    ],
)
def test_what_is_no_whole_reply_is_a_failure(given: Any, failure: str, asynchronous: bool) -> None:
    outcome = asked(TolerantChatGenerator(Given(given)), asynchronous)
    assert outcome["replies"] == []
    assert failure in outcome["failure"]


@both_ways
@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>He says [9].</think>",
        "He says [9].\n</think>",  # the chat template opened it
        "  <thinking>He says\n[9].</thinking>",
    ],
)
def test_thoughts_aloud_are_no_part_of_the_reply(thoughts: str, asynchronous: bool) -> None:
    given = said(f"{thoughts}\nIt is returned [1].", finish_reason="stop")
    outcome = asked(TolerantChatGenerator(Given(given)), asynchronous)
    assert [reply.text for reply in outcome["replies"]] == ["It is returned [1]."]


def test_a_generator_is_warmed_up_and_may_fail_at_it() -> None:
    for given in (said("Yes"), RuntimeError("no model")):
        inner = Given(given)
        TolerantChatGenerator(inner).warm_up()
        assert inner.warm == 1
    TolerantChatGenerator().warm_up()


def test_a_generator_is_warmed_up_in_an_event_loop_and_may_fail_at_it() -> None:
    @component
    class Awaited(Given):
        async def warm_up_async(self) -> None:
            self.loop = asyncio.get_running_loop()
            self.warm_up()

    async def warm(inner: Given) -> asyncio.AbstractEventLoop:
        await TolerantChatGenerator(inner).warm_up_async()
        return asyncio.get_running_loop()

    for kind in (Given, Awaited):
        for given in (said("Yes"), RuntimeError("no model")):
            inner = kind(given)
            loop = asyncio.run(warm(inner))
            assert inner.warm == 1
            assert getattr(inner, "loop", loop) is loop
    asyncio.run(TolerantChatGenerator().warm_up_async())


def test_a_closed_generator_answers_in_another_event_loop(server: Script) -> None:
    server.reply, server.fault = "It is returned [1].", ""
    pipeline = Pipeline()
    pipeline.add_component("it", generator(server.url))

    async def outcome() -> Any:
        found = await pipeline.run_async({"it": {"messages": QUESTION}})
        await pipeline.close_async()
        return found["it"]

    for _ in range(2):
        assert asyncio.run(outcome())["failure"] == ""


def test_closing_reaches_the_generator() -> None:
    @component
    class Closed(Given):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    inner = Closed(said("Yes"))
    TolerantChatGenerator(inner).close()
    asyncio.run(TolerantChatGenerator(inner).close_async())
    assert inner.closed == 2
    for without in (TolerantChatGenerator(), TolerantChatGenerator(Given({}))):
        without.close()
        asyncio.run(without.close_async())


def test_what_ends_a_thread_is_a_failure_too() -> None:
    outcome = TolerantChatGenerator(Given(SystemExit("secret"))).run(QUESTION)
    assert outcome == {"replies": [], "failure": "the generator failed (SystemExit)"}


def test_threads_that_hang_do_not_pile_up() -> None:
    over = threading.Event()

    @component
    class Hanging:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
            over.wait(30)
            return said("Late.")

    hanging = TolerantChatGenerator(Hanging(), time_limit=0.01)
    failures = [hanging.run(QUESTION)["failure"] for _ in range(12)]
    over.set()
    assert [each for each in failures if "still has earlier questions" in each] == failures[8:]
    assert all("in time" in each for each in failures[:8])


@pytest.mark.parametrize("time_limit", [0, -1, float("inf"), float("nan"), "3", None, True])
def test_a_time_limit_is_a_time(time_limit: Any) -> None:
    with pytest.raises(ValueError, match="time_limit must be seconds above 0"):
        TolerantChatGenerator(time_limit=time_limit)


class Told:
    """A chat generator that does as it is told."""

    def __init__(self, work: Callable[[], str]) -> None:
        self.work = work

    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        return {"replies": [ChatMessage.from_assistant(self.work())]}

    async def run_async(self, messages: list[ChatMessage]) -> dict[str, Any]:
        return self.run(messages)


@both_ways
def test_what_the_generator_traces_belongs_to_the_question(asynchronous: bool) -> None:
    span = ContextVar("span", default="none")
    span.set("of this question")
    outcome = asked(TolerantChatGenerator(Told(span.get)), asynchronous)
    assert outcome["replies"][0].text == "of this question"


@both_ways
def test_a_limit_that_is_not_ours_is_told_without_ours(asynchronous: bool) -> None:
    def work() -> str:
        raise TimeoutError

    outcome = asked(TolerantChatGenerator(Told(work)), asynchronous)
    assert outcome["failure"] == "the generator did not reply in time"
