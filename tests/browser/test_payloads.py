"""Markup from a law, a question or an address is text on every page, and nothing of it runs."""

import re

import pytest
from browsing import words
from law_files import article
from payloads import PAYLOADS
from slow_cases import slow

from ui.language import division_link, picture_link

pytestmark = pytest.mark.browser
# tests/ui/test_payloads.py has them all, without a browser.
CHOSEN = list(enumerate(PAYLOADS))[::4]
FEW = CHOSEN[::5]
OTHERS = [each for each in CHOSEN if each not in FEW]


@pytest.fixture(scope="module")
def hostile(serve_store) -> str:
    """The whole site over a law that is made of payloads."""
    articles = [
        article(
            f"{number} {payload}",
            law=f"Law {number} {payload}",
            number=f"{number} {payload}",
            headings=[f"Book {payload}", f"Title {payload}"],
            text=f"(1) keyword{number}: {payload}\n{payload}",
        )
        for number, payload in CHOSEN
    ]
    return serve_store(articles).rstrip("/")


def ask(page, number: int, question: str) -> None:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=re.compile(rf"^keyword{number} ")).wait_for()
    assert page.locator(".asked q").text_content() == question


@pytest.mark.parametrize("chosen", [FEW, *slow(OTHERS)])
def test_payloads_show_as_text_everywhere(chromium, hostile, chosen):
    page = chromium.new_context().new_page()
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: foreign.append(dialog.message))
    title = page.get_by_role("heading", level=1)

    page.goto(hostile)
    for number, payload in chosen:
        ask(page, number, f"keyword{number} {payload}")
        marked = page.locator(".law", has_text=f"keyword{number}:")
        first = page.get_by_role("article").filter(has=marked)
        heading = words(first.get_by_role("heading").text_content())
        assert heading.startswith(words(f"Title {payload}"))
        shown = words(first.text_content())
        assert words(f"Law {number} {payload}") in shown
        assert words(f"keyword{number}: {payload}") in shown
        assert page.evaluate("window.pwned") is None

    page.goto(f"{hostile}/compare")
    page.locator("#link textarea").wait_for(state="attached")
    for number, payload in chosen:
        ask(page, number, f"keyword{number} {payload}")
        titles = [words(each) for each in page.locator(".side .title").all_text_contents()]
        assert any(words(f"Law {number} {payload}") in each for each in titles), titles
        assert page.evaluate("window.pwned") is None

    for number, payload in chosen:
        id_, law = f"{number} {payload}", f"Law {number} {payload}"
        way = [f"Book {payload}", f"Title {payload}"]
        page.goto(hostile + division_link(law, way, "fr"))
        assert words(title.text_content()) == words(way[1])
        page.locator(".contents a").first.click()
        assert words(title.text_content()) == words(f"{id_} {law}")
        hrefs = page.locator("main a").evaluate_all("(all) => all.map((a) => a.href)")
        assert all(href.startswith(("http://", "https://")) for href in hrefs), hrefs
        page.goto(hostile + picture_link(id_, "fr"))
        assert words(law)[:40] in words(page.evaluate("document.documentElement.textContent"))
        assert page.locator("script, a, img, image").count() == 0
        assert page.evaluate("window.pwned") is None
    assert [url for url in foreign if not url.startswith(hostile)] == []
    page.context.close()
