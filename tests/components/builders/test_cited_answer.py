"""CitedAnswerBuilder: unverified statements are neither dropped nor presented as verified."""

import json
from dataclasses import replace

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from haystack.tools import ComponentTool
from reply_cases import cases

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.rankers.passages import StatutePassageRanker
from components.statutes.question import QuestionError

QUESTION = "When do I get my deposit back?"


def article(number, text, **meta):
    meta = {"law": "Housing Code", "number": str(number), **meta}
    return Document(id=f"h{number}", content=text, meta=meta)


ARTICLES = [
    article(12, "The deposit is returned within thirty days.", valid_from="2019-01-01"),
    article(13, "A deposit bears interest.", valid_to="2020-12-31"),
    article(14, "Keys are given back.", relation="next", related_to="h12"),
]


def built(reply=None, documents=ARTICLES, **inputs):
    checked = []
    if reply is not None:
        given = inputs.get("shown") or documents
        checked = QuoteVerifier().run([ChatMessage.from_assistant(reply)], given)["checked"]
    inputs = {"as_of": "2024-01-01", **inputs}
    outcome = CitedAnswerBuilder().run(QUESTION, documents, checked=checked, **inputs)
    (answer,) = outcome["answers"]
    assert answer.query == QUESTION
    json.dumps(answer.meta)
    return {"text": answer.data, **answer.meta}


def codes(answer):
    return [notice["code"] for notice in answer["notices"]]


def states(answer):
    parts = [[*each["citations"], *each["quotations"]] for each in answer["statements"]]
    return [[part["state"] for part in each] for each in parts]


def test_a_reply_is_kept_word_for_word_with_its_checks():
    parts = ['It is "returned within thirty days" [1].', 'You get "double the sum" [2].', "Go [9]!"]
    answer = built(" ".join(parts))
    assert (answer["text"], answer["state"]) == (" ".join(parts), "generated")
    assert [each["text"] for each in answer["statements"]] == parts
    assert states(answer) == [["verified", "verified"], ["verified", "not found"], ["not found"]]
    assert answer["statements"][0]["quotations"][0]["passage"] == [15, 42]
    assert codes(answer) == ["not_found", "not_in_force"]
    assert "2" in answer["notices"][0]["text"]
    uncited = built('The "deposit" is returned [1]. Trust me. And me.')
    assert states(uncited)[0] == ["verified", "not checked"]
    (notice,) = uncited["notices"]
    assert (notice["code"], notice["count"]) == ("uncited", 2)


def test_sources_have_their_state_on_the_day():
    found = {each["id"]: each["state"] for each in built("Yes [1].")["sources"]}
    assert found == {"h12": "in force", "h13": "repealed", "h14": "unknown"}
    earlier = built("Yes [1].", as_of="2018-01-01")["sources"]
    assert [each["state"] for each in earlier] == ["not yet in force", "in force", "unknown"]
    assert [each["label"] for each in earlier] == [1, 2, 3]
    assert earlier[2]["related_to"] == "h12"
    assert "language" not in earlier[0]
    french = Document(id="f1", content="Le loyer est dû.", meta={"language": "fr"})
    assert built(documents=[french])["sources"][0]["language"] == "fr"
    # A reply rests on what was shown.
    answer = built("It bears interest [2].", ARTICLES[:1], shown=ARTICLES[::-1])
    assert [each["id"] for each in answer["sources"]] == ["h14", "h13", "h12"]
    assert codes(answer) == ["not_in_force"]


def test_without_a_reply_the_articles_answer_in_their_own_words():
    answer = built(documents=ARTICLES[:2], shown=ARTICLES)
    assert answer["state"] == "verbatim"
    first, second = (
        "“The deposit is returned within thirty days.” [1]",
        "“A deposit bears interest.” [2]",
    )
    assert answer["text"] == f"{first}\n\n{second}"
    for statement in answer["statements"]:
        assert answer["text"][statement["start"] : statement["end"]] == statement["text"]
        for part in (*statement["citations"], *statement["quotations"]):
            assert part["text"] in answer["text"][part["start"] : part["end"]]
    assert [each["id"] for each in answer["sources"]] == ["h12", "h13"]
    (notice,) = answer["notices"]
    assert notice["code"] == "not_in_force"
    repealed = {"id": "h13", "law": "Housing Code", "number": "13", "state": "repealed"}
    assert notice["articles"] == [repealed]


def ranked(document):
    (found,) = StatutePassageRanker().run(QUESTION, [document])["documents"]
    return found


def test_a_verbatim_answer_quotes_the_best_passage_with_its_exceptions_and_passes_the_check():
    rules = ["(1) A register is kept.", "(2) The deposit is returned to you within a month."]
    rules += ["(3) Keys are given back.", "(4) Paragraph (2) does not apply to halls."]
    articles = [ARTICLES[0], ranked(article(16, "\n".join(rules), language="en"))]
    answer = built(documents=articles)
    assert answer["text"].endswith(f"“{rules[1]}” [2]\n\n“{rules[3]}” [2]")
    reply = ChatMessage.from_assistant(answer["text"])
    found = QuoteVerifier().run([reply], articles)["checked"][0].quotations
    assert [each.state for each in found] == ["verified"] * 3
    quoted = [each for statement in answer["statements"] for each in statement["quotations"]]
    assert [each.passage for each in found] == [tuple(each["passage"]) for each in quoted]


def test_a_cited_article_and_one_without_passages_are_quoted_whole():
    long = ranked(article(15, "(1) Keys.\n(2) My deposit."))
    answer = built(documents=[*ARTICLES, long], pinned=[long])
    assert [each["id"] for each in answer["sources"]] == ["h15"]
    assert answer["text"] == f"“{long.content}” [1]", "a cited article answers alone and whole"
    assert built(documents=[article(1, "One.\n\nTwo.")])["text"] == "“One.\nTwo.” [1]"
    for foreign in ([{"start": None}], [{"start": 0, "end": 3}], {"start": 0}, 5):
        short = article(12, "It is returned.", passages=foreign, shown_chars=foreign)
        assert built(documents=[short])["text"] == "“It is returned.” [1]"


@pytest.mark.parametrize(("reply", "state"), cases("a_generator_may_find_no_answer"))
def test_a_generator_may_find_no_answer(reply, state):
    answer = built(reply, ARTICLES[:1])
    assert answer["state"] == state
    assert state == "generated" or codes(answer) == ["not_answered"]


def test_notices():
    failed = built(documents=ARTICLES[:1], failure="it cannot be reached")
    assert failed["state"] == "verbatim"
    (notice,) = failed["notices"]
    assert (notice["code"], notice["failure"]) == ("generator_failed", "it cannot be reached")
    cut = article(1, "x" * 500, shown_chars=300)
    assert codes(built("Yes [1].", [cut])) == ["cut"]
    assert codes(built(documents=[cut])) == []
    for as_of, why in (("2024-01-01", "repealed"), (None, "repealed"), ("any", "filters")):
        (notice,) = built(None, ARTICLES[:1], left_out=[ARTICLES[1]], as_of=as_of)["notices"]
        assert "Housing Code, 13" in notice["text"] and why in notice["text"]
    closest = {"id": "h12", "score": 0.2, "threshold": 0.4, "enough": False}
    nothing = built(documents=[], closest=closest)
    empty = {"text": "", "state": "nothing found", "statements": [], "sources": [], "notices": []}
    assert nothing == empty | {"closest": closest}
    assert built(documents=[])["closest"] is None


def test_wrong_input_is_refused():
    with pytest.raises(QuestionError):
        CitedAnswerBuilder().run("", ARTICLES)
    with pytest.raises(ValueError, match=r"CitedAnswerBuilder\.as_of"):
        CitedAnswerBuilder().run(QUESTION, ARTICLES, as_of="yesterday")
    with pytest.raises(ValueError, match="max_articles"):
        CitedAnswerBuilder(max_articles=0)


def test_the_builder_as_a_tool_and_without_vectors():
    tool = ComponentTool(CitedAnswerBuilder(), name="answer", description="Answers.")
    assert "checked" in tool.parameters["properties"]
    document = replace(ARTICLES[0], embedding=[1.0, 0.0])
    (answer,) = CitedAnswerBuilder().run(QUESTION, [document], shown=[document])["answers"]
    assert [each.embedding for each in answer.documents] == [None]
