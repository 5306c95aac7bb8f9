"""A person asks the demo law, reads, narrows, takes away, and comes back."""

import itertools
import json
import re
from typing import Any

import pytest
from browsing import ask, check_looks, check_width, every_look, measure, tabbed, violations
from slow_cases import slow

from ui.ask import EXAMPLES
from ui.language import TEXTS, address

pytestmark = pytest.mark.browser


def say(page: Any, question: str, wait_for: str, search: str = "Search") -> None:
    page.locator("#question").fill(question)
    page.get_by_role("button", name=search, exact=True).click()
    page.locator(wait_for).wait_for()
    page.wait_for_timeout(200)


@every_look
def test_axe_finds_no_violation_on_any_view(open_page, aldermere_page, language, looks):
    texts = TEXTS[language].ask
    page = open_page(aldermere_page.rstrip("/") + address("/", language))
    for view, question, sign in (
        ("empty", None, "#question"),
        ("filters", None, "#which"),
        ("results", "Who pays for the heating?", "#results article"),
        ("message", " ", "#status .message"),
    ):
        if view == "filters":
            page.get_by_text(texts.narrow, exact=True).click()
            page.locator("#which").wait_for()
        if question is not None:
            say(page, question, f"{sign} >> nth=0", texts.search)
        check_looks(page, view, language, looks)
    # It sees a fault where there is one.
    page.emulate_media(color_scheme="light")
    page.evaluate("document.querySelector('h1').innerHTML += '<img src=\"/favicon.svg\">'")
    page.evaluate("document.querySelector('.notice').style.color = '#ccc'")
    assert {fault.split(":")[0] for fault in violations(page)} >= {"image-alt", "color-contrast"}


HEATING = "Who pays for repairs to the heating of a rented dwelling?"


def test_a_reader_asks_reads_and_takes_away(open_page, aldermere_page, tmp_path):
    page = open_page("about:blank", wait=False)
    requests: list[Any] = []
    failed: list[str] = []
    page.on("request", lambda request: requests.append(request))
    page.on("response", lambda r: failed.append(r.url) if r.status >= 400 else None)
    page.goto(aldermere_page)
    page.locator("#link textarea").wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    assert 20 < len(requests) <= 45  # who waits has a phone
    assert page.title() == "Lexarbor"
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Lexarbor"]
    assert page.get_by_role("note").count() == 1

    # An example is asked with one press.
    example = page.locator("button.example").first
    text = example.inner_text()
    example.focus()
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=text).wait_for()
    assert page.get_by_label("Your question").input_value() == text
    # Reading goes on at the results, not at the button that is gone.
    page.locator("#results h2:focus").wait_for()
    page.get_by_label("Your question").fill(HEATING)
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=HEATING).wait_for()
    assert not example.is_visible()

    # The structure is announced, and a result shows the article in its place.
    assert page.locator("#status").get_attribute("role") == "status"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.get_by_role("heading", level=2, name="Results", exact=True).is_visible()
    assert page.title() in ("What the law says · Lexarbor", "Results · Lexarbor")
    first = page.get_by_role("article").first
    assert first.locator(".cite").inner_text().startswith("Article ")
    first.locator(".whole summary").click()
    path = first.locator(".path").get_by_role("listitem")
    assert path.first.inner_text() == "Housing Code of Aldermere"
    assert path.nth(1).inner_text().startswith("Book ")
    assert "In force since" in first.inner_text()
    first.locator(".why summary").click()
    assert "Same words rank 1" in " ".join(first.locator(".ranks").inner_text().split())
    assert "%" not in page.locator("#results").inner_text()

    # What was found is saved as it was shown.
    count = page.get_by_role("article").count()
    texts = {}
    page.locator(".take-away summary").click()
    for kind, suffix in (("json", "json"), ("ris", "ris"), ("csl", "csl.json")):
        with page.expect_download() as download:
            page.locator(f".take-away .save.{kind}").click()
        name = download.value.suggested_filename
        assert re.fullmatch(rf"lexarbor-\d{{4}}-\d\d-\d\d\.{suffix}", name)
        download.value.save_as(tmp_path / kind)
        texts[kind] = (tmp_path / kind).read_text("utf-8")
        assert "Information, not legal advice." in texts[kind]
    assert json.loads(texts["json"])["question"] == HEATING
    assert len(json.loads(texts["json"])["articles"]) == count
    assert len(json.loads(texts["csl"])) == count
    assert texts["ris"].count("TY  - STAT") == count

    # On paper the law stands whole, and without what is pressed.
    hidden = page.locator("#results .whole .law p").last
    assert not hidden.is_visible()
    page.emulate_media(media="print")
    assert hidden.is_visible()
    assert page.get_by_text("Information, not legal advice.").is_visible()
    for pressed in ("#search", ".take-away", "nav.views", "#results .small", "#results summary"):
        assert not page.locator(pressed).first.is_visible()

    own = [each for each in requests if not each.url.startswith("blob:")]
    assert [each.url for each in own if not each.url.startswith(aldermere_page)] == []
    assert failed == []
    # A question travels in a body, so that no address, history or proxy keeps it.
    assert not any("heating" in each.url for each in requests)
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def test_the_keyboard_reaches_everything_in_order_with_a_visible_focus(open_page, aldermere_page):
    page = open_page(aldermere_page)
    # The question has the focus from the start; the skip link comes before all.
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.locator(".skip").focus()
    # The name, the views and the languages come first.
    frame = 1 + page.locator(".masthead nav a").count()
    reached = tabbed(page, frame + 3 + page.locator("button.example").count())
    tags = [markup.partition(" ")[0] for markup, *_ in reached]
    assert tags[: frame + 3] == ["<a"] * frame + [
        "<textarea",
        "<button",
        "<summary>Filters</summary>",
    ]
    assert all('class="example"' in markup for markup, *_ in reached[frame + 3 :])
    assert all(visible for *_, visible in reached)


def test_the_results_fit_every_width_and_a_few_screens_and_law_keeps_its_measure(
    open_page, aldermere_page
):
    page = open_page(aldermere_page)
    ask(page, EXAMPLES[0])
    results = page.locator(".articles > li")
    assert results.count() == 10
    # 320 CSS pixels are 1,280 at 400% zoom.
    for width, height, screens in ((320, 800, 8), (390, 844, 5), (1280, 800, 3.5), (1920, 1080, 3)):
        page.set_viewport_size({"width": width, "height": height})
        check_width(page)
        end = results.last.evaluate("(it) => it.getBoundingClientRect().bottom + scrollY")
        assert end <= screens * height
    # What the answer quotes is not printed again.
    quoted = results.first.get_by_role("link", name="Quoted above")
    assert results.first.locator("article > .law").count() == 0
    quoted.click()
    passage = page.locator(".answer .passage").first
    assert abs(passage.evaluate("(it) => it.getBoundingClientRect().top")) < height
    assert page.locator(".asked q").inner_text() == EXAMPLES[0]
    ask(page, "Who pays for the heating?")
    assert 55 <= measure(page) <= 80


QUESTION = "Who pays for the heating? 50% & more #1"
LAW = "Work Code of Aldermere"


def open_filters(page: Any, name: str = "Filters") -> None:
    page.get_by_text(name, exact=True).click()
    page.get_by_role("checkbox", name=LAW).wait_for()


def test_who_reads_an_article_and_comes_back_finds_the_search_again(open_page, aldermere_page):
    page = open_page(aldermere_page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    ask(page, QUESTION)
    link = page.locator("#results h3 a").nth(7)
    title = link.inner_text()
    number = page.locator("#results .cite").nth(7).inner_text().partition(",")[0]
    link.click()
    page.get_by_role("heading", level=1, name=number).wait_for()
    assert len(page.context.pages) == 1
    page.go_back()
    page.locator(".asked q", has_text=QUESTION).wait_for()
    assert page.locator("#question").input_value() == QUESTION
    assert link.inner_text() == title
    # It stands where it was opened.
    page.wait_for_timeout(300)
    top = link.evaluate("each => each.getBoundingClientRect().top")
    assert 0 < top < page.viewport_size["height"]
    assert not any("heating" in url for url in requests)
    assert page.url == aldermere_page


@pytest.mark.parametrize("path", ["", *slow("fr")])
def test_a_link_leads_to_the_same_search_and_is_never_sent(open_page, aldermere_page, path):
    page = open_page(aldermere_page + path, permissions=["clipboard-read", "clipboard-write"])
    open_filters(page, "Filters" if path == "" else "Filtres")
    page.get_by_role("checkbox", name=LAW).check()
    ask(page, QUESTION, "Search" if path == "" else "Rechercher")
    found = page.locator("#results h3").all_inner_texts()
    page.locator(".copy-link").click()
    page.get_by_role("button", name=re.compile("Copied|Copié")).wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{aldermere_page}{path}#q=")
    other = open_page("about:blank", wait=False, permissions=[])
    sent: list[str] = []
    other.on("request", lambda request: sent.append(request.url))
    other.goto(link)
    other.locator(".asked q", has_text=QUESTION).wait_for()
    assert other.locator("#results h3").all_inner_texts() == found
    assert other.get_by_role("checkbox", name=LAW).is_checked()
    assert sent
    # What the browser knows of an address behind its # stays there.
    assert not any("heating" in url.partition("#")[0] for url in sent)
