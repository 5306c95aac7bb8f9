"""Every view in forced colours, and at 400% zoom: 1,280 pixels are then 320 CSS pixels."""

from typing import Any

import pytest
from browsing import ask, check_look

from ui.language import address, article_link, division_link
from ui.texts import ASK_TEXTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# What is seen by its colour alone would be lost: forced colours keep borders and outlines.
WITHOUT_BORDER = """() => [...document.querySelectorAll(
  '#question textarea, #search, button.example, .small, .take-away button, form :is(input, button)'
)].filter((each) => {
  const look = getComputedStyle(each);
  return each.checkVisibility() && parseFloat(look.borderTopWidth) === 0;
}).map((each) => each.outerHTML)"""


@pytest.mark.parametrize(
    ("name", "language", "options"),
    [
        ("forced", "fr", {"forced_colors": "active", "viewport": {"width": 1280, "height": 900}}),
        ("zoomed", "en", {"viewport": {"width": 320, "height": 225}, "device_scale_factor": 4}),
    ],
)
def test_axe_finds_no_violation(open_page: Any, site: str, name: str, language: Any, options: Any):
    texts = ASK_TEXTS[language]
    width = options["viewport"]["width"]
    page = open_page(site + address("/", language), **options)

    def check(view: str) -> None:
        check_look(page, f"{name}-{view}", language, "light", width)
        if name == "forced":
            assert page.evaluate(WITHOUT_BORDER) == []
            logo = "getComputedStyle(document.querySelector('.masthead .name a'), '::before')"
            assert page.evaluate(f"{logo}.forcedColorAdjust") == "none"

    check("empty")
    page.get_by_role("button", name=texts.narrow).click()
    page.locator("#which input").first.wait_for()
    check("filters")
    ask(page, "Who pays for the heating?", texts.search)
    check("results")
    page.locator("#question textarea").fill(" ")
    page.get_by_role("button", name=texts.search, exact=True).click()
    page.locator("#status .message").first.wait_for()
    check("message")
    for view, link in (
        ("laws", division_link("", (), language)),
        ("article", article_link("housing-12", language)),
        ("about", address("/about", language)),
        ("compare", address("/compare", language)),
    ):
        page.goto(site + link)
        page.locator("main h1, #comparing h1").first.wait_for()
        check(view)
