"""What the browser tests share: looks of a page, axe, and words as they are read."""

from pathlib import Path
from typing import Any

import pytest

SCREENSHOTS = Path(__file__).parents[1] / "browser" / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# Every pair of language, scheme and width; one of them in `make test`.
every_look = pytest.mark.parametrize(
    ("language", "scheme", "width"),
    [
        ("en", "light", 1280),
        pytest.param("en", "dark", 390, marks=pytest.mark.slow),
        pytest.param("fr", "light", 390, marks=pytest.mark.slow),
        pytest.param("fr", "dark", 1280, marks=pytest.mark.slow),
    ],
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


def words(text: str | None) -> str:
    return " ".join((text or "").split())


def violations(page: Any) -> list[str]:
    """What axe finds on the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def check_look(page: Any, name: str, language: str, scheme: str, width: int) -> None:
    """Keep a screenshot of the page and have axe look at it."""
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{language}-{scheme}-{width}.png", full_page=True)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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
    page.locator("#question textarea").fill(question)
    page.get_by_role("button", name=search, exact=True).click()
    page.locator(".asked q", has_text=question).wait_for()
