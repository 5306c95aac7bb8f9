"""TolerantChatGenerator against a server that speaks OpenAI's protocol, and fails."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextvars import ContextVar

import pytest
from chat_server import ENDLESS, chat_server
from haystack import Pipeline, component
from haystack.components.generators.chat import MockChatGenerator, OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from components.generators.tolerant import TolerantChatGenerator

QUESTION = [ChatMessage.from_user("my secret question")]
KEY = "sk-very-secret"
REPLY = "It is returned [1]."


@pytest.fixture(autouse=True)
def answering(server):
    server.reply = REPLY


def generator(url, time_limit=5.0, **parameters):
    parameters = {"max_retries": 0, **parameters}
    asked = OpenAIChatGenerator(
        api_key=Secret.from_token(KEY), model="scripted", api_base_url=url, **parameters
    )
    return TolerantChatGenerator(asked, time_limit)


@pytest.fixture(params=[False, True], ids=["run", "run_async"])
def ask(request):
    """`ask(generator)`: run, or await, a generator; synchronous generators run in a thread."""

    def asked(generator, messages=QUESTION):
        if request.param:
            return asyncio.run(generator.run_async(messages))
        return generator.run(messages)

    return asked


def run(generator):
    return generator.run(QUESTION)


def texts(outcome):
    return [reply.text for reply in outcome["replies"]]


def hostile_body(parts):
    """A reply with as many objects as requested, which take long to parse."""
    message = {"role": "assistant", "content": "Yes [1].", "annotations": [{}] * parts}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"id": "c1", "model": "scripted", "choices": [choice]}).encode()


def test_a_reply_is_returned(server, ask):
    outcome = ask(generator(server.url))
    assert (texts(outcome), outcome["failure"]) == ([REPLY], "")
    assert ask(TolerantChatGenerator()) == {"replies": [], "failure": ""}
    server.asked.clear()
    assert ask(generator(server.url), []) == {"replies": [], "failure": ""}
    assert server.asked == []


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("500", "500"),
        ("401", "401"),
        ("slow", "in time"),
        ("drip", "in time"),
        ("endless headers", "in time"),
        ("cut", "the generator"),
        ("no json", "failed"),
        ("length", "broke off"),
    ],
)
def test_a_failure_is_an_output(server, ask, fault, failure, caplog):
    server.fault = fault
    timed = fault in ("slow", "drip", "endless headers")
    outcome = ask(generator(server.url, 0.3 if timed else 5.0))
    assert outcome["replies"] == []
    assert failure in outcome["failure"]
    assert "secret" not in outcome["failure"] + caplog.text
    if fault in ("drip", "endless headers"):
        assert server.hung_up.wait(10), "the connection is closed"


@pytest.mark.parametrize("fault", ["endless", "endless error", "endless stream"])
def test_an_endless_response_is_read_up_to_a_limit_and_once(server, fault):
    server.fault = fault
    streamed = {"streaming_callback": lambda _: None} if fault == "endless stream" else {}
    outcome = run(generator(server.url, time_limit=60.0, max_retries=2, **streamed))
    assert outcome["replies"] == []
    assert "1 MB" in outcome["failure"]
    assert server.hung_up.wait(10)
    assert server.sent < ENDLESS / 2  # what the sockets hold is sent too
    assert len(server.asked) == 1


def test_compression_and_redirects_are_refused(server):
    server.fault = "gzip bomb"
    assert "compressed" in run(generator(server.url, max_retries=2))["failure"]
    assert len(server.asked) == 1
    with chat_server() as other:
        server.fault, server.location = "redirect", f"{other.url}/chat/completions"
        for parameters in ({}, {"http_client_kwargs": {"follow_redirects": True}}):
            assert "307" in run(generator(server.url, **parameters))["failure"]
        assert other.asked == []


def test_a_stream_cut_in_the_middle_is_a_failure(server):
    chunks = []
    streaming = generator(server.url, streaming_callback=lambda chunk: chunks.append(chunk.content))
    assert texts(run(streaming)) == [REPLY]
    server.fault = "cut stream"
    chunks.clear()
    outcome = run(streaming)
    assert "".join(chunks) == REPLY[: len(REPLY) // 2]
    assert outcome["replies"] == [] and outcome["failure"]


def test_servers_that_are_down_and_missing_keys_are_failures(server, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = run(generator(f"http://127.0.0.1:{port}/v1"))
    assert outcome == {"replies": [], "failure": "the generator cannot be reached"}
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    key = Secret.from_env_var("A_KEY_THAT_NOBODY_SET", strict=True)
    keyless = OpenAIChatGenerator(api_key=key, api_base_url=server.url)
    outcome = run(TolerantChatGenerator(keyless))
    assert outcome["replies"] == [] and outcome["failure"]


def test_cancelling_a_question_closes_its_connection(server):
    server.fault = "drip"

    async def give_up():
        asking = asyncio.create_task(generator(server.url, 60.0).run_async(QUESTION))
        while not server.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(give_up())
    assert server.hung_up.wait(10)


def test_the_event_loop_continues_while_a_response_is_parsed(server):
    server.fault, server.body = "body", hostile_body(parts=24_000)
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.002)
            ticks += bool(server.sent)  # it is only parsed from here on

    async def ask():
        ticking = asyncio.create_task(tick())
        outcome = await generator(server.url, 60.0).run_async(QUESTION)
        ticking.cancel()
        return outcome

    assert asyncio.run(ask())["failure"] == ""
    assert ticks > 8


def test_a_closed_generator_answers_in_another_event_loop(server):
    pipeline = Pipeline()
    pipeline.add_component("it", generator(server.url))

    async def outcome():
        found = await pipeline.run_async({"it": {"messages": QUESTION}})
        await pipeline.close_async()
        return found["it"]

    for _ in range(2):
        assert asyncio.run(outcome())["failure"] == ""


@component
class Given:
    """Returns or raises what it is given, or calls it."""

    def __init__(self, given):
        self.given = given
        self.warm = self.closed = 0

    def warm_up(self):
        self.warm += 1
        if isinstance(self.given, BaseException):
            raise self.given

    def close(self):
        self.closed += 1

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given() if callable(self.given) else self.given


def reply(text, **meta):
    return {"replies": [ChatMessage.from_assistant(text, meta=meta)]}


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        (None, "AttributeError"),
        ({}, "empty"),
        (reply(" \n"), "empty"),
        (reply("<think>The tenant pays."), "empty"),
        (reply("The landlord may [1", finish_reason="content_filter"), "broke off"),
        (reply("Yes [1].", finish_reason=None), "broke off"),
        (reply("Yes [1].", finish_reason="✓ verified"), "broke off"),
        (reply("x" * 10_001), "10,000"),
        (MemoryError("secret"), "MemoryError"),
        (SystemExit("secret"), "SystemExit"),
        (TimeoutError(), "did not reply in time"),
    ],
)
def test_an_incomplete_reply_is_a_failure(given, failure):
    outcome = run(TolerantChatGenerator(Given(given)))
    assert outcome["replies"] == []
    assert failure in outcome["failure"]
    assert "secret" not in outcome["failure"]


@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>He says [9].</think>",
        "He says [9].\n</think>",  # the chat template opened it
        "  <thinking>He says\n[9].</thinking>",
    ],
)
def test_thoughts_are_removed_from_the_reply(thoughts):
    given = reply(f"{thoughts}\n{REPLY}", finish_reason="stop")
    assert texts(run(TolerantChatGenerator(Given(given)))) == [REPLY]


def test_the_context_of_the_question_is_kept(ask):
    span = ContextVar("span", default="none")
    span.set("of this question")
    outcome = ask(TolerantChatGenerator(Given(lambda: reply(span.get()))))
    assert texts(outcome) == ["of this question"]


def test_warming_up_and_closing_reach_the_generator_and_may_fail():
    for given in (reply("Yes"), RuntimeError("no model")):
        inner = Given(given)
        outer = TolerantChatGenerator(inner)
        outer.warm_up()
        outer.close()
        assert (inner.warm, inner.closed) == (1, 1)


@pytest.mark.filterwarnings("error")  # of an exception in a thread
def test_a_generator_that_hangs_does_not_hold_the_end_of_the_process(ask):
    over, before = threading.Event(), set(threading.enumerate())
    outcome = ask(TolerantChatGenerator(Given(lambda: over.wait(60)), time_limit=0.01))
    hanging = set(threading.enumerate()) - before
    over.set()
    for each in hanging:
        each.join()
    assert "in time" in outcome["failure"]
    assert hanging
    assert all(each.daemon for each in hanging)


@pytest.mark.parametrize("time_limit", [0, -1, float("inf"), float("nan"), "3", None, True])
def test_the_time_limit_is_checked(time_limit):
    with pytest.raises(ValueError, match="time_limit"):
        TolerantChatGenerator(time_limit=time_limit)


THINKING = "<think>Is it in section 4?</think>Yes, within thirty days [1]."


def spoken(run, generator):
    chunks = []
    outcome = run(generator, lambda chunk: chunks.append(chunk.content))
    assert "".join(chunks) == outcome["replies"][0].text
    return chunks


def sync_run(asked, callback):
    return asked.run(QUESTION, streaming_callback=callback)


def async_run(asked, callback):
    async def forward(chunk):
        callback(chunk)

    return asyncio.run(asked.run_async(QUESTION, streaming_callback=forward))


@pytest.mark.parametrize("run", [sync_run, async_run])
def test_a_reply_is_handed_on_while_it_is_written_without_thoughts(run, server):
    mock = TolerantChatGenerator(MockChatGenerator(THINKING))
    assert len(spoken(run, mock)) > 1
    server.reply = THINKING
    assert spoken(run, generator(server.url))
