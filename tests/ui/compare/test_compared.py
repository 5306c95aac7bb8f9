"""Compared: which pipelines a store can serve, each loaded once, over the store of the moment."""

from __future__ import annotations

import shutil
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline

from components.models.biencoder import BiEncoder
from components.models.manifest import QUERY_PART, RANKER_PART
from components.models.ranker_folder import RankerSettings
from components.stores.sqlite import StatuteDocumentStore
from pipelines.files import FOLDER, LoadingError
from pipelines.loading import load_pipeline
from ui.compare import compared as module
from ui.compare.compared import Compared


def over(store: Path, **options: Any) -> Compared:
    opened = StatuteDocumentStore(str(store))
    return Compared(lambda: opened, **options)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the pipelines that were made ready, in their order."""
    warmed: list[str] = []
    warm_up = Pipeline.warm_up

    def counted(self: Pipeline) -> None:
        # Each run asks for it again; only the first of a pipeline loads anything.
        if not hasattr(self, "counted"):
            warmed.append(self.metadata["name"])
            self.counted = True  # type: ignore[attr-defined]
        warm_up(self)

    monkeypatch.setattr(Pipeline, "warm_up", counted)
    return warmed


def test_a_store_of_text_alone_has_one_way_only(text_store: Path) -> None:
    compared = over(text_store)
    assert compared.names == ("lexical",)
    assert compared.defaults is None


def test_vectors_bring_the_ways_of_meaning(vector_store: Path) -> None:
    compared = over(vector_store)
    assert compared.names == ("lexical", "dense", "hybrid")
    assert compared.defaults == ("lexical", "hybrid")


def test_a_model_with_a_ranker_brings_re_ranking(
    make_store: Callable[..., Path], minilm: str, tiny_ranker: Path, tmp_path: Path
) -> None:
    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        RankerSettings().save(part)

    model = BiEncoder.load(minilm, device="cpu")
    model.save(tmp_path / "plain")
    tower = tmp_path / "plain" / QUERY_PART
    model.save(tmp_path / "ranker", kept={QUERY_PART: tower, RANKER_PART: write})
    compared = over(make_store("owed", str(tmp_path / "ranker")))
    assert compared.names == ("lexical", "dense", "hybrid", "hybrid_rerank")
    found = compared.compare("deposit", "hybrid", "hybrid_rerank")
    assert [stage.name for stage in found.right.stages][-2:] == ["fused", "reranker"]


def test_vectors_of_a_model_that_is_gone_bring_nothing(
    make_store: Callable[..., Path], minilm: str, tmp_path: Path
) -> None:
    BiEncoder.load(minilm, device="cpu").save(tmp_path / "model")
    store = make_store("owed", str(tmp_path / "model"))
    moved = (tmp_path / "model").rename(tmp_path / "moved")
    assert over(store).names == ("lexical",)
    assert over(store, model=str(moved)).names == ("lexical", "dense", "hybrid")


def test_a_file_of_ones_own_is_compared(text_store: Path, tmp_path: Path) -> None:
    mine = tmp_path / "hybrid.yaml"
    mine.write_text((FOLDER / "lexical.yaml").read_text())
    compared = over(text_store, own=str(mine))
    # It has the name of one of ours, which this store cannot serve.
    assert compared.names == ("lexical", "hybrid.yaml")
    assert compared.defaults == ("lexical", "hybrid.yaml")
    found = compared.compare("deposit", "lexical", "hybrid.yaml")
    assert (found.left.pipeline, found.right.pipeline) == ("lexical", "hybrid.yaml")


def test_what_answers_or_is_one_of_ours_brings_nothing_of_its_own(
    vector_store: Path, tmp_path: Path
) -> None:
    answering = tmp_path / "answering.yaml"
    answering.write_text((FOLDER / "answer_hybrid.yaml").read_text())
    # It can be loaded: left out it is because its articles are those of the retrieval in it.
    assert load_pipeline(answering, vector_store)
    for own in (str(answering), "lexical", "answer_hybrid"):
        assert over(vector_store, own=own).names == ("lexical", "dense", "hybrid")


def test_an_engine_has_nothing_to_compare() -> None:
    compared = Compared(lambda: object())  # type: ignore[arg-type,return-value]
    assert compared.names == ()
    assert compared.defaults is None


def test_nothing_is_loaded_before_it_is_asked_nor_twice(
    vector_store: Path, loads: list[str]
) -> None:
    compared = over(vector_store)
    assert loads == []
    compared.compare("deposit", "lexical", "hybrid")
    assert loads == ["lexical", "hybrid"]
    compared.compare("deposit", "hybrid", "dense")
    assert loads == ["lexical", "hybrid", "dense"]


def test_those_who_come_at_once_wait_for_one_loading(vector_store: Path, loads: list[str]) -> None:
    compared = over(vector_store)
    together = threading.Barrier(4)
    found: list[Any] = []

    def ask() -> None:
        together.wait()
        found.append(compared.compare("deposit", "lexical", "hybrid"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["lexical", "hybrid"]
    assert len(found) == 4
    names = {"citation", "bm25", "embedder", "dense", "fused"}
    assert all({lap.name for lap in each.right.laps} == names for each in found)


def test_the_model_is_in_memory_once(vector_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models: set[int] = set()
    warm_up = Pipeline.warm_up

    def looked_at(self: Pipeline) -> None:
        warm_up(self)
        models.update(
            id(part._encoder) for _, part in self.walk() if getattr(part, "_encoder", None)
        )

    monkeypatch.setattr(Pipeline, "warm_up", looked_at)
    over(vector_store).compare("deposit", "dense", "hybrid")
    assert len(models) == 1


def test_another_store_is_searched_from_the_next_question_on(
    make_store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, text_store: Path
) -> None:
    kept: list[weakref.ref[Pipeline]] = []
    load = module.load_pipeline

    def noted(*args: Any) -> Pipeline:
        pipeline = load(*args)
        kept.append(weakref.ref(pipeline))
        return pipeline

    own = text_store.parent / "mine.yaml"
    own.write_text((FOLDER / "lexical.yaml").read_text())
    stores = [StatuteDocumentStore(str(path)) for path in (text_store, make_store("kept"))]
    searched = [stores[0]]
    compared = Compared(lambda: searched[0], own=str(own))
    monkeypatch.setattr(module, "load_pipeline", noted)

    def ids() -> set[str]:
        found = compared.compare("deposit", "lexical", "mine.yaml")
        return {
            str(article["id"])[:4]
            for side in (found.left, found.right)
            for article in side.articles
        }

    assert ids() == {"owed"}
    searched[0] = stores[1]
    assert ids() == {"kept"}
    # Those over the store before are let go, and their indexes with them.
    assert [each() is None for each in kept] == [True, True, False, False]


def test_a_store_that_is_gone_is_refused_and_the_next_one_is_asked(
    text_store: Path, tmp_path: Path
) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text((FOLDER / "lexical.yaml").read_text())
    searched = [StatuteDocumentStore(str(text_store))]
    compared = Compared(lambda: searched[0], own=str(own))
    searched[0] = StatuteDocumentStore(str(tmp_path / "none.db"))
    with pytest.raises(LoadingError, match="no store"):
        compared.compare("deposit", "lexical", "mine.yaml")
    searched[0] = StatuteDocumentStore(str(text_store))
    assert compared.compare("deposit", "lexical", "mine.yaml").moved


def test_only_known_names_are_asked(text_store: Path) -> None:
    for name in ("hybrid", "../lexical", "", "/etc/passwd"):
        with pytest.raises(KeyError):
            over(text_store).compare("deposit", "lexical", name)
