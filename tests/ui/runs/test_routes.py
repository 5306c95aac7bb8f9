"""The page of trainings over raw HTTP: what it says, what it refuses, what it escapes."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from run_records import a_line, an_epoch, an_example, records
from starlette.testclient import TestClient

from components.stores.failures import StoreError
from ui.frame import SCRIPTS

WriteRun = Callable[..., Path]
WriteResults = Callable[..., Path]
BASE = [0.0, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0]


def said(document: str) -> str:
    """The text of a page."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", document)))


def page(client: TestClient, query: str = "", path: str = "/training", status: int = 200) -> str:
    response = client.get(f"{path}{query}")
    assert response.status_code == status, response.text
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text


def test_without_any_run_the_page_explains_and_says_how_to_make_one(client: TestClient):
    text = said(page(client))
    assert "the negatives" in text
    assert "python -m training.cusines --config training/configs/demo.yaml" in text
    assert "No results of experiments are at hand" in text


def test_the_latest_run_is_shown_with_its_curves_numbers_and_negatives(
    client: TestClient, write_run: WriteRun
):
    write_run()
    document = page(client)
    text = said(document)
    assert "It started from small-bert." in text and "somebody" not in text
    assert "The weights after epoch 3 were kept." in text
    charts = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', document)
    assert len(charts) == 4 and all(alt for _, alt in charts)
    for address, _ in charts:
        picture = client.get(html.unescape(address))
        assert picture.status_code == 200
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "default-src 'none'" in picture.headers["content-security-policy"]
    body = document[document.index("<tbody>") :]
    row = said(body[: body.index("</tr>")]).split()
    first = ["0", "0.500", "0.900", "0.400", "2.000", "70%", "20%", "10%", "40%", "35%", "25%"]
    assert row == [*first, "12.5", "–"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/training", ["At the beginning", "mostly easy", "mostly medium", "mostly difficult"]),
        ("/fr/training", ["Au début", "surtout facile", "surtout moyen", "surtout difficile"]),
    ],
)
def test_the_negatives_stand_at_three_moments_with_titles_and_distances(
    client: TestClient, write_run: WriteRun, path: str, words: list[str]
):
    write_run()
    document = page(client, "?run=demo&question=3", path)
    text = said(document)
    for word in words:
        assert word in text
    prefix = "/fr" if path.startswith("/fr") else ""
    answer = f'<a class="title" href="{prefix}/article?id=a7" lang="en" dir="auto">Article 7</a>'
    assert document.count(answer) == 1
    assert "Who pays for 7?" in text
    moments = document[document.index('class="moments"') :]
    sections = moments[: moments.index("</div>")].split("<section>")[1:]
    found = [re.findall(r'href="[^"]*id=(a\d+)"', each) for each in sections]
    assert found == [["a8", "a9"], ["a9", "a10"], ["a10", "a11"]]
    strokes = [re.findall(r"--steps:(\d+)", each) for each in sections]
    assert strokes == [["6", "6"], ["4", "4"], ["2", "2"]]


def test_a_sibling_and_an_article_of_another_law_are_named(client: TestClient, write_run: WriteRun):
    far = {"article": "a12", "bucket": 0, "view": "tree", "tree_distance": 9}
    near = {**far, "article": "a2", "tree_distance": 2}
    gone = {**far, "article": "x1"}
    example = an_example(1, 0, negatives=[far, near, gone], drawn=9)
    write_run(of=[an_epoch(0, examples=[example]), {"epoch": 1}])
    document = page(client)
    (section,) = re.findall(r"<section>.*?</section>", document)
    items = [said(each) for each in section.split("<li>")[1:]]
    assert "Article 12 Labour Code easy, hardest by tree tree distance 9, another law" in items[0]
    assert "tree distance 2, sibling" in items[1]
    assert "x1 not in the law that is searched here" in items[2]
    assert "3 of 9 are listed" in said(document)
    assert "The only epoch" in said(document)


def test_the_titles_are_said_to_be_of_another_law_unless_they_are_known_not_to_be(
    client: TestClient, write_run: WriteRun, store: Any
):
    write_run()
    assert "Titles are those of the law that is searched here" in said(page(client))
    store.publisher.recorded_corpus = lambda: "c0ffee"
    assert "Titles are those" not in said(page(client))


@pytest.mark.parametrize(("kept", "told"), [(1.0, "1"), (1.5, "1.50"), (2, "2")])
def test_the_epoch_that_a_ranker_kept_is_told_and_ringed(
    client: TestClient, write_run: WriteRun, kept: float, told: str
):
    lines = [
        {"epoch": epoch, "step": 10 * epoch, "first_stage": {}, "dev": {"MRR@10": 0.5}}
        for epoch in (0.0, 0.5, 1.0, 1.5, 2.0)
    ]
    write_run(of=lines, manifest={"config": {"select_by": "MRR@10"}, "metrics": {"epoch": kept}})
    text = said(page(client))
    assert f"The weights after epoch {told} were kept. They were the best by MRR@10" in text
    assert 'class="kept"' in client.get("/curves?run=demo&chart=dev&scheme=light").text


def test_of_very_many_runs_the_older_are_counted_and_found_by_name(
    client: TestClient, write_run: WriteRun
):
    for number in range(63):
        for file in write_run(f"run{number}").iterdir():
            os.utime(file, (1000 + number, 1000 + number))
    link = r'<li><a href="/training\?run=(\w+)"'
    document = page(client)
    assert re.findall(link, document) == [f"run{number}" for number in range(62, 2, -1)]
    assert "3 more are not listed" in said(document)
    assert "3 autres ne figurent pas ici\xa0;" in html.unescape(page(client, path="/fr/training"))
    older = page(client, "?run=run0")
    assert re.findall(link, older)[-2:] == ["run3", "run0"]
    assert '<h2 class="named">run0</h2>' in older and "2 more are not listed" in said(older)
    assert client.get("/curves?run=run1&chart=loss&scheme=light").status_code == 200


def test_sixty_runs_are_all_listed(client: TestClient, write_run: WriteRun):
    for number in range(60):
        write_run(f"run{number}")
    assert "not listed" not in said(page(client))


def test_with_two_epochs_there_are_two_moments_and_the_last_is_the_latest_while_it_goes_on(
    client: TestClient, write_run: WriteRun
):
    folder = write_run("demo.work", records()[:2], None)
    (folder / "progress.json").write_text('{"step": 5, "steps": 12}')
    text = said(page(client))
    assert "At the beginning" in text and "The latest so far" in text
    assert "In the middle" not in text and "At the end" not in text
    assert "5 of 12 steps are done" in text


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([{k: v for k, v in an_epoch(0).items() if k != "examples"}], "kept no examples"),
        ([{"epoch": 0.0, "first_stage": {}, "dev": {"MRR@10": 0.5}}], "has no curriculum"),
        ([{"epoch": 0.0, "held_out_loss": 9.0, "perplexity": 8e3}], "Perplexity"),
        ([{"epoch": 0, "graph_change": 0.1, **an_epoch(0)}], "Network over the tree"),
        ([an_epoch(e) for e in range(200)], "Of 200 epochs, 60 at even steps are listed"),
        ([an_epoch(e) for e in range(200)], "Of 200 epochs, 120 at even steps have a bar"),
        ([{"epoch": e, "dev": {}} for e in range(2500)], "; the end is left out"),
        ([], "There is nothing to draw yet"),
        (b'{"epoch": 0}\n{"epo', "1 line of its metrics could not be read"),
        (b"\xff\x00" * 5000, "could not be read"),
        (b"[" * 200_000, "could not be read"),
        (b'{"epoch": 0, "x": "' + b"x" * (9 << 20) + b'"}\n', "longer than what is read here"),
        ([an_epoch(0, examples=[an_example(1, 0, negatives=[])])], "No negatives of its own"),
    ],
)
def test_what_is_missing_damaged_or_of_another_kind_is_said(
    client: TestClient, write_run: WriteRun, lines: Any, word: str
):
    write_run(of=lines)
    for path in ("/training", "/fr/training"):
        text = said(page(client, path=path))
        if path == "/training":
            assert word in text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?run=other", 404),
        ("?run=", 404),
        ("?run=../demo", 404),
        ("?run=/etc/passwd", 404),
        ("?run=demo%00", 404),
        ("?run=%ff", 404),
        ("?run=demo&run=demo", 400),
        ("?run=demo&question=0", 404),
        ("?run=demo&question=4", 404),
        ("?run=demo&question=-1", 400),
        ("?run=demo&question=x", 400),
        ("?run=demo&question=", 400),
        ("?run=demo&question=%C2%B2", 400),
        ("?run=demo&question=99999999999", 400),
        ("?run=demo&question=1&question=2", 400),
        ("?run=demo&unknown=1", 200),
        ("?question=2", 200),
    ],
)
def test_a_wrong_address_is_refused_in_the_frame(
    client: TestClient, write_run: WriteRun, query: str, status: int
):
    write_run()
    for path in ("/training", "/fr/training"):
        document = page(client, query, path, status)
        assert '<main id="main">' in document and 'class="masthead"' in document
        assert "root:" not in document


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?run=demo&chart=loss&scheme=light", 200),
        ("?run=demo&chart=loss", 404),
        ("?run=demo&chart=loss&scheme=blue", 404),
        ("?run=demo&chart=other&scheme=light", 404),
        ("?run=other&chart=loss&scheme=light", 404),
        ("?run=../../demo&chart=loss&scheme=light", 404),
        ("?chart=loss&scheme=light", 404),
        ("", 404),
        ("?run=demo&run=demo&chart=loss&scheme=light", 400),
    ],
)
def test_curves_of_other_addresses_are_not_there(
    client: TestClient, write_run: WriteRun, query: str, status: int
):
    write_run()
    for path in ("/curves", "/fr/curves"):
        assert client.get(f"{path}{query}").status_code == status
    assert client.post("/curves").status_code in (404, 405)


def test_the_tables_tell_what_differs_and_what_does_not(
    client: TestClient, write_results: WriteResults
):
    many = BASE * 6
    lines = [
        a_line("bm25_fixed", many),
        a_line("cusines", [value + 0.3 for value in many]),
        a_line("random", [value + 0.001 * (-1) ** n for n, value in enumerate(many)]),
        a_line("random", many, seed=1),
    ]
    write_results([*lines, "{"])
    document = page(client)
    text = said(document)
    assert "In R@10 these differ from “The best by words (BM25)" in text
    assert re.search(r"explains: cusines \. In a single comparison so many questions", text)
    assert "1 line is no result of a run" in text
    assert "<strong>+0.300</strong>" in document
    assert document.count('<th scope="row">') == 3
    assert "2 (2 seeds)" in text


def test_where_nothing_differs_it_is_said(client: TestClient, write_results: WriteResults):
    write_results([a_line("bm25_fixed", BASE), a_line("cusines", BASE[::-1])])
    assert "these numbers do not rank the arms" in said(page(client))


def test_a_store_that_fails_leaves_ids_in_place_of_titles(
    client: TestClient, write_run: WriteRun, store: Any, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> None:
        raise StoreError("gone")

    write_run()
    monkeypatch.setattr(store, "keys_of", fail)
    assert "a2 not in the law that is searched here" in said(page(client))


def test_everything_from_files_is_escaped(
    client: TestClient, write_run: WriteRun, write_results: WriteResults
):
    payloads = (Path(__file__).parents[2] / "browser" / "payloads.txt").read_text("utf-8")
    assert len(payloads.splitlines()) == 40
    for number, payload in enumerate(payloads.splitlines()):
        name = payload.replace("/", "\N{DIVISION SLASH}")
        example = an_example(1, 0, text=payload, question=payload, positives=[payload])
        example["negatives"][0] |= {"article": payload, "view": payload}
        fields = {"examples": [example], "dev": {payload: 0.5}}
        manifest = {"base_model": payload, "config": {"views": [payload], "select_by": payload}}
        write_run(name, [an_epoch(0, **fields), {"epoch": 1}], manifest)
        lines = [a_line(arm, BASE, dataset=payload, system=payload) for arm in (payload, "b")]
        lines.append(a_line(payload, BASE, settings={"learning_rate": payload}))
        write_results(lines)
        for path in ("/training", "/fr/training"):
            document = page(client, f"?run={quote(name, safe='')}", path)
            assert document.count("<script") == len(SCRIPTS), number  # ours
            assert payload not in document or not re.search(r"[<>\"']", payload)
            assert document.count(html.escape(payload)) >= 5


def test_half_a_character_is_shown_as_a_question_mark(client: TestClient, write_run: WriteRun):
    example = json.dumps(an_example(1, 0, text="a\ud800b"))
    line = json.dumps(an_epoch(0, examples=[])).replace(
        '"examples": []', f'"examples": [{example}]'
    )
    write_run(of=line.encode())
    assert "a?b" in page(client)
