"""A person reads an answer: the law's own words, or a model's with every doubt beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.statutes.corpus import StatuteCorpus
from pipelines.asking import found_article
from ui.collection import Collection

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WRITTEN = (
    'The landlord "may not hold the money" [1]. It goes to a blocked account [1], and "every month '
    'the tenant is paid a tenth" [1]. Section 99 of the Housing Code of Aldermere helps, too. Ask '
    "the Registry."
)


@pytest.fixture(scope="module")
def page_of(
    serve_page: Callable[..., str], aldermere_articles: Path
) -> Callable[[str | None], str]:
    """The address of a page whose every question has this reply."""
    corpus = StatuteCorpus.read(aldermere_articles)
    from components.converters.articles import as_document

    documents = [
        as_document(article, position)
        for position, article in enumerate(corpus)
        if article.id in ("housing-12", "housing-14-1")
    ]
    collection = Collection(len(corpus), tuple(corpus.laws))

    def start(reply: str | None) -> str:
        def ask(question: str) -> dict[str, Any]:
            from datetime import date

            replies = [] if reply is None else [ChatMessage.from_assistant(reply)]
            checked = QuoteVerifier().run(replies, documents)["checked"]
            built = CitedAnswerBuilder().run(question, documents, checked=checked)["answers"][0]
            return {
                "question": question,
                "took_ms": 1.0,
                "documents": [found_article(each, date.today()) for each in documents],
                "answer": {"text": built.data, **built.meta},
            }

        return serve_page(ask, lambda: collection)

    return start


def asked(page: Any) -> Any:
    page.get_by_label("Your question").fill("Who keeps my deposit?")
    page.get_by_role("button", name="Search").click()
    panel = page.locator("#results .answer")
    panel.wait_for()
    return panel


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation_in_an_answer(
    open_page: Callable[..., Any],
    page_of: Callable[[str | None], str],
    scheme: str,
    device: str,
    width: int,
):
    SCREENSHOTS.mkdir(exist_ok=True)
    for name, reply in (("written", WRITTEN), ("verbatim", None)):
        page = open_page(
            page_of(reply), color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        asked(page)
        page.screenshot(path=SCREENSHOTS / f"answer-{name}-{device}-{scheme}.png", full_page=True)
        assert violations(page) == []


def test_doubts_are_read_where_they_belong(
    open_page: Callable[..., Any], page_of: Callable[[str | None], str]
):
    page = open_page(page_of(WRITTEN))
    panel = asked(page)
    text = " ".join(panel.inner_text().split())
    assert '"may not hold the money" (✓ word for word in the article) [1].' in text
    assert '"every month the tenant is paid a tenth" (⚠ not found:' in text
    assert "Section 99 (⚠ not found:" in text
    assert "Ask the Registry. (⚠ no article named)" in text
    sources = panel.locator(".sources li")
    assert sources.count() == 1
    assert "Housing Code of Aldermere (invented), article 12" in sources.first.inner_text()
    # The articles stand below it.
    assert page.get_by_role("article").count() == 2


def test_the_laws_own_words_are_quotations(
    open_page: Callable[..., Any], page_of: Callable[[str | None], str]
):
    page = open_page(page_of(None))
    panel = asked(page)
    assert panel.get_by_role("heading", name="In the law's own words").is_visible()
    assert panel.get_by_role("blockquote").count() >= 2
    assert "language model" not in panel.inner_text()


def test_markup_in_a_reply_shows_as_text(
    open_page: Callable[..., Any], page_of: Callable[[str | None], str], payloads: list[str]
):
    for reply in (" ".join(payloads[::2]), " ".join(payloads[1::2])):
        page = open_page(page_of(f'"{reply}" [1]'))
        panel = asked(page)
        assert page.evaluate("window.pwned") is None
        assert (
            panel.locator(
                "script, img, iframe, svg, a:not([href^='/article?id=']), input, form"
            ).count()
            == 0
        )
