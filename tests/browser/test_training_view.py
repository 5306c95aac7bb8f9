"""The view of trainings as a reader walks it, in both languages and on every screen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from run_records import a_line, an_epoch, an_example, records

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
BASE = [0.0, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0] * 6

# Three questions of the demo law, and what could be drawn against them.
QUESTIONS = (
    (
        "My landlord keeps my deposit. Can he?",
        "housing-12",
        ("family-9", "housing-31", "housing-13"),
    ),
    ("Who pays for the heating?", "housing-31", ("work-8", "housing-3", "housing-30")),
    ("Can I be dismissed while I am ill?", "work-22", ("consumer-5", "work-3", "work-23")),
)


def a_run(folder: Path, of: Sequence[dict[str, Any]], manifest: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    lines = "".join(json.dumps(record) + "\n" for record in of)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def with_questions(epoch: int) -> list[dict[str, Any]]:
    distances = (20, 6, 2)
    return [
        {
            "question": f"q{number}",
            "text": text,
            "positives": [answer],
            "drawn": 2,
            "negatives": [
                {
                    "article": drawn[place],
                    "bucket": place,
                    "view": ("sequence", "tree", "semantic")[place],
                    "tree_distance": distances[place],
                }
                for place in sorted({epoch, max(epoch - 1, 0)})
            ],
        }
        for number, (text, answer, drawn) in enumerate(QUESTIONS)
    ]


@pytest.fixture(scope="module")
def serve_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """`serve_runs(runs, results)`: the view over folders and the demo law; gives its address."""
    from haystack import Document

    from components.statutes.corpus import StatuteCorpus
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.serving.listening import address, listen
    from ui.collection import Collection
    from ui.runs.results import Results
    from ui.runs.routes import runs_routes
    from ui.runs.sources import Sources
    from ui.server import build_server, make_server

    store = StatuteDocumentStore(str(tmp_path_factory.mktemp("store") / "law.db"))
    store.write_documents(
        [
            Document(
                id=article.id,
                content=article.text,
                meta={
                    "law": article.law,
                    "number": article.number,
                    "headings": list(article.headings),
                    "position": position,
                    "language": article.language,
                },
            )
            for position, article in enumerate(StatuteCorpus.read("aldermere"))
        ]
    )
    servers: list[tuple[Any, threading.Thread]] = []

    def start(runs: Path, results: Path) -> str:
        listening = listen("127.0.0.1", 0)
        tables = Results(results)
        assert tables.read(60) is not None
        routes = runs_routes(
            Sources(lambda: store, [runs]), tables, lambda: store, lambda: Collection.of(store)
        )
        server = make_server(build_server({}, routes))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return address(listening).rstrip("/")

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)
    store.close()


@pytest.fixture(scope="module")
def trainings(serve_runs: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A finished run, one that is going on, and a grid of four arms."""
    folder = tmp_path_factory.mktemp("trainings")
    manifest = {
        "config": {"select_by": "R@10", "epochs": 3, "batch_size": 24, "learning_rate": 3e-5},
        "metrics": {"epoch": 3},
        "base_model": "sentence-transformers/all-MiniLM-L6-v2",
    }
    whole = [record | {"examples": with_questions(record["epoch"])} for record in records()[:-1]]
    a_run(folder / "runs" / "demo", [*whole, records()[-1]], manifest)
    a_run(folder / "runs" / "going.work", [an_epoch(0)], {})
    lines = [
        a_line("bm25_fixed", BASE, dataset="aldermere"),
        a_line(
            "random",
            [value + 0.01 * (n % 3 - 1) for n, value in enumerate(BASE)],
            dataset="aldermere",
        ),
        a_line("permuted", BASE[::-1], dataset="aldermere"),
        a_line("cusines", [value + 0.2 for value in BASE], dataset="aldermere"),
    ]
    (folder / "results").mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "results" / "ablate.jsonl").write_text(text, encoding="utf-8")
    return serve_runs(folder / "runs", folder / "results")


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"runOnly": LEVELS}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def drawn(page: Any) -> list[bool]:
    """Whether each picture was loaded."""
    loaded: list[bool] = page.evaluate(
        "Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth > 0)))"
    )
    return loaded


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desk", 1280), ("phone", 390)])
def test_axe_finds_no_violation(
    open_page: Callable[..., Any], trainings: str, scheme: str, device: str, width: int
):
    page = open_page(
        f"{trainings}/training?run=demo",
        wait=False,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    SCREENSHOTS.mkdir(exist_ok=True)
    for language, prefix in (("en", ""), ("fr", "/fr")):
        page.goto(f"{trainings}{prefix}/training?run=demo")
        assert drawn(page) == [True] * 4
        assert page.locator("html").get_attribute("lang") == language
        name = "training" if language == "en" else "training-fr"
        page.screenshot(path=SCREENSHOTS / f"{name}-{device}-{scheme}.png", full_page=True)
        for summary in page.locator("summary").all():
            summary.click()
        assert violations(page) == []
    page.goto(f"{trainings}/training?run=going")
    assert violations(page) == []


@pytest.mark.parametrize(
    ("path", "question", "curriculum", "words"),
    [
        (
            "/training",
            "Question 2",
            ["At the beginning", "In the middle", "At the end"],
            ["mostly easy", "mostly medium", "mostly difficult"],
        ),
        (
            "/fr/training",
            "Question 2",
            ["Au début", "Au milieu", "À la fin"],
            ["surtout facile", "surtout moyen", "surtout difficile"],
        ),
    ],
)
def test_a_reader_follows_a_question_through_a_training(
    open_page: Callable[..., Any],
    trainings: str,
    path: str,
    question: str,
    curriculum: list[str],
    words: list[str],
):
    page = open_page(f"{trainings}{path}", wait=False)
    page.get_by_role("link", name="demo", exact=True).click()
    assert page.get_by_role("heading", level=1).count() == 1
    page.get_by_role("link", name=question).click()
    assert "question=2" in page.url
    assert page.locator(".followed q").text_content() == QUESTIONS[1][0]
    moments = page.locator(".moments section")
    assert moments.locator("h4").all_text_contents() == curriculum
    for moment, word in zip(moments.all(), words, strict=True):
        assert word in moment.locator("p").first.text_content()
    last = moments.last.locator("li").last
    assert last.get_by_role("link").text_content() == "Article 30"
    assert last.get_by_role("link").get_attribute("href").endswith("/article?id=housing-30")
    widths = [
        each.locator(".steps").last.evaluate("(e) => e.getBoundingClientRect().width")
        for each in moments.all()
    ]
    assert widths[0] > widths[1] > widths[2]
    # The other language shows the same question of the same run.
    other = page.locator(".languages a:not([aria-current])")
    other.click()
    assert page.locator(".followed q").text_content() == QUESTIONS[1][0]


@pytest.mark.parametrize("width", [320, 640, 1920])
def test_the_page_fits_every_width_and_tables_scroll_by_themselves(
    open_page: Callable[..., Any], trainings: str, width: int
):
    page = open_page(
        f"{trainings}/training?run=demo", wait=False, viewport={"width": width, "height": 800}
    )
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    regions = page.get_by_role("region")
    assert regions.count() == 2
    for region in regions.all():
        region.focus()
        assert region.evaluate("(e) => e === document.activeElement")
        if width == 320:
            assert region.evaluate("(e) => e.scrollWidth > e.clientWidth")


def test_the_keyboard_reaches_runs_details_questions_and_tables(
    open_page: Callable[..., Any], trainings: str
):
    page = open_page(f"{trainings}/training?run=demo", wait=False)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        tag, text, outline = page.evaluate(
            "(() => { const it = document.activeElement; return [it.tagName,"
            " it.textContent.slice(0, 40), getComputedStyle(it).outlineStyle] })()"
        )
        if tag == "BODY":
            break
        reached.append((tag, text))
        assert outline == "solid", (tag, text)
    order = [
        reached.index(each)
        for each in (
            ("A", "demo"),
            ("SUMMARY", "Settings"),
            ("SUMMARY", "The numbers"),
            ("A", "Question 1"),
            ("A", "Article 12"),
        )
    ]
    assert order == sorted(order)
    assert reached[-1][0] == "DIV"


def test_a_run_that_is_going_on_says_so(open_page: Callable[..., Any], trainings: str):
    page = open_page(f"{trainings}/training?run=going", wait=False)
    assert "is not finished" in page.locator(".fault").text_content()
    assert drawn(page) == [True] * 4


def test_every_request_goes_to_the_page_itself(open_page: Callable[..., Any], trainings: str):
    page = open_page("about:blank", wait=False)
    requests: list[Any] = []
    failed: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("response", lambda r: failed.append(r.url) if r.status >= 400 else None)
    page.goto(f"{trainings}/training?run=demo")
    assert drawn(page) == [True] * 4
    assert [each for each in requests if not each.startswith(trainings)] == []
    assert failed == []


def test_forty_payloads_show_as_text(
    open_page: Callable[..., Any],
    serve_runs: Callable[..., str],
    tmp_path: Path,
    payloads: list[str],
):
    assert len(payloads) == 40
    names = [payload.replace("/", "\N{DIVISION SLASH}") for payload in payloads]
    lines = []
    for payload, name in zip(payloads, names, strict=True):
        example = an_example(1, 0, text=payload, positives=[payload])
        example["negatives"][0] |= {"article": payload, "view": payload}
        fields = {"examples": [example], "dev": {payload: 0.5}}
        a_run(tmp_path / "runs" / name, [an_epoch(0, **fields), {"epoch": 1}], {})
        lines.append(a_line(payload, BASE[:4], dataset=payload))
    (tmp_path / "results").mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "results" / "ablate.jsonl").write_text(text, encoding="utf-8")
    served = serve_runs(tmp_path / "runs", tmp_path / "results")
    page = open_page("about:blank", wait=False)
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: foreign.append(dialog.message))
    for number, (payload, name) in enumerate(zip(payloads, names, strict=True)):
        prefix = "/fr" if number % 2 else ""
        page.goto(f"{served}{prefix}/training?run={quote(name, safe='')}")
        assert page.locator("h2.named").text_content() == name
        assert page.locator(".followed q").text_content() == payload
        assert page.locator(".followed code").text_content() == payload
        assert page.locator(".choices [aria-current]").first.text_content() == name
        assert all(drawn(page)), payload
    arms = page.locator(".arms tbody code").all_text_contents()
    captions = page.locator(".arms caption").all_text_contents()
    assert arms == payloads[:30] and len(captions) == 30  # as many tables as are shown
    assert all(payload in caption for payload, caption in zip(arms, captions, strict=True))
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert [url for url in foreign if not url.startswith(served)] == []
