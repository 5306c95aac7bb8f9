"""Where Lexarbor keeps its files: the demo store, and the model trained for it."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from law_files import housing_code

from components.models.biencoder import BiEncoder
from components.models.folder import Manifest, write_model_folder
from components.models.graph import LegislativeGraphEncoder
from components.retrievers.answered import recorded_questions
from components.statutes.sources import opening
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.files import FOLDER
from pipelines.home import (
    TrainedDemo,
    _is_current,
    demo_store_path,
    ensure_demo_store,
    lexarbor_home,
    store_to_ask,
)
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

OPENING = "components.statutes.sources.opening"


@pytest.fixture
def quick_demo(tmp_path, monkeypatch, tiny_model) -> list[str]:
    """A home of its own, and demo stores that are built with one of the demo's laws and the tiny
    model; what was built."""
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "home"))
    law = housing_code(tmp_path / "law")
    for name in ("articles", "questions"):
        path = law / f"{name}.jsonl"
        monkeypatch.setattr(f"{OPENING}.{name}_path", lambda path=path: path)
    built: list[str] = []
    index = index_corpus

    def index_quickly(source: str, path: Path, **options: object) -> object:
        built.append(str(path))
        options["model"] = options["model"] or str(tiny_model)
        return index(source, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("pipelines.indexing.index_corpus", index_quickly)
    return built


def test_the_environment_says_where_home_is(tmp_path, monkeypatch):
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    assert demo_store_path() == tmp_path / "demo.db"
    monkeypatch.delenv("LEXARBOR_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    assert lexarbor_home() == tmp_path / "cache" / "lexarbor"


def test_the_demo_store_is_built_once_and_again_when_the_demo_law_has_changed(quick_demo):
    said: list[str] = []
    path = ensure_demo_store(said.append)
    assert any("invented" in line for line in said)
    assert ensure_demo_store() == path
    assert quick_demo == [str(path)]
    store = StatuteDocumentStore(str(path))
    assert store.has_vectors()
    kept = recorded_questions(store)
    store.publisher.record_corpus("of an earlier edition")
    # That edition had a law that is gone, and hardly an article of another that is still there.
    gone = Document(id="gone", content="A rule.", meta={"law": "Old Code", "position": 0})
    store.write_documents([gone])
    law = store.filter_documents()[1].meta["law"]
    whole = store.count_documents() - 1
    store.write_documents(
        [Document(id=f"old {n}", content="Old.", meta={"law": law}) for n in range(100)]
    )
    store.close()
    ensure_demo_store()
    assert len(quick_demo) == 2
    assert store.count_documents() == whole == 58
    # An older release kept no answered questions with it.
    assert store.model is not None
    store.save_blob("answered-record", store.model.biencoder_digest, b"")
    assert ensure_demo_store(answered=False) == path
    assert recorded_questions(store) is None
    ensure_demo_store()
    assert recorded_questions(store) == kept
    assert len(quick_demo) == 2
    # The questions have changed.
    path = opening.questions_path()
    lines = path.read_text().splitlines()
    lines.remove(next(line for line in lines if '"split": "train"' in line))
    path.write_text("\n".join(lines) + "\n")
    ensure_demo_store()
    assert recorded_questions(store) not in (kept, None)
    assert len(quick_demo) == 2
    store.close()


@pytest.mark.parametrize("content", [b"no database at all " * 100, b""])
def test_a_demo_store_that_cannot_be_used_is_built_again(quick_demo, content):
    path = demo_store_path()
    path.parent.mkdir()
    path.write_bytes(content)
    ensure_demo_store()
    store = StatuteDocumentStore(str(path))
    assert store.count_documents() == 58
    store.close()


@pytest.fixture
def trained(quick_demo, tiny_model) -> TrainedDemo:
    """A trained model, as the demo's training leaves it, and no store of it yet."""
    demo = demo_under(lexarbor_home())
    model = BiEncoder.load(str(tiny_model))
    model.save(demo.model, kept={"graph": LegislativeGraphEncoder(model.dim).save})
    return demo


def test_the_trained_models_store_is_the_demo_store(quick_demo, trained, tmp_path):
    untrained = lexarbor_home() / "demo.db"
    assert demo_store_path() == untrained  # the trained one is not built yet
    assert ensure_demo_store() == ensure_demo_store() == demo_store_path() == trained.store
    assert quick_demo == [str(trained.store)]
    store = StatuteDocumentStore(str(trained.store))
    assert store.model is not None
    assert store.model.path == str(trained.model)
    store.close()
    assert len(ask(load_pipeline("dense"), "deposit", top_k=1)["documents"]) == 1
    # Whoever names a model asks the untrained store.
    assert store_to_ask(None, None, print) == trained.store
    assert store_to_ask(None, "hybrid", print) == trained.store
    assert store_to_ask(None, "hybrid", print, "some/model") == untrained
    own = tmp_path / "own.yaml"
    text = (FOLDER / "dense.yaml").read_text("utf-8")
    own.write_text(text.replace("model: null", "model: some/model"), encoding="utf-8")
    assert store_to_ask(None, str(own), print) == untrained
    assert ensure_demo_store(trained=False) == untrained
    assert demo_store_path(trained=False) == untrained


def test_two_processes_build_one_store(quick_demo, monkeypatch):
    building = threading.Barrier(2, timeout=60)
    current = _is_current
    looks: dict[int, int] = {}

    def look_together(*arguments: Any) -> bool:
        me = threading.get_ident()
        looks[me] = looks.get(me, 0) + 1
        found = current(*arguments)
        if looks[me] == 1:
            building.wait()  # both have seen that there is none
        return found

    monkeypatch.setattr("pipelines.home._is_current", look_together)
    with ThreadPoolExecutor(2) as both:
        paths = {each.result() for each in [both.submit(ensure_demo_store) for _ in "12"]}
    assert len(paths) == 1
    assert len(quick_demo) == 1


PART = "biencoder/query"


@pytest.fixture
def base(tmp_path, monkeypatch) -> Path:
    """A bundled model of one file."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    monkeypatch.setattr("pipelines.home.bundled_model", lambda: str(folder))
    return folder


def demo_under(home: Path) -> TrainedDemo:
    demo = TrainedDemo.under(home)
    assert demo is not None
    return demo


def write_model(folder: Path) -> None:
    """A complete model folder whose weights are one word."""

    def write(place: Path) -> None:
        (place / "weights").write_text("learnt")

    manifest = Manifest(("biencoder", "graph"), "base", {"query": PART, "passage": PART}, 4)
    write_model_folder(folder, manifest, {PART: write, "graph": write})


@pytest.mark.parametrize("change", ["base", "articles", "questions", "settings"])
def test_the_same_training_has_the_same_folder_and_any_other_has_another(
    base, tmp_path, monkeypatch, change
):
    before = demo_under(tmp_path)
    assert before == demo_under(tmp_path)
    assert before.folder.parent == tmp_path
    assert not before.folder.exists()
    assert Path(before.command[4]).is_file()  # the settings
    # The trainer keeps its work next to its output.
    assert before.work == before.model.with_name(before.model.name + ".work")
    other = tmp_path / "other"
    other.write_text("changed")
    if change == "base":
        (base / "config.json").write_text('{"changed": true}')
    elif change == "settings":
        monkeypatch.setattr("pipelines.home._SETTINGS", str(other))
    else:
        monkeypatch.setattr(f"{OPENING}.{change}_path", lambda: other)
    assert demo_under(tmp_path).folder != before.folder


def test_a_model_counts_when_every_file_is_as_it_was_written(base, tmp_path):
    demo = demo_under(tmp_path)
    assert demo.trained() is None
    write_model(demo.model)
    trained = demo.trained()
    assert trained is not None
    assert trained.folder == demo.model.resolve()
    (demo.model / PART / "weights").write_text("leaned")
    assert demo.trained() is None
    demo.work.mkdir()
    demo.clear()
    assert list(demo.folder.iterdir()) == []


def test_unused_trainings_go_and_nothing_else(base, tmp_path):
    demo = demo_under(tmp_path)
    names = ("demo-0123456789ab", "demo-ba9876543210", "demo-app", "demo-1")
    old, used, foreign, other = (tmp_path / name for name in names)
    for folder in (demo.folder, old, used, foreign, other):
        folder.mkdir()
        (folder / demo.lock.name).touch()
        write_model(folder / "model")
    like_ours = tmp_path / "demo-aaaaaaaaaaaa"
    like_ours.mkdir()
    long_ago = time.time() - 31 * 24 * 3600
    for folder in (demo.folder, old, foreign, other, like_ours):
        os.utime(folder, (long_ago, long_ago))
    demo.remove_unused()
    assert not old.exists()
    for folder in (demo.folder, used, foreign, other, like_ours):
        assert folder.exists(), folder
