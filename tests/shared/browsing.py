"""What the browser tests share: looks of a page, axe, and words as they are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from slow_cases import slow

SCREENSHOTS = Path(__file__).parents[1] / "browser" / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

Looks = Sequence[tuple[str, int]]

# Colour schemes and widths in which a page of this language is looked at; French words are longer.
every_look = pytest.mark.parametrize(
    ("language", "looks"),
    [("en", [("light", 1280)]), *slow(("fr", [("light", 390), ("dark", 390), ("dark", 1280)]))],
)
FOCUS = """(() => {
  const it = document.activeElement, look = getComputedStyle(it);
  return [it.outerHTML.slice(0, 400), it.value || it.id || it.className,
          parseFloat(look.outlineWidth) >= 2 && look.outlineStyle === 'solid'];
})()"""

_MEASURE = """(() => {
  const text = [...document.querySelectorAll('.law p.numbered')]
    .filter((each) => each.checkVisibility())
    .sort((a, b) => b.innerText.length - a.innerText.length)[0];
  const box = text.getBoundingClientRect(), range = document.createRange();
  range.selectNodeContents(text);
  // The last line counts by how far it is filled.
  const end = [...range.getClientRects()]
    .sort((a, b) => b.bottom - a.bottom || b.right - a.right)[0];
  const lines = Math.round(box.height / parseFloat(getComputedStyle(text).lineHeight));
  return text.innerText.length / (lines - 1 + (end.right - box.left) / box.width);
})()"""


FINISH_TRANSITIONS = """() => document.getAnimations()
    .filter((each) => each instanceof CSSTransition)
    .forEach((each) => each.finish())"""


def words(text: str | None) -> str:
    return " ".join((text or "").split())


def violations(page: Any) -> list[str]:
    """What axe finds on the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def check_looks(page: Any, name: str, language: str, looks: Looks) -> None:
    """In each scheme and width, keep a screenshot of the page, which fits, and have axe look at
    it."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for scheme, width in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        picture = SCREENSHOTS / f"{name}-{language}-{scheme}-{width}.png"
        page.screenshot(path=picture, full_page=True)
        page.evaluate(FINISH_TRANSITIONS)  # half-way from one scheme to the other no contrast holds
        assert violations(page) == []
        check_width(page)


def check_width(page: Any) -> None:
    """Nothing leaves the page at its side."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url


def tabbed(page: Any, times: int) -> list[Any]:
    """What has the focus after each press of the tab key."""
    reached = []
    for _ in range(times):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUS))
    return reached


def measure(page: Any) -> float:
    """Characters on a line of the longest paragraph of law."""
    return float(page.evaluate(_MEASURE))


def ask(page: Any, question: str, search: str = "Search") -> None:
    """Ask on the first view, and wait for what is found."""
    page.locator("#question").fill(question)
    page.get_by_role("button", name=search, exact=True).click()
    page.locator(".asked q", has_text=question).wait_for()
