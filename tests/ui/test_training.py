"""The view of training runs over raw HTTP, on what training's own functions write."""

from __future__ import annotations

import html
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from payloads import PAYLOADS
from run_records import an_epoch, an_example, records
from small_law import small_law
from starlette.testclient import TestClient

from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.home import TrainedDemo
from training.ablation.report import markdown
from training.records import Progress, write_metrics
from ui.frame import SCRIPTS, Collection
from ui.training import Sources, training_routes

MANIFEST: dict[str, Any] = {
    "config": {"select_by": "R@10", "views": ["tree", "sequence", "semantic"], "seed": 0},
    "metrics": {"epoch": 3},
    "base_model": "/home/somebody/models/small-bert",
}


def write_run(
    folder: Path, of: list[dict[str, Any]] | None = None, manifest: object = MANIFEST
) -> Path:
    folder.mkdir(parents=True)
    write_metrics(folder / "metrics.jsonl", records() if of is None else of)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def said(document: str) -> str:
    """The text of a page."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", document)))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The folder that is named to the page."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    made = StatuteDocumentStore(str(tmp_path / "law.db"))
    made.write_documents(small_law())
    yield made
    made.close()


@pytest.fixture
def client(runs: Path, store: StatuteDocumentStore) -> Iterator[TestClient]:
    """Of the page over `runs`; an error in it fails the test."""
    from ui.server import build_server

    routes = training_routes(Sources(lambda: store, [runs]), lambda: Collection.of(store))
    with TestClient(build_server({}, routes)) as made:
        yield made


def test_without_runs_the_page_gives_the_command_that_makes_one(client: TestClient):
    text = said(client.get("/training").text)
    assert "python -m training.cusines --config training/configs/demo.yaml" in text
    assert "python -m training.ablate" in text


@pytest.mark.parametrize(("prefix", "easy"), [("", "Easy"), ("/fr", "Facile")])
def test_a_run_is_shown_with_settings_plot_numbers_and_examples(
    client: TestClient, runs: Path, prefix: str, easy: str
):
    negatives = [
        {"article": "h2", "bucket": 0, "view": "tree", "tree_distance": 9},
        {"article": "gone", "bucket": 2, "view": None, "tree_distance": 2},
    ]
    example = an_example(1, 0, positives=["h1"], negatives=negatives)
    whole = [record | {"examples": [example]} for record in records()[:-1]]
    folder = write_run(runs / "demo", [*whole, records()[-1]])
    (folder / "metrics.png").write_bytes(b"a picture")
    document = client.get(f"{prefix}/training").text
    text = said(document)
    assert "small-bert" in text and "somebody" not in text
    assert "tree, sequence, semantic" in text and easy in text
    link = f'<a href="{prefix}/article?id=h1" lang="en" dir="auto">Article 1, Housing Code</a>'
    assert link in document and "<code>gone</code>" in document
    assert document.count("<h5>") == 2
    (address,) = re.findall(r'<img src="([^"]+)"', document)
    picture = client.get(html.unescape(address))
    assert picture.content == b"a picture"
    assert picture.headers["content-type"] == "image/png"
    _, first, *_, last = re.findall(r"<tr><th scope=\"row\">.*?</tr>", document)
    point = "," if prefix else "."
    assert said(first).replace(point, ".").startswith(" 0 0.500 0.900 0.400 2.000 12.5 – 70 / ")
    assert re.match(r" 3 \((kept|conservée)\) 0.750", said(last).replace(point, "."))


def test_gain_and_loss_on_dev_are_seen_from_before_training_to_the_kept_epoch(
    client: TestClient, runs: Path
):
    dev = ({"R@10": 0.5, "MRR@10": 0.4, "Exist@1": 0.3, "R@100": 0.9}, {"R@10": 0.625})
    epochs = [
        an_epoch(0, dev=dev[0], dev_unseen={"R@10": 0.5}),
        an_epoch(1, dev=dev[0] | {"R@10": 0.75, "Exist@1": 0.2504}, dev_unseen={"R@10": 0.25}),
        an_epoch(2, dev=dev[1]),
    ]
    write_run(runs / "demo", epochs, {"metrics": {"epoch": 1}})
    gains = said(client.get("/training").text).partition("Dev questions before and after")[2]
    rows = "R@10 0.500 0.750 +0.250 MRR@10 0.400 0.400 0.000 hit@1 0.300 0.250 \u22120.050"
    unseen = "R@10, articles without a training question 0.500 0.250 \u22120.250"
    assert f"Change {rows} {unseen}" in gains
    # Of a run that is not finished, the latest measurement.
    write_run(runs / "later", epochs, {})
    text = said(client.get("/fr/training?run=later").text)
    assert "Écart R@10 0,500 0,625 +0,125" in text


def test_an_unfinished_run_shows_its_progress_and_one_of_another_kind_its_table(
    client: TestClient, runs: Path
):
    (runs / "demo.work").mkdir()
    Progress(runs / "demo.work", steps=12, epochs=3)("training", step=5, epoch=0)
    text = said(client.get("/training?run=demo").text)
    assert "5 of 12 steps are done" in text and "no measurements yet" in text
    write_run(runs / "read", [{"epoch": 0.5, "held_out_loss": 9.0, "perplexity": 1e300}])
    text = said(client.get("/training?run=read").text)
    assert "Perplexity" in text and "0.500 9.000 1.0e+300" in text


def test_a_grid_s_tables_are_shown(client: TestClient, runs: Path):
    table = markdown([["arm", "R@10"], ["**bm25_fixed**", "0.5 [0.4, 0.6]"], ["cusines", "0.7"]])
    (runs / "grid").mkdir()
    (runs / "grid" / "town.md").write_text(f"## town\n\nQuestions: 8.\n\n{table}\n")
    (runs / "grid" / "README.md").write_text("# Not a table")
    document = client.get("/training").text
    assert '<th scope="row">bm25_fixed</th><td>0.5 [0.4, 0.6]</td>' in document
    assert "Questions: 8." in document and "Not a table" not in document


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("metrics.jsonl", b'{"epoch": 0}\n{"epo', "metrics.jsonl:2"),
        ("metrics.jsonl", b'{"epoch": NaN}\n', "metrics.jsonl:1"),
        ("metrics.jsonl", b'{"epoch": 1e300}\n', "metrics.jsonl:1"),
        ("metrics.jsonl", b"[" * 200_000, "metrics.jsonl:1"),
        ("metrics.jsonl", b"\xff\x00\n" * 50, "metrics.jsonl:10, …\\."),
        ("metrics.jsonl", b" " * (17 << 20), "metrics.jsonl"),
        ("manifest.json", b'{"config": ', "manifest.json"),
        ("progress.json", b'{"step": 1, "steps": "\\ud800"}', "progress.json"),
        ("town.md", b" " * (17 << 20), "town.md"),
    ],
)
def test_an_unreadable_file_is_named_and_the_page_still_shows(
    client: TestClient, runs: Path, file: str, content: bytes, named: str
):
    folder = write_run(runs / "demo")
    (folder / file).write_bytes(content)
    answer = client.get("/training")
    assert answer.status_code == 200
    assert re.search(f"Could not be read, and is left out: .*{named}", said(answer.text))


def test_no_file_outside_of_a_run_s_folder_is_read(client: TestClient, runs: Path, tmp_path: Path):
    folder = write_run(runs / "demo")
    for name in ("metrics.png", "secret.md", "manifest.json"):
        (folder / name).unlink(missing_ok=True)
        (tmp_path / name).write_text("## secret\n\n{}")
        (folder / name).symlink_to(tmp_path / name)
    document = client.get("/training").text
    assert "<img" not in document and "manifest.json" in document
    assert "left out: secret.md" in document
    assert client.get("/training/plot?run=demo").status_code == 404


def test_an_unknown_name_is_not_found(client: TestClient, runs: Path):
    write_run(runs / "demo")
    for path in ("/training", "/fr/training", "/training/plot"):
        for name in ("", "other", "../demo", "/etc/passwd", "demo%00", "%ff"):
            assert client.get(f"{path}?run={name}").status_code == 404, (path, name)


def test_everything_from_files_is_escaped(client: TestClient, runs: Path):
    for payload in PAYLOADS:
        name = payload.replace("/", "\N{DIVISION SLASH}")
        example = an_example(1, 0, text=payload, question=payload, positives=[payload])
        example["negatives"][0] |= {"article": payload, "view": payload}
        manifest = {"base_model": name, "config": {"views": [payload], "select_by": payload}}
        epoch = an_epoch(0, examples=[example], dev={payload: 0.5})
        folder = write_run(runs / name, [epoch], manifest)
        table = markdown([[payload, payload], [payload, payload]])
        (folder / f"{name}.md").write_text(f"## {name}\n\n{payload}\n\n{table}\n")
        document = client.get(f"/training?run={quote(name, safe='')}").text
        assert document.count("<script") == len(SCRIPTS)
        assert payload not in document or not re.search(r"[<>\"']", payload)
        assert html.unescape(document).count(payload) >= 6


def test_a_broken_store_leaves_ids(
    client: TestClient, runs: Path, store: Any, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> None:
        raise StoreError("gone")

    write_run(runs / "demo")
    monkeypatch.setattr(store, "keys_of", fail)
    assert "<code>a2</code>" in client.get("/training").text


def test_runs_come_from_demo_store_and_folders_the_latest_first(runs: Path, tmp_path: Path):
    demo = TrainedDemo(tmp_path / "demo", tmp_path)
    served = write_run(tmp_path / "served")
    places = [demo.model, served, runs / "a", runs / "b.work", runs / "x" / "a"]
    for seconds, folder in enumerate(places):
        made = folder if folder == served else write_run(folder)
        os.utime(made / "metrics.jsonl", (seconds, seconds))
    write_run(runs / "a.work")  # what a finished run has not cleared away yet
    (runs / "none").mkdir()
    store: Any = SimpleNamespace(model=SimpleNamespace(path=str(served)))
    found = Sources(lambda: store, [runs, runs, runs / "a", runs / "x"], demo).runs()
    assert list(found) == ["a (2)", "b", "a", "served", "aldermere"]
    assert [run.finished for run in found.values()] == [True, False, True, True, True]


def test_a_store_whose_model_is_not_a_folder_has_no_runs(tmp_path: Path):
    for path in ("owner/model", "a\0b", ""):
        store: Any = SimpleNamespace(model=SimpleNamespace(path=path))
        assert Sources(lambda store=store: store, [tmp_path / "gone"]).runs() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_a_file_name_that_is_not_text_is_shown(client: TestClient, runs: Path):
    write_run(runs / os.fsdecode(b"a\xffb"))
    assert "a?b" in client.get("/training?run=a%3Fb").text
