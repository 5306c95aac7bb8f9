"""Every view in forced colours."""

from typing import Any

import pytest
from browsing import ask, check_width, violations

from ui.language import TEXTS, Language, address, article_link, division_link

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# What is seen by its colour alone would be lost: forced colours keep borders and outlines.
WITHOUT_BORDER = """() => [...document.querySelectorAll(
  '#question, #search, button.example, .small, .take-away button, ' +
  // A box to tick is the browser's own, which draws it in these colours.
  'form :is(input:not([type=checkbox], [type=radio]), button)'
)].filter((each) => {
  const look = getComputedStyle(each);
  return each.checkVisibility() && parseFloat(look.borderTopWidth) === 0;
}).map((each) => each.outerHTML)"""


def test_axe_finds_no_violation(open_page: Any, site: str):
    language: Language = "fr"
    texts = TEXTS[language].ask
    looks = {"forced_colors": "active", "viewport": {"width": 1280, "height": 900}}
    page = open_page(site + address("/", language), **looks)

    def check() -> None:
        assert violations(page) == []
        check_width(page)
        assert page.evaluate(WITHOUT_BORDER) == []
        logo = "getComputedStyle(document.querySelector('.masthead .name a'), '::before')"
        assert page.evaluate(f"{logo}.forcedColorAdjust") == "none"

    check()
    page.get_by_text(texts.narrow, exact=True).click()
    page.locator("#which").wait_for()
    check()
    ask(page, "Who pays for the heating?", texts.search)
    check()
    page.locator("#question").fill(" ")
    page.get_by_role("button", name=texts.search, exact=True).click()
    page.locator("#status .message").first.wait_for()
    check()
    for link in (
        division_link("", (), language),
        article_link("housing-12", language),
        address("/about", language),
        address("/compare", language),
    ):
        page.goto(site + link)
        page.locator("#main h1").first.wait_for()
        page.wait_for_load_state("networkidle")
        check()
