"""The view of training runs as a reader walks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from browsing import Looks, check_looks, every_look
from run_records import an_example, records
from small_law import small_law

from ui.language import Language, address

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(serve_site: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The view over a finished run, one that is going on, and a grid; gives its address."""
    from components.stores.sqlite import StatuteDocumentStore
    from training.ablation.report import markdown
    from training.records import plot_run
    from ui.frame import Collection
    from ui.server import build_server
    from ui.training import Sources, training_routes

    folder = tmp_path_factory.mktemp("runs")
    store = StatuteDocumentStore(str(folder / "law.db"))
    store.write_documents(small_law())
    whole = records()
    for record in whole[:-1]:
        near = {"article": f"h{record['epoch'] + 3}", "bucket": record["epoch"], "view": "tree"}
        record["examples"] = [an_example(1, 0, positives=["h1"], negatives=[near])]
    manifest = {
        "config": {"select_by": "R@10", "epochs": 3, "batch_size": 24, "learning_rate": 3e-5},
        "metrics": {"epoch": 3},
        "base_model": "sentence-transformers/all-MiniLM-L6-v2",
    }
    for name, of in (("demo", whole), ("going.work", whole[:1]), ("grid", [])):
        (folder / name).mkdir()
        text = "".join(json.dumps(record) + "\n" for record in of)
        (folder / name / "metrics.jsonl").write_text(text, encoding="utf-8")
    (folder / "demo" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "grid" / "metrics.jsonl").unlink()
    plot_run(whole, folder / "demo", "R@10")
    tables = [markdown([["arm", *["R@10"] * 12], ["cusines", *["0.7"] * 12]])] * 2
    text = "\n\n".join(["## town", "Questions: 8.", *tables])
    (folder / "grid" / "town.md").write_text(f"{text}\n", encoding="utf-8")
    routes = training_routes(Sources(lambda: store, [folder]), lambda: Collection.of(store))
    return serve_site(build_server({}, routes)).rstrip("/")


def test_a_reader_walks_the_view(open_page: Callable[..., Any], site: str):
    page = open_page("about:blank", wait=False)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{site}/training")
    page.get_by_role("link", name="demo", exact=True).click()
    assert page.locator("h2.named").text_content() == "demo"
    assert page.locator("figure img").evaluate("(i) => i.decode().then(() => i.naturalWidth)") > 0
    page.locator("summary", has_text="Settings").click()
    assert page.get_by_text("3e-05").is_visible()
    assert page.get_by_role("rowheader", name="3 (kept)").is_visible()
    example = page.locator(".followed")
    assert example.get_by_role("heading", level=5).all_text_contents() == [
        "Negatives in epoch 1",
        "Negatives in epoch 3",
    ]
    assert "Difficult" in example.text_content()
    last = example.get_by_role("link").last
    assert last.text_content() == "Article 5, Housing Code"
    assert last.get_attribute("href") == "/article?id=h5"
    assert page.get_by_role("region", name="town, table 2").is_visible()
    # The other language shows the same run.
    page.locator(".languages a:not([aria-current])").click()
    assert page.locator("html").get_attribute("lang") == "fr"
    assert page.locator("h2.named").text_content() == "demo"
    page.get_by_role("link", name="going", exact=True).click()
    assert "n’est pas achevé" in page.locator(".fault").text_content()
    assert [url for url in requests if not url.startswith(site)] == []


@every_look
def test_the_page_fits_and_axe_finds_no_violation(
    open_page: Callable[..., Any], site: str, language: Language, looks: Looks
):
    page = open_page(site + address("/training", language) + "?run=demo", wait=False)
    page.locator("summary").first.click()
    check_looks(page, "training", language, looks)


def test_the_keyboard_reaches_everything_and_is_seen(open_page: Callable[..., Any], site: str):
    page = open_page(f"{site}/training?run=demo", wait=False)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        tag, text, outline = page.evaluate(
            "(() => { const it = document.activeElement; return [it.tagName,"
            " it.textContent.trim().slice(0, 40), getComputedStyle(it).outlineStyle] })()"
        )
        if tag == "BODY":
            break
        reached.append((tag, text))
        assert outline == "solid", (tag, text)
    stops = (("A", "demo"), ("SUMMARY", "Settings"), ("A", "Article 1, Housing Code"))
    order = [reached.index(each) for each in stops]
    assert order == sorted(order)
    assert [tag for tag, _ in reached].count("DIV") == 4  # the tables, which scroll
