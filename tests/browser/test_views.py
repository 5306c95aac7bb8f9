"""The law, its picture, and Compare, in a browser."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from browsing import check_looks, check_width, every_look, measure, tabbed, words

from components.statutes.corpus import StatuteCorpus
from pipelines.tree import Attention, Neighbourhood, draw_picture, neighbourhood
from ui.language import address, article_link, division_link

pytestmark = pytest.mark.browser
CODE = "Housing Code of Aldermere (invented)"
NAME = "Housing Code of Aldermere"
WAY = [
    "Book I. Letting of dwellings",
    "Title 2. Entering into a tenancy",
    "Chapter 2. Security and change of landlord",
]
ARTICLE = "housing-12"


@every_look
def test_axe_finds_no_violation_in_the_law(open_page, site, language, looks):
    page = open_page("about:blank", wait=False)
    for view, link in (
        ("laws", division_link("", (), language)),
        ("division", division_link(CODE, WAY, language)),
        ("article", article_link(ARTICLE, language)),
        ("article-on-a-day", article_link(ARTICLE, language, on="2015-01-01")),
    ):
        page.goto(site + link)
        if view == "article":
            page.locator(".picture svg").scroll_into_view_if_needed()
        for summary in page.locator("main summary").all():
            summary.click()
        check_looks(page, f"law-{view}", language, looks)


def test_the_keyboard_reaches_everything_in_order_with_a_visible_focus(open_page, site):
    page = open_page(site + article_link(ARTICLE, "en"), wait=False)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Go to the content"
    page.wait_for_url("**#main")
    expected = page.evaluate(
        "[...document.querySelectorAll('main :is(a, button, summary, input, [tabindex=\"0\"])')]"
        ".filter((it) => it.checkVisibility() && it.type !== 'hidden').length"
    )
    reached = tabbed(page, expected)
    assert len({markup for markup, *_ in reached}) > 15
    assert all(visible for *_, visible in reached)
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') === null")


def test_every_view_fits_every_width_and_law_keeps_its_measure(open_page, serve_store, site):
    """320 CSS pixels are 1,280 at 400% zoom."""
    long = "Internationalisierungs" * 8
    fields = {"law": f"Law {long}", "headings": [f"Book {long}", long], "text": "A rule."}
    hard = serve_store(
        [{"id": f"{n}{long}", "number": str(n), **fields} for n in range(150)]
    ).rstrip("/")
    page = open_page("about:blank", wait=False)
    for link in (
        site + division_link("", (), "en"),
        site + division_link(CODE, WAY, "fr"),
        hard + article_link(f"70{long}", "fr", on="2020-01-01"),
        hard + division_link(f"Law {long}", [f"Book {long}", long], "fr"),
        site + article_link(ARTICLE, "en"),
    ):
        page.goto(link)
        for summary in page.locator("main summary").all():
            summary.click()
        for width in (320, 1024):
            page.set_viewport_size({"width": width, "height": 800})
            check_width(page)
    assert 55 <= measure(page) <= 80


def test_no_request_leaves_the_page_and_it_works_without_a_script(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site + article_link(ARTICLE, "en"))
    page.locator(".trail a").last.click()
    page.get_by_role("link", name="Article 13", exact=True).click()
    assert "Article 13" in words(page.get_by_role("heading", level=1).text_content())
    page.goto(site)
    page.get_by_label("Your question").fill("the landlord keeps my deposit")
    page.get_by_role("button", name="Search").click()
    assert page.locator(".articles > li").count() == 10
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith(site)] == []
    # A question is in no address.
    assert not any("keeps" in url for url in asked)


QUESTION = "My ex won't let me see our daughter at weekends."
COMPARISON = "#results .comparison"


@pytest.fixture
def open_view(open_page, site) -> Callable[..., Any]:
    def opened(path: str = "/compare", **options: Any) -> Any:
        page = open_page(site + path, wait=False, **options)
        page.locator("#link textarea").wait_for(state="attached")
        return page

    return opened


def compare(page: Any, question: str, wait_for: str = COMPARISON) -> None:
    page.locator("#question").fill(question)
    page.locator("#search").click()
    page.locator(wait_for).wait_for()
    page.wait_for_timeout(200)


@every_look
def test_a_reader_sees_what_moved_why_and_the_times(open_view, language, looks):
    path = address("/compare", language)
    left, right, moved, caption = {
        "en": ("Left", "Right", r"(Up|Down) \d+, from place \d+ on the left", "Time of each"),
        "fr": ("Gauche", "Droite", r"(Monte|Descend) de \d+", "Durée de chaque"),
    }[language]
    page = open_view(path)
    for side, chosen in ((left, "lexical"), (right, "hybrid")):
        group = page.get_by_role("group", name=side)
        assert group.get_by_role("radio").count() == 3
        assert group.get_by_role("radio", checked=True).get_attribute("value") == chosen
    # Each group of choices is one stop of the keyboard.
    radios = page.locator("#choices [type=radio]")
    assert len(set(radios.evaluate_all("(all) => all.map((it) => it.name)"))) == 2
    check_looks(page, "compare-empty", language, looks)
    compare(page, QUESTION)
    lists = page.locator(".side")
    titles = [words(text) for text in lists.get_by_role("heading").all_inner_texts()]
    assert [title.replace(" :", ":") for title in titles] == [
        f"{left}: lexical",
        f"{right}: hybrid",
    ]
    assert lists.nth(0).locator(".places > li").count() == 10
    assert lists.nth(1).locator(".places > li").count() == 10
    told = lists.nth(1).locator(".movement").all_inner_texts()
    assert any(re.match(moved, each) for each in told)
    # What only meaning finds: BM25 has nothing to say of it.
    new = lists.nth(1).locator("li.new").first
    assert "BM25" in new.locator(".facts").inner_text()
    table = page.get_by_role("table", name=re.compile(caption))
    assert table.get_by_role("row").count() == 8
    figures = table.locator("tbody .figure").all_inner_texts()
    assert len(figures) == 10
    assert all(re.fullmatch(r"\d+[.,]\d", figure) for figure in figures)
    assert page.locator("#status").get_attribute("role") == "status"
    assert page.locator("#status").inner_text().strip() != ""
    link = lists.nth(0).get_by_role("link").first.get_attribute("href")
    assert link.startswith(path.replace("/compare", "/article?id="))
    check_looks(page, "compare-results", language, looks)
    # The lists stand side by side where they can; 320 CSS pixels are 1,280 at 400% zoom.
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        check_width(page)
        tops = [each.bounding_box()["y"] for each in lists.all()]
        assert (tops[0] == tops[1]) == (width >= 1280)
        cut = page.evaluate(
            "[...document.querySelectorAll('.comparison :is(th, td, p, li)')]"
            ".filter((it) => it.scrollWidth > it.clientWidth + 1 && !it.matches('.unseen *'))"
            ".map((it) => it.outerHTML)"
        )
        assert cut == []
    compare(page, " ", "#status .message")
    check_looks(page, "compare-message", language, looks)


def test_an_example_is_compared_by_the_pipelines_that_were_chosen(open_view):
    page = open_view()
    entries = page.evaluate("history.length")
    page.get_by_role("group", name="Left").get_by_role("radio").nth(1).check()
    page.locator(".example").first.click()
    page.locator(".side", has_text="Left: dense").wait_for()
    assert page.evaluate("history.length") == entries


# Where the rows and the cards are drawn, and where the lines begin and end.
LINES = """() => {
  const top = document.querySelector('svg').getBoundingClientRect().top;
  const boxes = (chosen) => [...document.querySelectorAll(chosen)].map((it) => {
    const box = it.getBoundingClientRect();
    return [box.top - top, box.bottom - top];
  });
  const ends = (chosen) => [...document.querySelectorAll(chosen)].map((it) => {
    const last = it.getPointAtLength(it.getTotalLength());
    return [it.getPointAtLength(0).y, last.y];
  });
  return {
    own: boxes('.row.self')[0],
    neighbours: boxes('.row:has(.role)'),
    cards: boxes('.cards li'),
    arcs: ends('path.sequence'),
    arrows: ends('path.citation'),
  };
}"""


def shares_of(place: Neighbourhood) -> Attention:
    cited = {each.id: 0.1 / len(place.cites) for each in place.cites}
    citing = {each.id: 0.1 / len(place.cited_by) for each in place.cited_by}
    return Attention(0.3, 0.3, 0.1, 0.1, cited, citing)


def test_lines_lead_from_the_article_to_its_neighbours_and_citations(open_page, tmp_path):
    corpus = StatuteCorpus.read("aldermere")
    place = neighbourhood(corpus, corpus.position(ARTICLE))
    (tmp_path / "tree.html").write_text(draw_picture(place, shares_of(place), "Note. " * 60))
    page = open_page((tmp_path / "tree.html").as_uri(), wait=False)
    page.set_viewport_size({"width": 1280, "height": 900})
    drawn = page.evaluate(LINES)
    assert len(drawn["arcs"]) == 2
    assert drawn["arrows"]
    top, bottom = drawn["own"]
    for lines, ends in (("arcs", "neighbours"), ("arrows", "cards")):
        for (begin, end), box in zip(drawn[lines], drawn[ends], strict=True):
            assert top < begin < bottom
            assert end == pytest.approx(sum(box) / 2, abs=1)
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        check_width(page)


def test_a_question_that_is_asked_while_a_law_is_read_may_be_kept_to_it(open_page, site):
    page = open_page(site + article_link(ARTICLE, "en"), wait=False)
    page.get_by_label("Ask a question").fill("child support")
    page.get_by_label("In this law only").check()
    page.locator(".find button").click()
    page.locator(".narrowed", has_text=NAME).wait_for()
    assert page.locator("#question").input_value() == "child support"
