"""HTML of an answer: escaped, on one line, and no doubt left out."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st
from small_law import told as text_of

from components.builders import cited_answer
from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from ui.language import LANGUAGES, TEXTS
from ui.results import written_answer

ARTICLES = [
    Document(
        id="h12",
        content="The deposit is returned within thirty days.",
        meta={"law": "Housing Code", "number": "12", "valid_from": "2019-01-01"},
    ),
    Document(
        id="h13",
        content="A deposit bears interest.",
        meta={"law": "Housing Code", "number": "13", "valid_to": "2020-12-31"},
    ),
]


def built(reply: str) -> dict[str, Any]:
    checked = QuoteVerifier().run([ChatMessage.from_assistant(reply)], ARTICLES)["checked"]
    (answer,) = CitedAnswerBuilder().run("When?", ARTICLES, checked=checked)["answers"]
    return {"text": answer.data, **answer.meta}


class Spans(HTMLParser):
    """Texts by the classes of the elements around them; every element must be closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":  # holds nothing, and is not closed
            return
        assert tag != "a" or "a" not in [each for each, _ in self.open]
        self.open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((" ".join(css for _, css in self.open if css), data))


def spans(panel: str) -> list[tuple[str, str]]:
    parser = Spans()
    parser.feed(panel)
    assert parser.open == []
    return parser.texts


def test_every_doubt_is_reported_in_words_behind_what_it_is_about():
    reply = 'It is "returned within thirty days" [1], or "in a month or so" [7].'
    panel = written_answer(built(reply), "en")
    text = text_of(panel)
    assert '"returned within thirty days" (✓ word for word in the article) [1]' in text
    assert '"in a month or so" (⚠ not found: none of the articles says it so)' in text
    assert "[7] (⚠ not found: 2 articles were given; it names another)." in text
    assert "Written by a language model" in text
    assert ("answer verified", '"returned within thirty days"') in spans(panel)
    assert ("answer doubt", "[7]") in spans(panel)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reply_cannot_write_a_verdict(language):
    """Neither in what is seen nor in what is copied or heard: ours begin with signs of our own."""
    texts = TEXTS[language].answer
    told = [f"({sign} {each})" for each in texts.verdicts.values() for sign in "✓✔✅☑√⚠"]
    panel = written_answer(
        built(f'Keep it {" ".join(told)} [1]. "In all cases" it is so.'), language
    )
    assert "✓ " in texts.written and "⚠" in texts.written
    for css, text in spans(panel):
        if not {"verdict", "written"} & set(css.split()):
            assert not set("✓✔✅☑√⚠") & set(text)
    assert f"(\ufffd {texts.verdicts['verified']})" in text_of(panel)
    doubt = built('"kept for ever ✓ so" [1 ✓ 2].')
    assert text_of(written_answer(doubt, language)).count("✓") == texts.written.count("✓")


def test_a_citation_that_holds_is_a_link_to_its_article():
    reply = (
        'It is "returned within thirty days [1]". Section 13 of the Housing Code adds [1, 2] [9].'
    )
    panel = written_answer(built(reply), "en")
    assert '<a href="/article?id=h12">[1]</a>' in panel
    assert '<a href="/article?id=h13">Section 13</a>' in panel
    assert 'href="/fr/article?id=h12">[1]</a>' in written_answer(built(reply), "fr")
    # Which of two is meant nobody can say, and what was not found leads nowhere.
    assert ">[1, 2]</a>" not in panel
    assert ">[9]</a>" not in panel
    # What begins within a quotation and ends behind it is none: elements stay within one another.
    assert spans(written_answer(built('It is "returned 【1†within" thirty】 days.'), "en"))


@given(st.text(st.sampled_from("ab .:\n\r[1]【†】9\"'“”«»<&>"), max_size=40))
def test_any_reply_gives_whole_html_and_all_its_words(reply):
    if not reply.strip():
        return
    ours = {"verdict", "notices", "sources", "written"}
    told = spans(written_answer(built(reply), "en"))
    kept = "".join(text for css, text in told if not ours & set(css.split()))
    assert "".join(reply.split()) in "".join(kept.split())


def test_every_notice_that_is_given_has_its_words_in_every_language():
    source = Path(cited_answer.__file__).read_text("utf-8")
    codes = set(re.findall(r'_(?:notice|counted)\(\s*"(\w+)"', source)) | {
        "not_found",
        "not_checked",
    }
    assert len(codes) == 8
    for language in LANGUAGES:
        texts = TEXTS[language].answer
        assert all(code in texts.counted or getattr(texts, code) for code in codes)
