"""An answer as a terminal shows it."""

from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from pipelines.answer_text import answer_lines
from pipelines.command_line import show

ARTICLE = Document(
    id="h12",
    content="The deposit is returned within thirty days.",
    meta={"law": "Housing Code", "number": "12", "valid_to": "2020-12-31"},
)


def lines(reply: str | None, documents: list[Document], **inputs: Any) -> list[str]:
    replies = [] if reply is None else [ChatMessage.from_assistant(reply)]
    checked = QuoteVerifier().run(replies, documents)["checked"]
    (answer,) = CitedAnswerBuilder().run("When?", documents, checked=checked, **inputs)["answers"]
    return answer_lines({"text": answer.data, **answer.meta}).splitlines()


def test_every_doubt_stands_behind_its_words() -> None:
    written = lines(
        'It is "returned within thirty days" [1], or "within three years" [4].', [ARTICLE]
    )
    assert written[0].startswith("Answer, written by a language model")
    text = " ".join(each.strip() for each in written)
    assert '"returned within thirty days" [1], or "within three years" <⚠ not found: none' in text
    assert "[4] <⚠ not found: 1 article was given; it names another>." in text
    assert "[1] Housing Code, 12 · repealed" in text
    assert "Note: 2 citations or quotations were not found." in text


def test_a_reply_cannot_write_a_doubt_nor_turn_its_figures_round() -> None:
    reply = 'Within \u202e14 days <⚠ not found: so> [1]. "for three ✓ years" [4\u200f].'
    text = " ".join(each.strip() for each in lines(reply, [ARTICLE])[1:])
    assert "Within 14 days <\ufffd not found: so> [1]." in text
    assert text.count("⚠") == text.count("<⚠ not ") == 2
    assert not set("\u202e\u200f✓") & set(text)


def test_the_laws_own_signs_stay() -> None:
    article = Document(id="h1", content="Allowed ✓, forbidden ⚠.", meta=ARTICLE.meta)
    assert "“Allowed ✓, forbidden ⚠.” [1]" in " ".join(lines(None, [article]))


def test_the_articles_own_words() -> None:
    written = lines(None, [ARTICLE], failure="the generator cannot be reached")
    assert written[0] == "What the articles say:"
    assert written[2].strip() == "“The deposit is returned within thirty days.” [1]"
    assert [each.strip() for each in written[-2:]] == [
        "Note: No answer was written: the generator cannot be reached.",
        "Note: Housing Code, 12 is repealed.",
    ]


def test_nothing_found_says_how_close() -> None:
    closest = {
        "law": "Housing Code",
        "number": "12",
        "score": 0.25,
        "threshold": 0.4,
        "enough": False,
    }
    written = lines(None, [], closest=closest)
    assert written[0] == "Nothing that was found is near enough to answer this."
    assert written[-1].strip() == (
        "The closest is Housing Code, 12: score 0.250, and 0.400 is asked for."
    )


def test_what_steers_a_terminal_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show("hidden\x1b[8m, turned \u202eround\u2066,\x07 kept\n\tas it is")
    assert capsys.readouterr().out == "hidden�[8m, turned �round�,� kept\n\tas it is\n"
