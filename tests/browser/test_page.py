"""The page as such: reachable for everyone, silent towards the network."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ui.app import EXAMPLES
from ui.language import LANGUAGES, Language, address
from ui.texts.asking import TEXTS

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def say(page: Any, question: str, wait_for: str, search: str = "Search") -> None:
    page.locator("#question textarea").fill(question)
    page.get_by_role("button", name=search, exact=True).click()
    page.locator(wait_for).wait_for()
    page.wait_for_timeout(200)


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation_on_any_view(
    open_page: Callable[..., Any],
    aldermere_page: str,
    language: Language,
    scheme: str,
    device: str,
    width: int,
):
    texts = TEXTS[language]
    page = open_page(
        aldermere_page.rstrip("/") + address("/", language),
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    SCREENSHOTS.mkdir(exist_ok=True)
    for view, question, sign in (
        ("empty", None, "#question"),
        ("filters", None, "#which"),
        ("results", "Who pays for the heating?", "#results article"),
        ("message", " ", "#status .message"),
    ):
        if view == "filters":
            page.get_by_role("button", name=texts.narrow).click()
            page.locator("#which input").first.wait_for()
        if question is not None:
            say(page, question, f"{sign} >> nth=0", texts.search)
        name = f"{view}-{language}-{device}-{scheme}.png"
        page.screenshot(path=SCREENSHOTS / name, full_page=True)
        assert violations(page) == []


def test_axe_sees_a_fault_when_there_is_one(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page)
    page.evaluate("document.querySelector('h1').innerHTML += '<img src=\"/favicon.svg\">'")
    page.evaluate("document.querySelector('.notice').style.color = '#ccc'")
    assert {fault.split(":")[0] for fault in violations(page)} >= {"image-alt", "color-contrast"}


def test_every_request_goes_to_the_page_itself(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page("about:blank", wait=False)
    requests: list[Any] = []
    failed: list[str] = []
    page.on("request", lambda request: requests.append(request))
    page.on("response", lambda r: failed.append(r.url) if r.status >= 400 else None)
    page.goto(aldermere_page)
    page.get_by_label("Your question").wait_for()
    say(page, "deposit", "#results article >> nth=0")
    page.locator("button.example").last.click()
    page.wait_for_timeout(500)
    assert len(requests) > 20
    assert [each.url for each in requests if not each.url.startswith(aldermere_page)] == []
    assert failed == []
    # A question travels in a body, so that no address, history or proxy keeps it.
    assert not any("deposit" in each.url for each in requests)
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def test_the_keyboard_reaches_everything_in_order_with_a_visible_focus(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    # Gradio draws part after part, in no order.
    page.locator("button.example").nth(len(EXAMPLES) - 1).wait_for()
    reached = []
    # The skip link, the name, the views and the languages come first.
    frame = 2 + page.locator(".masthead nav a").count()
    for _ in range(frame + 3 + page.locator("button.example").count()):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(() => { const it = document.activeElement, look = getComputedStyle(it);"
                " return [it.tagName, it.id || it.className, parseFloat(look.outlineWidth),"
                " look.outlineStyle] })()"
            )
        )
    assert [name for name, *_ in reached[:frame]] == ["A"] * frame
    assert [name for name, *_ in reached[frame : frame + 3]] == ["TEXTAREA", "BUTTON", "BUTTON"]
    assert all("example" in each[1] for each in reached[frame + 3 :])
    assert all(width >= 2 and style == "solid" for *_, width, style in reached)


@pytest.mark.parametrize("width", [320, 640, 1920])
def test_the_page_fits_every_width_and_law_keeps_its_measure(
    open_page: Callable[..., Any], aldermere_page: str, width: int
):
    """320 CSS pixels are 1,280 at 400% zoom."""
    page = open_page(aldermere_page, viewport={"width": width, "height": 800})
    say(page, "Who pays for the heating?", "#results article >> nth=0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width >= 1280:
        measure = page.evaluate(
            """() => {
              const text = [...document.querySelectorAll('.law p.numbered')]
                .find((p) => p.textContent.length > 300);
              const lines = text.getBoundingClientRect().height
                / parseFloat(getComputedStyle(text).lineHeight);
              return text.textContent.length / (lines - 0.5);
            }"""
        )
        assert 55 <= measure <= 80


def test_a_search_that_ends_in_the_same_words_is_announced_again(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    say(page, "deposit", "#results article >> nth=0")
    first = page.locator("#status").inner_text()
    page.evaluate(
        """() => {
          window.announced = [];
          new MutationObserver((changes) => {
            for (const change of changes)
              for (const added of change.addedNodes) window.announced.push(added.textContent);
          }).observe(document.querySelector("#status"), { childList: true, subtree: true });
        }"""
    )
    say(page, "wages", ".asked q:has-text('wages')")
    assert page.locator("#status").inner_text() == first
    assert first in page.evaluate("window.announced")


def test_the_structure_is_announced(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page)
    assert page.title() == "Lexarbor"
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Lexarbor"]
    assert page.get_by_role("note").count() == 1
    say(page, "deposit", "#results article >> nth=0")
    assert page.locator("#status").get_attribute("role") == "status"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
