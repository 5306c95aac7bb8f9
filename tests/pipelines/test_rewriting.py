"""hybrid_rewritten: searches that a scripted generator writes, or fails to write."""

import asyncio
import json

import pytest

from pipelines.asking import ask, ask_async
from pipelines.checking import LoadingError
from pipelines.loading import generator_overrides, load_pipeline

QUESTION = "They threw me out, and the boss owes me money"
SEARCHES = ["rule on wages", "notice ✓ and wages"]


@pytest.fixture
def rewriting(law_store, server, monkeypatch):
    """The pipeline whose generator replies with this text, or fails in this way."""
    monkeypatch.delenv("LEXARBOR_GENERATOR_KEY", raising=False)

    def load(reply="", fault=""):
        server.reply, server.fault = reply, fault
        server.asked.clear()
        given = generator_overrides("hybrid_rewritten", server.url, "scripted")
        given["rewriter.chat_generator"]["init_parameters"]["max_retries"] = 0
        return load_pipeline("hybrid_rewritten", law_store, overrides=given)

    return load


def found_by(answer):
    return [(each["id"], each["ranks"], each["score"]) for each in answer["documents"]]


def test_what_was_searched_is_reported_and_found(rewriting, server):
    pipeline = rewriting(json.dumps({"searches": SEARCHES}))
    answer = ask(pipeline, QUESTION)
    assert answer["searches"] == ["rule on wages", "notice \ufffd and wages"]
    assert "not_rewritten" not in answer
    assert json.loads(json.dumps(answer)) == answer
    assert "Chapter 1. On wages" in answer["documents"][0]["headings"]
    assert all(each["ranks"]["rewritten"] for each in answer["documents"])
    again = asyncio.run(ask_async(pipeline, QUESTION))
    assert found_by(again) == found_by(answer)
    (_, sent), _ = (each["messages"] for each in server.asked)
    asked = json.loads(sent["content"])
    assert asked["question"] == QUESTION
    assert sorted(asked["laws"]) == ["Family Code", "Housing Code", "Work Code"]
    # What the question names is found whatever the generator writes.
    named = ask(pipeline, "art. 6 Housing Code, art. 99 Housing Code")
    assert named["missing"] == ["art. 99, Housing Code"]
    assert named["documents"][0]["id"] == "a6"


def test_a_generator_that_fails_leaves_the_question(rewriting, law_store):
    answer = ask(rewriting(fault="500"), QUESTION)
    assert "500" in answer["not_rewritten"]
    assert "searches" not in answer
    assert found_by(answer) == found_by(ask(load_pipeline("hybrid", law_store), QUESTION))


def test_without_a_generator_it_is_hybrid(law_store):
    answer = ask(load_pipeline("hybrid_rewritten", law_store), QUESTION)
    assert not {"searches", "not_rewritten"} & answer.keys()
    assert found_by(answer) == found_by(ask(load_pipeline("hybrid", law_store), QUESTION))


def test_the_command_names_the_searches(command, law_store, server):
    server.reply, server.fault = json.dumps({"searches": SEARCHES}), ""
    asked = ("ask", QUESTION, "--store", law_store, "--pipeline", "hybrid_rewritten")
    flags = ("--generator", server.url, "--generator-model", "scripted")
    code, out, err = command(*asked, *flags)
    assert (code, "rewritten 1" in out) == (0, True)
    assert "Also searched: “rule on wages”; “notice \ufffd and wages”." in err
    server.reply = "no"
    assert "The question alone was searched: the generator" in command(*asked, *flags)[2]
    assert "searched" not in command(*asked)[2]


def test_a_pipeline_that_asks_no_generator_is_refused_one(server):
    with pytest.raises(LoadingError, match="hybrid_rewritten"):
        generator_overrides("hybrid", server.url, "scripted")
