"""The page says how far the search has learnt its law, and then says no more."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ui.collection import Collection
from ui.standing import Standing

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ALDERMERE = Collection(1, ("Housing Code of Aldermere (invented)",))


def ask(question: str) -> dict[str, Any]:
    return {"question": question, "took_ms": 1.0, "documents": []}


@pytest.fixture
def learning_page(serve_page: Callable[..., str]) -> tuple[str, list[Standing]]:
    """The address of a page that learns, and its standing, which a test sets."""
    standing = [Standing("learning", 0.4, 61.0)]
    return serve_page(ask, lambda: ALDERMERE, lambda: standing[0]), standing


def looks(page: Any) -> list[str]:
    """The times that the page asks how far it is, as they come."""
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if r.url.endswith("/learning") else None)
    return asked


def test_the_line_follows_the_learning_and_the_end_comes_without_reload(
    open_page: Callable[..., Any], learning_page: tuple[str, list[Standing]]
):
    address, standing = learning_page
    page = open_page(address)
    asked = looks(page)
    line = page.locator("#learning")
    line.get_by_text("still learning this law").wait_for()
    assert "about a minute" in line.inner_text()
    assert line.locator(".share").inner_text() == "40%"
    standing[0] = Standing("learning", 0.8, 20.0)
    line.get_by_text("80%").wait_for()
    assert "less than a minute" in line.inner_text()
    # The page is used meanwhile, and drawn anew with each answer.
    page.get_by_label("Your question").fill("deposit")
    page.keyboard.press("Enter")
    page.locator("#status").get_by_text("Nothing was found").wait_for()
    standing[0] = Standing("learnt", 1.0)
    line.get_by_text("has learnt this law").wait_for()
    assert line.locator(".share").inner_text() == ""
    assert page.locator("#status").get_by_text("Nothing was found").is_visible()
    asked.clear()
    page.wait_for_timeout(5_000)
    assert asked == []


def test_who_was_cut_off_for_a_while_still_hears_of_the_end(
    open_page: Callable[..., Any], learning_page: tuple[str, list[Standing]], chromium: Any
):
    """Apart from `open_page`, for which a request that failed is a fault."""
    address, standing = learning_page
    page = chromium.new_page()
    refused: list[str] = []

    def refuse(route: Any) -> None:
        refused.append(route.request.url)
        if len(refused) % 2:
            route.abort()
        else:
            route.fulfill(status=502, body="<h1>Bad gateway</h1>")

    page.goto(address)
    line = page.locator("#learning")
    line.get_by_text("still learning this law").wait_for()
    page.route("**/learning", refuse)
    page.wait_for_timeout(5_000)
    # It asks no more often than before, and what was told stays.
    assert 2 <= len(refused) <= 3
    assert line.locator(".share").inner_text() == "40%"
    standing[0] = Standing("learnt", 1.0)
    page.unroute("**/learning")
    line.get_by_text("has learnt this law").wait_for()
    page.close()


def test_a_site_that_learns_no_more_is_asked_no_more(
    learning_page: tuple[str, list[Standing]], chromium: Any
):
    page = chromium.new_page()
    page.goto(learning_page[0])
    line = page.locator("#learning")
    line.get_by_text("still learning this law").wait_for()
    page.route("**/learning", lambda route: route.fulfill(status=404, body="none"))
    line.get_by_text("still learning this law").wait_for(state="detached")
    asked = looks(page)
    page.wait_for_timeout(3_000)
    assert asked == []
    page.close()


def test_changes_are_announced_politely_and_the_share_is_not(
    open_page: Callable[..., Any], learning_page: tuple[str, list[Standing]]
):
    page = open_page(learning_page[0])
    told = page.get_by_role("status").filter(has_text=re.compile("still learning"))
    told.wait_for()
    assert "%" not in told.inner_text()
    assert page.locator("#status").get_attribute("role") == "status"


def test_a_page_that_is_opened_later_is_told_nothing_and_asks_once(
    open_page: Callable[..., Any], learning_page: tuple[str, list[Standing]]
):
    address, standing = learning_page
    standing[0] = Standing("learnt", 1.0)
    page = open_page("about:blank", wait=False)
    asked = looks(page)
    page.goto(address)
    page.get_by_label("Your question").wait_for()
    page.wait_for_timeout(3_000)
    assert len(asked) == 1
    assert page.locator("#learning").inner_text().strip() == ""


def test_a_failure_is_told_on_every_page(
    open_page: Callable[..., Any], learning_page: tuple[str, list[Standing]]
):
    address, standing = learning_page
    standing[0] = Standing("failed")
    for _ in range(2):
        page = open_page(address)
        page.locator("#learning").get_by_text("could not learn this law").wait_for()


def test_a_page_that_learns_nothing_asks_nothing(
    open_page: Callable[..., Any], serve_page: Callable[..., str]
):
    page = open_page("about:blank", wait=False)
    asked = looks(page)
    page.goto(serve_page(ask, lambda: ALDERMERE))
    page.get_by_label("Your question").wait_for()
    page.wait_for_timeout(3_000)
    assert asked == []
    assert page.locator("#learning").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation_while_it_learns(
    open_page: Callable[..., Any],
    learning_page: tuple[str, list[Standing]],
    scheme: str,
    device: str,
    width: int,
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    address, standing = learning_page
    page = open_page(address, color_scheme=scheme, viewport={"width": width, "height": 900})
    SCREENSHOTS.mkdir(exist_ok=True)
    for now, said in (
        (standing[0], "still learning"),
        (Standing("learnt", 1.0), "has learnt"),
    ):
        standing[0] = now
        page.locator("#learning").get_by_text(said).wait_for()
        name = f"{said.split()[1]}-{device}-{scheme}.png"
        page.screenshot(path=SCREENSHOTS / name, full_page=True)
        found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
        assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
