"""CitedAnswerBuilder: what was not verified is neither left out nor passed off as verified."""

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from haystack.tools import ComponentTool

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.statutes.question import QuestionError

QUESTION = "When do I get my deposit back?"


def article(number: int, text: str, **meta: Any) -> Document:
    return Document(
        id=f"h{number}", content=text, meta={"law": "Housing Code", "number": str(number), **meta}
    )


ARTICLES = [
    article(12, "The deposit is returned within thirty days.", valid_from="2019-01-01"),
    article(13, "A deposit bears interest.", valid_to="2020-12-31"),
    article(14, "Keys are given back.", relation="next", related_to="h12"),
]


def built(reply: str | None = None, **inputs: Any) -> dict[str, Any]:
    checked = []
    documents = inputs.pop("documents", ARTICLES)
    if reply is not None:
        given = inputs.get("shown") or documents
        checked = QuoteVerifier().run([ChatMessage.from_assistant(reply)], given)["checked"]
    (answer,) = CitedAnswerBuilder().run(
        QUESTION, documents, checked=checked, **{"as_of": "2024-01-01", **inputs}
    )["answers"]
    assert answer.query == QUESTION
    json.dumps(answer.meta)
    return {"text": answer.data, **answer.meta}


def codes(answer: dict[str, Any]) -> list[str]:
    return [notice["code"] for notice in answer["notices"]]


def test_a_reply_is_kept_word_for_word_with_its_checks() -> None:
    reply = 'It is "returned within thirty days" [1]. You get "double the sum" [2]. Go [9]!'
    answer = built(reply)
    assert (answer["text"], answer["state"]) == (reply, "generated")
    assert [each["text"] for each in answer["statements"]] == [
        'It is "returned within thirty days" [1].',
        'You get "double the sum" [2].',
        "Go [9]!",
    ]
    states = [
        [check["state"] for check in (*each["citations"], *each["quotations"])]
        for each in answer["statements"]
    ]
    assert states == [["verified", "verified"], ["verified", "not found"], ["not found"]]
    assert answer["statements"][0]["quotations"][0]["passage"] == [15, 42]
    assert codes(answer) == ["not_found", "not_in_force"]
    assert answer["notices"][0]["text"] == "2 citations or quotations were not found."


def test_sources_carry_their_state_on_the_day() -> None:
    states = {each["id"]: each["state"] for each in built("Yes [1].")["sources"]}
    assert states == {"h12": "in force", "h13": "repealed", "h14": "unknown"}
    earlier = built("Yes [1].", as_of="2018-01-01")["sources"]
    assert [each["state"] for each in earlier] == ["not yet in force", "in force", "unknown"]
    assert [each["label"] for each in earlier] == [1, 2, 3]
    assert earlier[2]["related_to"] == "h12"


def test_sources_say_in_which_language_they_are() -> None:
    article = Document(id="f1", content="Le loyer est dû.", meta={"language": "fr"})
    (source,) = built(documents=[article])["sources"]
    assert source["language"] == "fr"
    assert "language" not in built(documents=ARTICLES[:1])["sources"][0]


def test_without_a_reply_the_articles_found_answer_in_their_own_words() -> None:
    answer = built(documents=ARTICLES[:2], shown=ARTICLES)
    assert answer["state"] == "verbatim"
    assert answer["text"] == (
        "“The deposit is returned within thirty days.” [1]\n\n“A deposit bears interest.” [2]"
    )
    for statement in answer["statements"]:
        assert answer["text"][statement["start"] : statement["end"]] == statement["text"]
        for part in (*statement["citations"], *statement["quotations"]):
            assert part["text"] in answer["text"][part["start"] : part["end"]]
    assert [each["id"] for each in answer["sources"]] == ["h12", "h13"]
    (notice,) = answer["notices"]
    assert notice == {
        "code": "not_in_force",
        "text": "Housing Code, 13 is repealed.",
        "articles": [{"id": "h13", "law": "Housing Code", "number": "13", "state": "repealed"}],
    }


def test_a_verbatim_answer_stands_the_check() -> None:
    """What is said to be verified without having been looked up is, when it is looked up."""
    other = "A register is kept of it, and anybody may read it. "
    kept, due = "A deposit is kept apart.", "My deposit is back within a year."
    articles = [
        ARTICLES[0],
        article(16, f"{other * 20}{kept} {other * 9}{kept} {due} {other * 20}"),
        article(17, f"{kept}\n\n{due}\n\n" + f"{other}\n\n" * 20),
    ]
    answer = built(documents=articles)
    assert f"“[...] {kept} [...] {kept} {due} [...]” [2]" in answer["text"]
    assert f"“{kept}\n{due}” [3]" in answer["text"]
    checked = QuoteVerifier().run([ChatMessage.from_assistant(answer["text"])], articles)
    found = checked["checked"][0].quotations
    assert [each.state for each in found] == ["verified"] * 3
    assert [each.passage for each in found] == [
        tuple(each["passage"])
        for statement in answer["statements"]
        for each in statement["quotations"]
    ]


def test_the_paragraph_of_the_rankers_passage_is_what_is_quoted() -> None:
    text = f"{'First part. ' * 50}\nSecond part. It is whole."
    ranked = article(1, text, passage={"start": text.index("It"), "end": len(text)})
    assert built(documents=[ranked])["text"] == "“Second part. It is whole.” [1]"


def test_an_answer_is_not_built_in_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = CitedAnswerBuilder()
    threads: list[threading.Thread] = []
    monkeypatch.setattr(builder, "run", lambda *_: threads.append(threading.current_thread()))
    asyncio.run(builder.run_async(QUESTION, ARTICLES))
    assert threads and threading.main_thread() not in threads


def test_an_article_that_is_named_answers_alone_and_whole() -> None:
    long = article(15, "Keys. " * 200)
    answer = built(documents=[*ARTICLES, long], pinned=[long])
    assert [each["id"] for each in answer["sources"]] == ["h15"]
    assert answer["text"] == f"“{long.content}” [1]"


@pytest.mark.parametrize(
    "reply",
    [
        "NOTHING FOUND",
        "Nothing found.",
        '"NOTHING FOUND"\n',
        "**NOTHING FOUND**",
        "NOTHING FOUND [1]",
        "NOTHING FOUND\n\nThe articles speak of something else.",
    ],
)
def test_a_generator_that_finds_no_answer_leaves_the_articles(reply: str) -> None:
    answer = built(reply, documents=ARTICLES[:1])
    assert answer["state"] == "verbatim"
    assert codes(answer) == ["not_answered"]


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing found in these articles forbids it; you may keep a dog [1].",
        "Nothing foundational is at stake [1].",
        "It says: NOTHING FOUND [1].",
    ],
)
def test_an_answer_may_begin_with_such_words(reply: str) -> None:
    assert built(reply, documents=ARTICLES[:1])["state"] == "generated"


@pytest.mark.parametrize(
    ("as_of", "why"),
    [
        ("2024-01-01", "repealed; its last day in force was 20"),
        ("2020-01-01", "by the filters"),
        (None, "repealed; its last day in force was 20"),
        ("any", "by the filters"),
    ],
)
def test_what_was_left_out_says_why(as_of: str | None, why: str) -> None:
    (notice,) = built(documents=ARTICLES[:1], left_out=[ARTICLES[1]], as_of=as_of)["notices"]
    assert f"left out: Housing Code, 13 ({why}" in notice["text"]


def test_a_failed_generator_leaves_the_articles_and_says_so() -> None:
    answer = built(documents=ARTICLES[:1], failure="the generator cannot be reached")
    assert answer["state"] == "verbatim"
    assert answer["notices"] == [
        {
            "code": "generator_failed",
            "text": "No answer was written: the generator cannot be reached.",
            "failure": "the generator cannot be reached",
        }
    ]


def test_nothing_found_says_how_close_the_best_came() -> None:
    closest = {"id": "h12", "score": 0.2, "threshold": 0.4, "enough": False}
    answer = built(documents=[], closest=closest)
    assert answer == {
        "text": "",
        "state": "nothing found",
        "statements": [],
        "sources": [],
        "closest": closest,
        "notices": [],
    }
    assert built(documents=[])["closest"] is None


def test_what_the_generator_saw_in_part_is_said() -> None:
    cut = article(1, "x" * 500, shown_chars=300)
    assert codes(built("Yes [1].", documents=[cut])) == ["cut"]
    assert codes(built(documents=[cut])) == []


def test_a_reply_rests_on_what_was_shown() -> None:
    answer = built("It bears interest [2].", documents=ARTICLES[:1], shown=ARTICLES[::-1])
    assert [each["id"] for each in answer["sources"]] == ["h14", "h13", "h12"]
    assert codes(answer) == ["not_in_force"]


def test_a_word_between_quotation_marks_is_no_doubt_to_count() -> None:
    answer = built('The "deposit" is returned [1].')
    assert answer["statements"][0]["quotations"][0]["state"] == "not checked"
    assert codes(answer) == []


def test_sentences_without_a_citation_are_counted() -> None:
    answer = built("It is returned [1]. Trust me. And me.")
    uncited = {"code": "uncited", "text": "2 sentences name no article.", "count": 2}
    assert answer["notices"] == [uncited]


def test_wrong_input_is_refused() -> None:
    with pytest.raises(QuestionError):
        CitedAnswerBuilder().run("", ARTICLES)
    with pytest.raises(ValueError, match=r"CitedAnswerBuilder\.as_of"):
        CitedAnswerBuilder().run(QUESTION, ARTICLES, as_of="yesterday")
    with pytest.raises(ValueError, match="max_articles"):
        CitedAnswerBuilder(max_articles=0)


def test_a_language_that_is_no_text_breaks_nothing() -> None:
    odd = article(1, "The deposit is returned. " + "Keys are given back. " * 60, language=3)
    given = CitedAnswerBuilder().run("When is the deposit returned?", [odd])
    assert "The deposit is returned." in given["answers"][0].data


def test_the_builder_can_be_a_tool() -> None:
    tool = ComponentTool(CitedAnswerBuilder(), name="answer", description="Answers.")
    assert "checked" in tool.parameters["properties"]


@pytest.mark.parametrize("foreign", [{"start": None}, {"start": 0, "end": 3.0}, {"start": "0"}, 5])
def test_a_passage_of_another_writer_is_passed_over(foreign: Any) -> None:
    text = "The deposit is returned within thirty days."
    answer = built(documents=[article(12, text, passage=foreign, shown_chars=foreign)])
    assert text in answer["text"]


def test_no_vector_goes_into_an_answer() -> None:
    document = replace(ARTICLES[0], embedding=[1.0, 0.0])
    (answer,) = CitedAnswerBuilder().run(QUESTION, [document], shown=[document])["answers"]
    assert [each.embedding for each in answer.documents] == [None]
    assert document.embedding == [1.0, 0.0]
