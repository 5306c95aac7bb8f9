"""The law itself, in a browser: from an article through its place and back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from haystack import Document
from small_law import document, in_order, read_places

from ui.law.links import article_link, division_link, picture_link

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CODE = "Housing Code of Aldermere (invented)"
WAY = [
    "Book I. Letting of dwellings",
    "Title 2. Entering into a tenancy",
    "Chapter 2. Security and change of landlord",
]
ARTICLE = "housing-12"


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def words(text: str | None) -> str:
    return " ".join((text or "").split())


@pytest.fixture(scope="module")
def serve_law(
    serve_site: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Sequence[Document]], str]:
    """Serve the views of the law over articles; gives their address."""

    def start(documents: Sequence[Document]) -> str:
        from components.stores.sqlite import StatuteDocumentStore
        from ui.collection import Collection
        from ui.law.routes import law_routes
        from ui.server import build_server

        store = StatuteDocumentStore(str(tmp_path_factory.mktemp("law") / "law.db"))
        store.write_documents(in_order(documents))
        routes = law_routes(read_places(store), lambda: Collection.of(store))
        return serve_site(build_server({}, routes)).rstrip("/")

    return start


@pytest.fixture(scope="module")
def aldermere(serve_law: Callable[[Sequence[Document]], str], aldermere_articles: Path) -> str:
    """The demo law."""
    given = [json.loads(line) for line in aldermere_articles.read_text("utf-8").splitlines()]
    return serve_law(
        [Document(id=each.pop("id"), content=each.pop("text"), meta=each) for each in given]
    )


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation_on_any_view(
    open_page: Callable[..., Any],
    aldermere: str,
    language: str,
    scheme: str,
    device: str,
    width: int,
):
    page = open_page(
        "about:blank", wait=False, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    SCREENSHOTS.mkdir(exist_ok=True)
    for view, link in (
        ("laws", division_link("", (), language)),
        ("division", division_link(CODE, WAY, language)),
        ("article", article_link(ARTICLE, language)),
        ("article-on-a-day", article_link(ARTICLE, language, on="2015-01-01")),
    ):
        page.goto(aldermere + link)
        if view == "article":
            page.locator(".picture img").scroll_into_view_if_needed()
            page.locator(".picture img").evaluate("(image) => image.decode()")
        name = f"law-{view}-{language}-{device}-{scheme}.png"
        page.screenshot(path=SCREENSHOTS / name, full_page=True)
        assert violations(page) == []
        for summary in page.locator("main summary").all():
            summary.click()
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_where_nothing_is(chromium: Any, aldermere: str, scheme: str):
    """Apart from `open_page`, for which the browser's word on a 404 is a fault."""
    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    for view, link in (
        ("missing", "/article?id=housing-121"),
        ("wrong", "/fr/article?id=housing-12&on=2026-02-30"),
        ("nowhere", "/nothing"),
    ):
        assert page.goto(aldermere + link).status in (400, 404)
        page.screenshot(path=SCREENSHOTS / f"law-{view}-desk-{scheme}.png", full_page=True)
        assert violations(page) == []
    context.close()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_walk_from_an_article_through_its_divisions_and_back(
    open_page: Callable[..., Any], aldermere: str, language: str
):
    page = open_page(aldermere + article_link(ARTICLE, language), wait=False)
    main = page.get_by_role("main")
    heading = page.get_by_role("heading", level=1)
    assert words(heading.text_content()) == f"Article 12 {CODE}"
    steps = page.locator(".trail").get_by_role("listitem").all_text_contents()
    assert steps[1:5] == [CODE, *WAY]
    assert steps[-1] == "Article 12"
    page.locator(".trail").get_by_role("link", name=WAY[-1]).click()
    assert heading.text_content() == WAY[-1]
    inner = main.get_by_role("link", name="Section 1. Amount and safekeeping")
    inner.click()
    assert main.locator(".contents a").all_text_contents() == [
        "Article 12",
        "Article 13",
        "Article 13-1",
    ]
    next_division = main.locator("nav a[rel=next]")
    told = words(next_division.text_content())
    next_division.click()
    assert told.endswith(words(heading.text_content()))
    main.locator("nav a[rel=prev]").click()
    main.get_by_role("link", name="Article 13", exact=True).click()
    assert words(heading.text_content()) == f"Article 13 {CODE}"
    page.locator(".sequence").get_by_role("link").first.click()
    assert words(heading.text_content()) == f"Article 12 {CODE}"
    page.locator(".place").get_by_role("link", name="Article 24").click()
    assert "Family Code" in words(heading.text_content())
    page.go_back()
    assert words(heading.text_content()) == f"Article 12 {CODE}"
    # The same page in the other language.
    other = "Français" if language == "en" else "English"
    page.get_by_role("link", name=other).click()
    assert words(heading.text_content()) == f"Article 12 {CODE}"
    assert page.locator("html").get_attribute("lang") == ("fr" if language == "en" else "en")


def test_the_state_on_another_day_is_asked_with_a_form(
    open_page: Callable[..., Any], aldermere: str
):
    page = open_page(aldermere + article_link(ARTICLE, "en"), wait=False)
    assert words(page.locator(".state").text_content()) == "In force since 1 January 2019"
    page.get_by_text("Was it in force on another day?").click()
    page.get_by_label("Day").fill("2018-06-30")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("On 30 June 2018:").wait_for()
    assert words(page.locator(".state").text_content()).startswith("Not yet in force")
    page.get_by_role("link", name="Back to today").click()
    assert words(page.locator(".state").text_content()) == "In force since 1 January 2019"


def test_the_citation_and_the_link_are_copied(open_page: Callable[..., Any], aldermere: str):
    page = open_page(
        aldermere + article_link(ARTICLE, "en"),
        wait=False,
        permissions=["clipboard-read", "clipboard-write"],
    )
    texts = page.locator(".keep .copyable")
    assert texts.all_text_contents() == [
        f"{CODE}, article 12",
        aldermere + article_link(ARTICLE, "en"),
    ]
    buttons = page.locator(".keep").get_by_role("button")
    for number in range(2):
        assert texts.nth(number).is_visible()
        buttons.nth(number).click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == texts.nth(number).text_content()


def test_a_file_is_taken_away(open_page: Callable[..., Any], aldermere: str):
    page = open_page(aldermere + article_link(ARTICLE, "en"), wait=False)
    for name, suffix in (("JSON", ".json"), ("RIS", ".ris"), ("CSL-JSON", ".csl.json")):
        with page.expect_download() as download:
            page.locator(".keep").get_by_role("link", name=name, exact=True).click()
        assert download.value.suggested_filename == f"housing-12{suffix}"
        assert "not legal advice" in Path(download.value.path()).read_text("utf-8")


def test_the_keyboard_reaches_everything_in_order_with_a_visible_focus(
    open_page: Callable[..., Any], aldermere: str
):
    page = open_page(aldermere + article_link(ARTICLE, "en"), wait=False)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Go to the content"
    page.wait_for_url("**#main")
    expected = page.evaluate(
        "[...document.querySelectorAll('main :is(a, button, summary, input)')]"
        ".filter((it) => it.checkVisibility() && it.type !== 'hidden').length"
    )
    reached = []
    for _ in range(expected):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(() => { const it = document.activeElement, look = getComputedStyle(it);"
                " const box = it.getBoundingClientRect();"
                " return [it.outerHTML.slice(0, 400), parseFloat(look.outlineWidth),"
                " look.outlineStyle, box.top + scrollY, box.left] })()"
            )
        )
    assert len({each[0] for each in reached}) > 15
    assert "trail" not in reached[-1][0]
    assert all(width >= 2 and style == "solid" for _, width, style, *_ in reached)
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("width", [320, 640, 1024, 1920])
def test_every_view_fits_every_width_and_law_keeps_its_measure(
    open_page: Callable[..., Any],
    serve_law: Callable[[Sequence[Document]], str],
    width: int,
    aldermere: str,
):
    """320 CSS pixels are 1,280 at 400% zoom."""
    long = "Internationalisierungs" * 8
    hard = serve_law(
        [
            document(n, (f"Book {long}", long), law=f"Law {long}", id=f"{n}{long}")
            for n in range(150)
        ]
    )
    page = open_page("about:blank", wait=False, viewport={"width": width, "height": 800})
    for link in (
        aldermere + division_link("", (), "en"),
        aldermere + division_link(CODE, WAY, "fr"),
        aldermere + article_link(ARTICLE, "fr"),
        hard + article_link(f"70{long}", "fr", on="2020-01-01"),
        hard + division_link(f"Law {long}", [f"Book {long}", long], "fr", 2),
    ):
        page.goto(link)
        for summary in page.locator("main summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, link
    if width >= 1024:
        page.goto(aldermere + article_link(ARTICLE, "en"))
        measure = page.evaluate(
            """() => {
              const text = [...document.querySelectorAll('.law p.numbered')]
                .sort((a, b) => b.textContent.length - a.textContent.length)[0];
              const lines = text.getBoundingClientRect().height
                / parseFloat(getComputedStyle(text).lineHeight);
              return text.textContent.length / (lines - 0.5);
            }"""
        )
        assert 55 <= measure <= 80


def test_on_paper_the_law_is_without_what_is_pressed(open_page: Callable[..., Any], aldermere: str):
    page = open_page("about:blank", wait=False)
    for link, kept, pressed in (
        (article_link(ARTICLE, "en", on=date(2015, 1, 1)), ".standing > p >> nth=0", ".today"),
        (division_link(CODE, WAY, "en", on=date(2015, 1, 1)), ".that-day", ".that-day a"),
    ):
        page.goto(aldermere + link)
        assert page.locator(pressed).is_visible()
        page.emulate_media(media="print")
        assert page.locator(kept).is_visible()
        assert not page.locator(pressed).is_visible()
        page.emulate_media(media="screen")


def test_the_structure_is_announced(open_page: Callable[..., Any], aldermere: str):
    page = open_page(aldermere + article_link(ARTICLE, "fr"), wait=False)
    assert page.title() == f"{CODE}, article 12 · Lexarbor"
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("note").count() == 1
    assert page.get_by_role("navigation", name="Où vous êtes").count() == 1
    assert page.get_by_role("region", name="Place dans la loi").count() == 1
    # The law's own words are in its language.
    assert page.locator(".law").get_attribute("lang") == "en"
    assert page.locator(".trail li > [lang=en]").count() == 5
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_no_request_leaves_the_page_and_it_works_without_a_script(chromium: Any, aldermere: str):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(aldermere + article_link(ARTICLE, "en"))
    page.locator(".trail a").last.click()
    page.get_by_role("link", name="Article 13", exact=True).click()
    assert "Article 13" in words(page.get_by_role("heading", level=1).text_content())
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith(aldermere)] == []


def test_forty_payloads_show_as_text_on_every_view(
    open_page: Callable[..., Any],
    serve_law: Callable[[Sequence[Document]], str],
    payloads: list[str],
):
    assert len(payloads) == 40
    documents = []
    for number, payload in enumerate(payloads):
        given = {
            "id": f"{number} {payload}",
            "law": f"Law {number} {payload}",
            "text": f"(1) As article {number} b says: {payload}",
            "source_url": f"https://law.example/{payload}" if number % 2 else payload,
            "language": payload,
        }
        headings = [f"Book {payload}", f"Title {payload}"]
        documents.append(document(f"{number} {payload}", headings, **given))
        given["id"] += " b"
        documents.append(document(f"{number} b {payload}", headings, **given))
    site = serve_law(documents)
    page = open_page("about:blank", wait=False)
    # Without Gradio nobody serves what a browser asks for beside a picture alone.
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: foreign.append(dialog.message))
    title = page.get_by_role("heading", level=1)
    page.goto(f"{site}/law")
    laws = [words(text) for text in page.locator(".contents a").all_text_contents()]
    assert laws == [words(f"Law {number} {payload}") for number, payload in enumerate(payloads)]
    for number, payload in enumerate(payloads):
        law, way = f"Law {number} {payload}", [f"Book {payload}", f"Title {payload}"]
        language = "fr" if number % 2 else "en"
        page.goto(site + division_link(law, way, language))
        assert words(title.text_content()) == words(way[1])
        steps = [words(text) for text in page.locator(".trail li").all_text_contents()]
        assert steps[1:] == [words(law), words(way[0]), words(way[1])]
        page.locator(".contents a").first.click()
        assert words(title.text_content()) == words(f"{number} {payload} {law}")
        assert words(page.locator(".law").text_content()) == words(documents[2 * number].content)
        assert words(payload) in words(page.locator(".siblings").text_content())
        hrefs = page.locator("main a").evaluate_all("(all) => all.map((a) => a.href)")
        assert all(href.startswith(("http://", "https://")) for href in hrefs), hrefs
        source = words(page.locator("img").get_attribute("src"))
        assert source == picture_link(f"{number} {payload}", language)
        page.locator("img").scroll_into_view_if_needed()
        page.locator(".picture img").evaluate("(image) => image.decode()")
        page.goto(site + picture_link(f"{number} {payload}", language))
        assert words(law)[:40] in words(page.evaluate("document.documentElement.textContent"))
        assert page.locator("script, foreignObject, a, image").count() == 0
        assert page.evaluate("window.pwned") is None
    assert [url for url in foreign if not url.startswith(site)] == []


def test_what_is_asked_wrongly_is_text_too(chromium: Any, aldermere: str, payloads: list[str]):
    context = chromium.new_context()
    page = context.new_page()
    for payload in payloads:
        for link in (
            article_link(payload, "en"),
            article_link(ARTICLE, "fr", on=payload),
            division_link(payload, (), "en"),
            division_link(CODE, [payload], "fr"),
            f"/law?{quote(payload)}=1",
        ):
            page.goto(aldermere + link)
            shown = payload if len(payload) <= 80 else payload[:80]
            assert words(shown) in words(page.locator(".refusal > p").text_content()), link
            assert page.evaluate("window.pwned") is None
    context.close()
