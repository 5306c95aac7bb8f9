"""HTML of an answer: escaped, on one line, and no doubt left out."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from components.builders import cited_answer
from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from ui.answer import answer_panel
from ui.collection import Collection
from ui.desk import Desk
from ui.language import LANGUAGES, Language
from ui.results import results
from ui.texts.answers import TEXTS

PAYLOADS = (
    (Path(__file__).parent.parent / "browser" / "payloads.txt").read_text("utf-8").splitlines()
)
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


def built(reply: str | None, documents: list[Document] = ARTICLES, **inputs: Any) -> dict[str, Any]:
    replies = [] if reply is None else [ChatMessage.from_assistant(reply)]
    checked = QuoteVerifier().run(replies, documents)["checked"]
    (answer,) = CitedAnswerBuilder().run("When?", documents, checked=checked, **inputs)["answers"]
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


def plain(panel: str) -> str:
    return html.unescape(re.sub("<[^>]+>", "", panel))


def test_every_doubt_is_said_in_words_behind_what_it_is_about() -> None:
    panel = answer_panel(
        built('It is "returned within thirty days" [1], or "in a month or so" [7].'), "en"
    )
    text = plain(panel)
    assert '"returned within thirty days" (✓ word for word in the article) [1]' in text
    assert '"in a month or so" (⚠ not found: none of the articles says it so)' in text
    assert "[7] (⚠ not found: 2 articles were given; it names another)." in text
    assert "Written by a language model" in text
    assert ("answer verified", '"returned within thirty days"') in spans(panel)
    assert ("answer doubt", "[7]") in spans(panel)


def test_a_sentence_without_an_article_is_told_apart() -> None:
    text = plain(answer_panel(built("It is returned [1]. Trust me."), "en"))
    assert "It is returned [1]. (no" not in text
    assert "Trust me. (⚠ no article named)" in text
    # One whose article was not found names one.
    assert "(⚠ no article named)" not in plain(answer_panel(built("It is returned [8]."), "en"))
    assert "1 sentence names no article." in text


def test_a_reply_keeps_its_lines_and_its_verdicts_their_places() -> None:
    reply = 'It says:\n> The deposit is returned\n> within thirty days.\n\n[1] Then:\n- "not so"'
    panel = answer_panel(built(reply), "en")
    assert "\n" not in panel
    assert "It says:<br><span" in panel
    assert "The deposit is returned<br>&gt; within thirty days.</span> <span" in panel
    assert "Then:<br>- <span" in panel
    assert "(✓ word for word in the article)" in panel


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reply_cannot_write_a_verdict(language: Language) -> None:
    """Neither in what is seen nor in what is copied or heard: ours begin with signs of our own."""
    texts = TEXTS[language]
    told = [f"({sign} {each})" for each in texts.verdicts.values() for sign in "✓✔✅☑√⚠"]
    panel = answer_panel(built(f'Keep it {" ".join(told)} [1]. "In all cases" it is so.'), language)
    assert "✓ " in texts.written and "⚠" in texts.written
    for css, text in spans(panel):
        if not {"verdict", "written"} & set(css.split()):
            assert not set("✓✔✅☑√⚠") & set(text)
    assert f"(\ufffd {texts.verdicts['verified']})" in plain(panel)
    doubt = built('"kept for ever ✓ so" [1 ✓ 2].')
    assert plain(answer_panel(doubt, language)).count("✓") == texts.written.count("✓")


@pytest.mark.parametrize(
    "sign", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
def test_figures_of_a_reply_stand_as_they_were_written(sign: str) -> None:
    panel = answer_panel(
        built(f'Within {sign}1{sign}4 days [1{sign}] "of {sign}four and more".'), "en"
    )
    assert "Within 14 days" in panel
    assert sign not in panel


def test_a_citation_that_holds_is_a_link_to_its_article() -> None:
    reply = (
        'It is "returned within thirty days [1]". Section 13 of the Housing Code adds [1, 2] [9].'
    )
    panel = answer_panel(built(reply), "en")
    assert '<a href="/article?id=h12">[1]</a>' in panel
    assert '<a href="/article?id=h13">Section 13</a>' in panel
    assert 'href="/fr/article?id=h12">[1]</a>' in answer_panel(built(reply), "fr")
    # Which of two is meant nobody can say, and what was not found leads nowhere.
    assert ">[1, 2]</a>" not in panel
    assert ">[9]</a>" not in panel
    # What begins within a quotation and ends behind it is none: elements stay within one another.
    assert spans(answer_panel(built('It is "returned 【1†within" thirty】 days.'), "en"))


def test_links_lead_to_the_day_that_was_asked_for() -> None:
    for reply in ('It is "returned within thirty days [1]".', None):
        panel = answer_panel(built(reply), "en", "2015-06-01")
        links = re.findall(r'href="([^"]*)"', panel)
        assert links
        assert all(link.endswith("&amp;on=2015-06-01") for link in links)


def test_sources_that_are_cited_stand_under_their_numbers() -> None:
    panel = answer_panel(built("It bears interest [2]."), "en")
    place = (
        '<a href="/article?id=h13"><bdi><span dir="auto">Housing Code</span>, article 13</bdi></a>'
        " <span>(repealed)</span>"
    )
    assert f'<li value="2">{place}</li>' in panel
    assert "Housing Code, article 12" not in plain(panel)


def test_the_laws_own_words_are_quoted_with_their_place() -> None:
    panel = answer_panel(built(None, failure="the generator cannot be reached"), "en")
    text = plain(panel)
    assert panel.count('<blockquote class="law" dir="auto">') == 2
    assert "The deposit is returned within thirty days.Housing Code, article 12 (in force)" in text
    assert "language model" not in text
    assert "No answer was written: the generator cannot be reached." in text


def test_the_laws_own_words_stand_paragraph_by_paragraph_in_their_language() -> None:
    article = Document(
        id="h14",
        content="(1) The deposit is\n(a) kept, or\n(b) returned.\n\n(2) It bears interest.",
        meta={"law": "Housing Code", "number": "14", "language": "en"},
    )
    panel = answer_panel(built(None, [article], pinned=[article]), "fr")
    assert (
        '<blockquote class="law" lang="en" dir="auto">'
        '<p class="numbered"><span>(1)</span> The deposit is</p>'
        '<p class="lettered"><span>(a)</span> kept, or</p>'
        '<p class="lettered"><span>(b)</span> returned.</p>'
        '<p class="numbered"><span>(2)</span> It bears interest.</p></blockquote>'
    ) in panel


@pytest.mark.parametrize("reply", ["It is returned [1].", None])
def test_the_name_of_a_law_is_told_in_its_language(reply: str | None) -> None:
    meta = {"law": "Housing Code", "number": "14", "language": "en"}
    panel = answer_panel(built(reply, [Document(id="h14", content="Returned.", meta=meta)]), "fr")
    name = '<bdi><span lang="en" dir="auto">Housing Code</span>, article 14</bdi>'
    assert f'<a href="/fr/article?id=h14">{name}</a>' in panel
    # An article without a law is named by its number alone.
    loose = Document(id="x", content="Returned.", meta={"law": "", "number": "14"})
    assert "<bdi>article 14</bdi>" in answer_panel(built(reply, [loose]), "fr")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (
            "the generator did not reply in time (60 s)",
            'le modèle n’a pas répondu à temps <span lang="en">(60 s)</span>.',
        ),
        ("the generator cannot be reached", "le modèle est injoignable."),
        ("the <sea> (1)", '<span lang="en">the &lt;sea&gt; (1)</span>.'),
    ],
)
def test_why_nothing_was_written_is_told_in_french(failure: str, told: str) -> None:
    panel = answer_panel(built(None, failure=failure), "fr")
    assert f"Aucune réponse n’a été écrite\u00a0: {told}</li>" in panel


def test_nothing_found_is_a_message_with_how_close_the_best_came() -> None:
    near = {
        "law": "Housing Code",
        "number": "12",
        "score": 0.251,
        "threshold": 0.4,
        "enough": False,
    }
    answer = built(None, [], closest=near)
    assert answer_panel(answer, "en") == ""
    given = {"question": "When?", "took_ms": 1.0, "documents": [], "answer": answer}
    desk = Desk(lambda *_: given, lambda: Collection(1, ()), "en")
    shown = desk.search("When?")
    assert "near enough" in shown.status
    assert "article 12: its score is 0.25, and at least 0.40 is needed." in shown.status
    assert shown.results == ""
    # Where nothing was near, nobody can say how near.
    given["answer"] = built(None, [])
    assert "Nothing was found." in desk.search("When?").status


def test_the_panel_stands_above_the_articles() -> None:
    found = {
        "id": "h12",
        "law": "Housing Code",
        "number": "12",
        "headings": [],
        "content": "The deposit.",
        "score": 1.0,
        "ranks": {},
        "state": "unknown",
    }
    given = {"question": "When?", "took_ms": 1.0, "documents": [found], "answer": built(None)}
    page = results(given, "en")
    assert page.index('class="answer"') < page.index("1 article found")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_shows_as_text_wherever_it_stands(payload: str) -> None:
    article = Document(
        id=payload or "x",
        content=f"{payload} within thirty days of it",
        meta={"law": payload, "number": payload, "relation": payload},
    )
    for reply in (f'"{payload} within" [1] {payload}', None):
        inputs = {"failure": payload} if reply is None else {}
        found = Document(id="y", content=payload, meta={"law": payload, "number": payload})
        panel = answer_panel(built(reply, [found, article], **inputs), "en")
        assert "\n" not in panel
        allowed = (
            r"</?(?:div|h2|p|span|ol|ul|li|blockquote|a|bdi|br)"
            r"(?: (?:class|tabindex|value|href|dir)=\"[\w -/?=%]+\")*>"
        )
        assert not re.search("<", re.sub(allowed, "", panel))


@given(st.text(st.sampled_from("ab .:\n\r[1]【†】9\"'“”«»<&>"), max_size=40))
def test_any_reply_gives_whole_html_and_all_its_words(reply: str) -> None:
    if not reply.strip():
        return
    panel = answer_panel(built(reply), "en")
    told = spans(panel)
    kept = "".join(
        text
        for css, text in told
        if not {"verdict", "notices", "sources", "written"} & set(css.split())
    )
    words = "".join(reply.split())
    assert words in "".join(kept.split())


def test_in_french_every_notice_and_verdict_is_french() -> None:
    reply = 'It is "in a month or so". Trust me. It bears interest [2]. See [9].'
    left = Document(id="h9", meta={"law": "Housing Code", "number": "9", "valid_to": "2001-01-01"})
    text = plain(answer_panel(built(reply, left_out=[left]), "fr"))
    for part in (
        "Écrite par un modèle de langue",
        "(⚠ introuvable\u00a0: aucun des articles ne le dit ainsi)",
        "(⚠ aucun article nommé)",
        "2 références ou citations sont introuvables.",
        "2 phrases ne nomment aucun article.",
        "Sans force à la date considérée\u00a0: Housing Code, article 13 (abrogé).",
        "laissé hors de la recherche\u00a0: Housing Code, article 9 (abrogé).",
    ):
        assert part in text


def test_every_notice_that_is_given_has_its_words_in_every_language() -> None:
    source = Path(cited_answer.__file__).read_text("utf-8")
    codes = set(re.findall(r'_notice\(\s*"(\w+)"', source)) | {"not_found", "not_checked"}
    assert len(codes) == 8
    for language in LANGUAGES:
        texts = TEXTS[language]
        assert all(code in texts.counted or getattr(texts, code) for code in codes)
