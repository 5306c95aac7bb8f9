"""Law that is written from right to left: wherever it is shown, it runs its own way."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

from small_law import document
from starlette.testclient import TestClient

from pipelines.comparing import Found, Lap, compare
from ui.answer import answer_panel
from ui.article_text import law_attributes
from ui.compare import render
from ui.law.links import article_link, division_link
from ui.results import results

LAW, PART, SECTION = "قانون الإيجار (ب)", "الباب الأول: الإيجار", "الفصل 2."
TEXT = "(أ) للمستأجر الحق.\n1. البند الأول 2020."
ARABIC = re.compile("[\u0600-\u06ff]")
# Elements without an end.
VOID = {"meta", "link", "input", "br", "img"}


class Adrift(HTMLParser):
    """Collects Arabic letters that nothing keeps from being set in the direction of the page."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []
        self.kept = 0
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append((tag, tag in ("bdi", "title") or ("dir", "auto") in attrs))

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not ARABIC.search(data):
            return
        if any(kept for _, kept in self.open):
            self.kept += 1
        else:
            self.found.append(data)


def adrift(markup: str) -> list[str]:
    read = Adrift(markup)
    assert read.kept
    return read.found


def test_words_of_the_law_have_their_language_and_their_own_direction():
    assert law_attributes("ar") == ' lang="ar" dir="auto"'
    assert law_attributes(None) == law_attributes('ar"><b>') == ' dir="auto"'


def test_on_the_pages_of_the_law(site: Callable[..., TestClient]):
    given = {"law": LAW, "language": "ar", "text": TEXT}
    client = site(
        [
            document(1, (PART, SECTION), **given),
            document(2, (PART, SECTION), **given),
            document(3, (PART,), **given),
            document(4, ("الباب الثاني",), **given),
        ]
    )
    for link in (
        "/law",
        division_link(LAW, (), "en"),
        division_link(LAW, (PART,), "fr"),
        article_link("h2", "en"),
        article_link("h3", "fr"),
    ):
        assert adrift(client.get(link).text) == [], link


def test_among_results_and_compared():
    found = {
        "id": "x6",
        "law": LAW,
        "number": "6",
        "headings": [PART],
        "content": TEXT,
        "language": "ar",
        "ranks": {"bm25": 1},
        "state": "unknown",
    }
    given = {"question": "المؤجر", "took_ms": 1.0, "documents": [found]}
    assert adrift(results(given, "en", [LAW])) == []
    side = Found("lexical", [found], None, [], [Lap("bm25", 1.0)], 1.0)
    assert adrift(render.comparison("المؤجر", compare(side, side), "en")) == []


def test_in_an_answer():
    quotation = {"id": "x6", "text": TEXT, "state": "verified", "why": "", "start": 0, "end": 3}
    source = {"id": "x6", "law": LAW, "number": "6", "label": "1", "state": "unknown"}
    statement = {
        "text": TEXT,
        "start": 0,
        "quotations": [quotation],
        "citations": [{"ids": ["x6"], "state": "verified", "why": "", "start": 0, "end": 1}],
        "uncited": True,
    }
    for state in ("verbatim", "verified"):
        answer = {"state": state, "statements": [statement], "sources": [source], "notices": []}
        assert adrift(answer_panel(answer, "en")) == []
