"""Compare, as a person uses it: two lists that differ, why, and how long each stage took."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
QUESTION = "My ex won't let me see our daughter at weekends."
COMPARISON = "#results .comparison"


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


@pytest.fixture(scope="module")
def serve_comparison(serve_site: Callable[..., str]) -> Callable[[Path], str]:
    """Serve the view over a store, in both languages; gives the address of the site."""
    import gradio as gr

    from components.stores.sqlite import StatuteDocumentStore
    from ui.collection import Collection
    from ui.compare.compared import Compared
    from ui.compare.view import build_compare
    from ui.language import LANGUAGES, address
    from ui.server import build_server

    def start(path: Path) -> str:
        store = StatuteDocumentStore(str(path))
        compared, collection = Compared(lambda: store), Collection.of(store)
        pages: dict[str, gr.Blocks] = {}
        for language in LANGUAGES:
            # Gradio's own files are read from below the view above.
            pages[address("/", language)] = gr.Blocks(analytics_enabled=False)
            pages[address("/compare", language)] = build_compare(
                compared, lambda: collection, language
            )
        return serve_site(build_server(pages)).rstrip("/")

    return start


@pytest.fixture(scope="module")
def site(
    serve_comparison: Callable[[Path], str],
    tmp_path_factory: pytest.TempPathFactory,
    aldermere_articles: Path,
    minilm: str,
) -> str:
    """The beginnings of two of the demo's laws under the untrained model."""
    from pipelines.indexing import index_corpus

    folder = tmp_path_factory.mktemp("compare")
    lines = aldermere_articles.read_text("utf-8").splitlines()
    kept = [
        line
        for law in ("housing", "family")
        for line in [each for each in lines if json.loads(each)["id"].startswith(law)][:32]
    ]
    (folder / "articles.jsonl").write_text("\n".join(kept), "utf-8")
    index_corpus(folder / "articles.jsonl", folder / "law.db", model=minilm)
    return serve_comparison(folder / "law.db")


@pytest.fixture
def open_view(open_page: Callable[..., Any], site: str) -> Callable[..., Any]:
    def opened(path: str = "/compare", **options: Any) -> Any:
        page = open_page(site + path, wait=False, **options)
        page.locator("#choices fieldset[aria-label]").nth(1).wait_for()
        return page

    return opened


def compare(page: Any, question: str, wait_for: str = COMPARISON) -> None:
    page.locator("#question textarea").fill(question)
    page.locator("#search").click()
    page.locator(wait_for).wait_for()
    page.wait_for_timeout(200)


@pytest.mark.parametrize(
    ("path", "left", "right", "moved", "caption"),
    [
        ("/compare", "Left", "Right", r"(Up|Down) \d+, from place \d+ on the left", "Time of each"),
        ("/fr/compare", "Gauche", "Droite", r"(Monte|Descend) de \d+, depuis", "Durée de chaque"),
    ],
)
def test_a_reader_sees_what_moved_why_and_the_times(
    open_view: Callable[..., Any], path: str, left: str, right: str, moved: str, caption: str
) -> None:
    page = open_view(path)
    for side, chosen in ((left, "lexical"), (right, "hybrid")):
        group = page.get_by_role("group", name=side)
        assert group.get_by_role("radio").count() == 3
        assert group.get_by_role("radio", checked=True).get_attribute("value") == chosen
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


@pytest.mark.parametrize("path", ["/compare", "/fr/compare"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation(
    open_view: Callable[..., Any], path: str, scheme: str, device: str, width: int
) -> None:
    page = open_view(path, color_scheme=scheme, viewport={"width": width, "height": 900})
    SCREENSHOTS.mkdir(exist_ok=True)
    name = "compare-fr" if path.startswith("/fr") else "compare"
    for view, question, sign in (
        ("empty", None, "#question"),
        ("results", QUESTION, COMPARISON),
        ("message", " ", "#status .message"),
    ):
        if question is not None:
            compare(page, question, sign)
        page.screenshot(path=SCREENSHOTS / f"{name}-{view}-{device}-{scheme}.png", full_page=True)
        assert violations(page) == []


def test_the_keyboard_chooses_compares_and_reaches_every_article(
    open_view: Callable[..., Any],
) -> None:
    page = open_view()
    page.locator("#question textarea").focus()
    page.keyboard.type("deposit")
    reached = []
    for _ in range(7):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(() => { const it = document.activeElement, look = getComputedStyle(it);"
                " return [it.value || it.id || it.className, parseFloat(look.outlineWidth),"
                " look.outlineStyle] })()"
            )
        )
    # Each group of choices is one stop; the arrow keys choose in it.
    assert [name for name, *_ in reached[:3]] == ["lexical", "hybrid", "search"]
    assert all("example" in name for name, *_ in reached[3:])
    assert all(width >= 2 and style == "solid" for _, width, style in reached)
    page.locator("#question textarea").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(200)
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(200)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(COMPARISON).wait_for()
    assert page.locator(".side h3").first.inner_text() == "Left: dense"
    page.locator(".title a").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.title a')[1]")


def test_an_example_is_compared_and_reading_goes_on_at_the_results(
    open_view: Callable[..., Any],
) -> None:
    page = open_view()
    page.locator("button.example").first.focus()
    page.keyboard.press("Enter")
    page.locator(COMPARISON).wait_for()
    assert page.locator("#question textarea").input_value() == QUESTION
    page.wait_for_function("document.activeElement.tagName === 'H2'")


def test_a_citation_leads_everywhere_to_the_same_article(open_view: Callable[..., Any]) -> None:
    page = open_view()
    compare(page, "art. 12 Housing Code")
    for side in page.locator(".side").all():
        first = side.locator(".places > li").first
        assert words(first.locator(".title").inner_text()).startswith("Article 12 Housing Code")
        assert first.get_attribute("class") == "same"
        assert "Citation: place 1 on both sides" in first.locator(".facts").inner_text()


def test_each_refusal_has_its_own_message(open_view: Callable[..., Any]) -> None:
    page = open_view()
    said = []
    for question in (" ", "x" * 2001):
        compare(page, question, "#status .message")
        said.append(page.locator("#status strong").inner_text())
        assert page.locator(COMPARISON).count() == 0
    page.get_by_role("group", name="Right").get_by_role("radio").first.check()
    compare(page, "deposit", "#status .message >> text=the same")
    said.append(page.locator("#status strong").inner_text())
    assert said == [
        "There is no question yet.",
        "Your question is too long.",
        "Both sides are the same.",
    ]


@pytest.mark.parametrize("width", [320, 390, 640, 1280, 1920])
def test_it_fits_every_width_and_the_lists_stand_side_by_side_where_they_can(
    open_view: Callable[..., Any], width: int
) -> None:
    """320 CSS pixels are 1,280 at 400% zoom."""
    page = open_view(viewport={"width": width, "height": 800})
    compare(page, QUESTION)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    left, right = (each.bounding_box() for each in page.locator(".side").all())
    assert (left["y"] == right["y"]) == (width >= 1280)
    cut = page.evaluate(
        "[...document.querySelectorAll('.comparison :is(th, td, p, li)')]"
        ".filter((it) => it.scrollWidth > it.clientWidth + 1 && !it.matches('.unseen *'))"
        ".map((it) => it.outerHTML)"
    )
    assert cut == []


def test_figures_are_right_aligned_and_movement_is_told_by_more_than_colour(
    open_view: Callable[..., Any],
) -> None:
    page = open_view()
    compare(page, QUESTION)
    rights = page.evaluate(
        "[...document.querySelectorAll('td:last-child .figure')].map((it) =>"
        " Math.round(it.getBoundingClientRect().right))"
    )
    assert len(set(rights)) == 1
    signs = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.places > li')].map((it) =>"
        " [it.className, getComputedStyle(it.querySelector('.movement'), '::before').content]))"
    )
    assert len(set(signs.values())) == len(signs) >= 4
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_nothing_leaves_the_machine_and_no_address_has_the_question(
    open_page: Callable[..., Any], site: str
) -> None:
    page = open_page("about:blank", wait=False)
    requests: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("response", lambda r: failed.append(r.url) if r.status >= 400 else None)
    page.goto(f"{site}/compare")
    page.locator("#choices fieldset[aria-label]").nth(1).wait_for()
    compare(page, "deposit")
    assert len(requests) > 20
    assert [url for url in requests if not url.startswith(site)] == []
    assert failed == []
    assert not any("deposit" in url for url in requests)
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def test_forty_payloads_show_as_text_everywhere(
    open_page: Callable[..., Any],
    serve_comparison: Callable[[Path], str],
    payloads: list[str],
    tmp_path: Path,
    minilm: str,
) -> None:
    from pipelines.indexing import index_corpus

    assert len(payloads) == 40
    with (tmp_path / "articles.jsonl").open("w") as file:
        for number, payload in enumerate(payloads):
            article = {
                "id": f"a{number} {payload}",
                "law": f"Law {payload}",
                "number": f"{number} {payload}",
                "headings": [f"Book {payload}", f"Title {payload}"],
                "text": f"(1) keyword{number}: {payload}",
            }
            file.write(json.dumps(article) + "\n")
    index_corpus(tmp_path / "articles.jsonl", tmp_path / "law.db", model=minilm)
    site = serve_comparison(tmp_path / "law.db")
    page = open_page(f"{site}/compare", wait=False)
    page.locator("#choices fieldset[aria-label]").nth(1).wait_for()
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: foreign.append(dialog.message))
    for number, payload in enumerate(payloads):
        question = f"keyword{number} {payload}"
        page.locator("#question textarea").fill(question)
        page.keyboard.press("Enter")
        page.locator(".asked q", has_text=re.compile(rf"^keyword{number} ")).wait_for()
        assert page.locator(".asked q").text_content() == question
        first = page.locator(".side .title").first
        assert words(first.text_content()) == words(f"{number} {payload} Law {payload}")
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert [url for url in foreign if not url.startswith(site)] == []
    assert page.url == f"{site}/compare"
