"""Where Lexarbor keeps its files, and the demo store among them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from law_files import housing_code

from components.models.folder import lexarbor_home
from components.retrievers.answered import recorded_questions
from components.statutes.question import Question
from components.statutes.sources import opening
from components.stores.sqlite import StatuteDocumentStore
from pipelines.evaluate import _say_of_answered
from pipelines.home import (
    _is_current,
    ensure_demo_store,
    given_or_demo,
)
from pipelines.indexing import index_corpus
from pipelines.loading import demo_store_path

OPENING = "components.statutes.sources.opening"


@pytest.fixture
def quick_demo(tmp_path, monkeypatch, tiny_model) -> list[str]:
    """A home of its own, and demo stores that are built with one of the demo's laws and the tiny
    model; what was built."""
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "home"))
    law = housing_code(tmp_path / "law")
    for name in ("articles", "questions", "guides"):
        path = law / f"{name}.jsonl"
        monkeypatch.setattr(f"{OPENING}.{name}_path", lambda path=path: path)
    built: list[str] = []
    index = index_corpus

    def index_quickly(source: str, path: Path, **options: object) -> object:
        built.append(str(path))
        return index(source, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("pipelines.loading.DEMO_MODEL", tiny_model)
    monkeypatch.setattr("pipelines.indexing.index_corpus", index_quickly)
    return built


def test_the_environment_says_where_home_is(tmp_path, monkeypatch):
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    assert demo_store_path() == tmp_path / "demo.db"
    monkeypatch.delenv("LEXARBOR_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    assert lexarbor_home() == tmp_path / "cache" / "lexarbor"


def test_the_demo_store_is_built_once_and_again_when_the_demo_law_has_changed(quick_demo, capsys):
    said: list[str] = []
    path = ensure_demo_store(said.append)
    assert any("invented" in line for line in said)
    assert ensure_demo_store() == given_or_demo(None, print) == path
    assert quick_demo == [str(path)]
    store = StatuteDocumentStore(str(path))
    assert store.has_vectors()
    kept = recorded_questions(store)
    for split, is_told in (("dev", True), ("test", False)):
        _say_of_answered(str(path), [Question("q", "May I?", (), split)])
        assert ("chose the weight" in capsys.readouterr().err) is is_told
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
