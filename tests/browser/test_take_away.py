"""A reader narrows a search, comes back to it, links to it and takes away what was found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

QUESTION = "Who pays for the heating? 50% & more #1"
LAW = "Work Code of Aldermere (invented)"


def ask(page: Any, question: str, name: str = "Search") -> None:
    page.locator("#question textarea").fill(question)
    page.get_by_role("button", name=name, exact=True).click()
    page.locator(".asked q", has_text=question).wait_for()


def laws_found(page: Any) -> set[str]:
    return set(page.locator("#results h3 span").all_inner_texts())


def open_filters(page: Any, name: str = "Filters") -> None:
    page.get_by_role("button", name=name).click()
    page.get_by_role("checkbox", name=LAW).wait_for()


def test_a_search_is_narrowed_to_a_law_and_a_day(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, "notice")
    assert len(laws_found(page)) > 1
    open_filters(page)
    page.get_by_role("checkbox", name=LAW).check()
    page.get_by_role("radio", name="In force on the day, or undated").check()
    day = page.locator("#day input")
    assert day.get_attribute("type") == "date"
    day.fill("1900-01-01")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#status").get_by_text("The search was narrowed").wait_for()
    day.fill("2024-02-29")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".narrowed").wait_for()
    assert laws_found(page) == {LAW}
    told = page.locator(".narrowed").inner_text()
    assert LAW in told
    assert "29 February 2024" in told


def test_who_reads_an_article_and_comes_back_finds_the_search_again(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    ask(page, QUESTION)
    first = page.locator("#results h3 a").first
    title = first.inner_text()
    first.click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    assert len(page.context.pages) == 1
    page.go_back()
    page.locator(".asked q", has_text=QUESTION).wait_for()
    assert page.locator("#question textarea").input_value() == QUESTION
    assert page.locator("#results h3 a").first.inner_text() == title
    assert not any("heating" in url for url in requests)
    assert page.url == aldermere_page


@pytest.mark.parametrize("path", ["", "fr"])
def test_a_link_leads_to_the_same_search_and_is_never_sent(
    open_page: Callable[..., Any], aldermere_page: str, path: str
):
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


def test_the_other_language_goes_on_with_the_same_search(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, QUESTION)
    found = page.locator("#results h3").all_inner_texts()
    page.get_by_role("link", name="Français").click()
    page.get_by_role("heading", level=2, name="10 articles trouvés").wait_for()
    assert page.locator("html").get_attribute("lang") == "fr"
    assert page.locator("#results h3").all_inner_texts() == found


@pytest.mark.parametrize(
    ("kind", "suffix"), [("json", ".json"), ("ris", ".ris"), ("csl", ".csl.json")]
)
def test_what_was_found_is_saved_as_it_was_shown(
    open_page: Callable[..., Any], aldermere_page: str, tmp_path: Path, kind: str, suffix: str
):
    page = open_page(aldermere_page)
    ask(page, QUESTION)
    with page.expect_download() as download:
        page.locator(f".take-away .save.{kind}").click()
    assert re.fullmatch(
        r"lexarbor-\d{4}-\d\d-\d\d" + re.escape(suffix), download.value.suggested_filename
    )
    download.value.save_as(tmp_path / "saved")
    text = (tmp_path / "saved").read_text("utf-8")
    assert "Information, not legal advice." in text
    count = page.get_by_role("article").count()
    if kind == "json":
        assert json.loads(text)["question"] == QUESTION
        assert len(json.loads(text)["articles"]) == count
    elif kind == "csl":
        assert len(json.loads(text)) == count
    else:
        assert text.count("TY  - STAT") == count


def test_a_citation_is_copied(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page, permissions=["clipboard-read", "clipboard-write"])
    ask(page, "art. 12 Housing Code")
    first = page.get_by_role("article").first
    first.get_by_role("button", name="Copy the citation").click()
    first.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "Housing Code of Aldermere (invented), article 12"
    first.get_by_role("button", name="Copy the citation").wait_for()


def test_what_is_copied_twice_in_a_row_can_be_copied_again(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page, permissions=["clipboard-read", "clipboard-write"])
    ask(page, QUESTION)
    pressed = page.locator(".copy-link")
    said = page.locator(".masthead [role=status]")
    for _ in range(2):
        pressed.click()
        page.get_by_role("button", name="Copied").wait_for()
        assert said.inner_text() == "Copied"
    page.wait_for_timeout(2_500)
    assert pressed.inner_text() == "Copy a link to this question"
    assert said.text_content() == ""


def test_on_paper_the_law_stands_whole_and_without_what_is_pressed(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, "notice by the landlord to end an open-ended tenancy")
    hidden = page.locator("#results details p").last
    assert not hidden.is_visible()
    page.emulate_media(media="print")
    assert hidden.is_visible()
    assert page.get_by_text("Information, not legal advice.").is_visible()
    for pressed in ("#search", ".take-away", "nav.views", "#results .small", "#results summary"):
        assert not page.locator(pressed).first.is_visible()


def test_who_used_the_skip_link_finds_the_search_again_too(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, QUESTION)
    page.locator("a.skip").press("Enter")
    page.wait_for_timeout(300)
    first = page.locator("#results h3 a").first
    title = first.inner_text()
    first.click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    page.go_back()
    page.locator(".asked q", has_text=QUESTION).wait_for()


def test_a_link_is_followed_from_a_page_that_shows_a_message(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#status .message").wait_for()
    page.evaluate("location.hash = 'q=deposit'")
    page.locator(".asked q", has_text="deposit").wait_for()


def test_a_link_to_the_search_that_is_shown_asks_once_at_most(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, "deposit back")
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url) if each.method == "POST" else None)
    page.evaluate("location.hash = 'q=deposit%20back'")
    page.wait_for_timeout(3_500)
    assert len(asked) <= 1


def test_a_day_that_is_none_is_not_left_in_the_field(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page + "#q=deposit&day=never")
    page.locator("#status", has_text="This is not a day.").wait_for()
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".asked q", has_text="deposit").wait_for()


def test_a_link_to_a_law_among_very_many_names_it_in_its_field(
    open_page: Callable[..., Any], serve_store: Callable[..., str]
):
    laws = [f"Act {number}" for number in range(201)]
    address = serve_store(
        [
            {"id": law, "law": law, "number": "1", "headings": [], "text": "A deposit is owed."}
            for law in laws
        ]
    )
    page = open_page(f"{address}#q=deposit&law=Act+7")
    page.locator(".narrowed", has_text="Act 7").wait_for()
    assert laws_found(page) == {"Act 7"}
    law = page.locator("#law").get_by_role("textbox")
    assert law.input_value() == "Act 7"
    law.fill("")
    ask(page, "owed")
    assert page.locator(".narrowed").count() == 0
    law.fill("no such")
    law.press("Enter")
    page.locator("#status", has_text="No law has such a name.").wait_for()
