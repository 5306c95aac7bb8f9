"""Another store takes the place of the one that is searched while questions are answered."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from haystack import Document, Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from components.embedders.text import StatuteTextEmbedder
from components.generators.tolerant import TolerantChatGenerator
from components.models.biencoder import BiEncoder
from components.models.devices import single_thread
from components.models.graph import LegislativeGraphEncoder
from components.retrievers.citation import CitationRetriever
from components.retrievers.engine_citation import EngineCitationRetriever
from components.statutes.graph import EDGE_KINDS
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import Answer, ask
from pipelines.files import LoadingError
from pipelines.indexing import index_corpus
from ui.narrowing import Narrowing
from ui.serving import AT_ONCE, OF_TODAY, Serving


def make_store(folder: Path, word: str) -> Path:
    """Ten articles that all have the word, without vectors."""
    articles = folder / f"{word}.jsonl"
    with articles.open("w") as file:
        for number in range(10):
            article = {
                "id": f"{word}{number}",
                "law": "Code",
                "number": str(number),
                "headings": [],
            }
            file.write(json.dumps({**article, "text": f"A deposit is {word}.", "language": "en"}))
            file.write("\n")
    store = folder / f"{word}.db"
    index_corpus(articles, store, model="none")
    return store


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("stores")
    return [make_store(folder, word) for word in ("owed", "kept")]


def first(serving: Serving) -> str:
    return str(serving.answer("deposit")["documents"][0]["id"])


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("engine", [True, False])
def test_who_else_gets_a_question_is_read_off_the_pipeline(
    written: bool, engine: bool, stores: list[Path], monkeypatch: pytest.MonkeyPatch
):
    serving = Serving("lexical", stores[0])
    assert serving.sent_to == frozenset()
    pipeline = Pipeline()
    # As the pipeline's own file may name it, without any flag.
    model = OpenAIChatGenerator(api_key=Secret.from_token("none")) if written else None
    pipeline.add_component("generator", TolerantChatGenerator(model))
    store = QdrantDocumentStore(":memory:") if engine else StatuteDocumentStore(stores[0])
    pipeline.add_component(
        "citation", EngineCitationRetriever(store) if engine else CitationRetriever(store)
    )
    monkeypatch.setattr(serving, "_pipeline", pipeline)
    expected = {name for name, told in (("generator", written), ("engine", engine)) if told}
    assert serving.sent_to == expected


def test_a_thread_that_begins_while_another_reads_a_question_has_all_cores(stores: list[Path]):
    cores = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        serving = Serving("lexical", stores[0])
        with single_thread(torch.device("cpu")):
            assert serving._threads.submit(torch.get_num_threads).result() == 3
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(cores)


def test_the_next_question_is_answered_from_the_other_store(stores: list[Path]):
    serving = Serving("lexical", stores[0])
    assert first(serving) == "owed0"
    serving.switch(stores[1])
    assert first(serving) == "kept0"
    assert serving.pipeline.metadata["name"] == "lexical"


def test_no_question_fails_or_waits_for_the_other_store_while_it_is_loaded(
    stores: list[Path],
):
    serving = Serving("lexical", stores[0])
    ending = threading.Event()
    answers: list[set[str]] = []

    def keep_asking() -> None:
        while not ending.is_set():
            documents = serving.answer("deposit")["documents"]
            answers.append({document["id"][:4] for document in documents})

    askers = [threading.Thread(target=keep_asking) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for store in [*reversed(stores)] * 5:
            count = len(answers)
            serving.switch(store)
            while len(answers) < count + 5:
                assert any(asker.is_alive() for asker in askers)
    finally:
        ending.set()
        for asker in askers:
            asker.join()
    # Each answer is of one store as a whole, and both have answered.
    assert all(len(answer) == 1 for answer in answers)
    assert set.union(*answers) == {"owed", "kept"}


def test_questions_in_all_languages_share_the_turns(
    stores: list[Path], monkeypatch: pytest.MonkeyPatch
):
    serving = Serving("lexical", stores[0])
    together: list[int] = []
    asking: set[int] = set()

    def slowly(*arguments: Any, **named: Any) -> Answer:
        asking.add(threading.get_ident())
        time.sleep(0.02)
        together.append(len(asking))
        answer = ask(*arguments, **named)
        asking.discard(threading.get_ident())
        return answer

    monkeypatch.setattr("ui.serving.ask", slowly)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: first(serving), range(24)))
    assert set(answers) == {"owed0"}
    assert max(together) == AT_ONCE


def test_a_citation_waits_for_no_turn(stores: list[Path], monkeypatch: pytest.MonkeyPatch):
    serving = Serving("lexical", stores[0])
    end = threading.Event()

    def waiting(*arguments: Any, **named: Any) -> Answer:
        assert end.wait(30)
        return ask(*arguments, **named)

    monkeypatch.setattr("ui.serving.ask", waiting)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(first, serving) for _ in range(AT_ONCE)]
        try:
            assert [each["id"] for each in serving.answer("art. 3")["documents"]] == ["owed3"]
            assert not any(each.done() for each in asked)
        finally:
            end.set()
        assert [each.result() for each in asked] == ["owed0"] * AT_ONCE


def test_what_the_pipeline_leaves_out_is_not_named_either(stores: list[Path]):
    """A reader's own choice narrows the file's."""
    first_two = {"field": "meta.number", "operator": "in", "value": ["0", "1"]}
    parts = ("citation", "bm25")
    overrides = {f"{part}.filters": first_two for part in parts}
    serving = Serving("lexical", stores[0], overrides=overrides)
    of_code = Narrowing(laws=("Code",))
    assert [each["id"] for each in serving.answer("article 1", of_code)["documents"]] == ["owed1"]
    shown = serving.answer("article 7", of_code)["documents"]
    assert {each["id"] for each in shown} <= {"owed0", "owed1"}


@pytest.mark.parametrize("question", ["art. 1 Code", "deposit"])
def test_what_is_not_in_force_today_is_answered_only_where_all_is_searched(
    question: str, tmp_path: Path
):
    path = tmp_path / "law.db"
    days = {"old": {"valid_to": "2019-12-31"}, "new": {"valid_from": "2020-01-01"}}
    meta = {"law": "Code", "number": "1"}
    StatuteDocumentStore(str(path)).write_documents(
        [
            Document(id=id_, content="A deposit is owed.", meta={**meta, **each})
            for id_, each in days.items()
        ]
    )
    serving = Serving("lexical", path)

    def found(narrowing: Narrowing) -> set[str]:
        return {each["id"] for each in serving.answer(question, narrowing)["documents"]}

    assert found(OF_TODAY) == {"new"}
    assert found(Narrowing(day=date(2010, 1, 1))) == {"old"}
    assert found(Narrowing(which="not in force")) == {"old"}
    assert found(Narrowing(which="all")) == {"old", "new"}
    (best, *_) = serving.answer("art. 1 Code", Narrowing(which="all"))["documents"]
    assert best["id"] == "new"
    assert [each["id"] for each in best["wordings"]] == ["old"]


def test_a_store_that_cannot_be_taken_leaves_the_one_before(stores: list[Path], tmp_path: Path):
    serving = Serving("lexical", stores[0])
    with pytest.raises(LoadingError, match="no store"):
        serving.switch(tmp_path / "none.db")
    assert first(serving) == "owed0"


def test_a_citation_goes_straight_to_the_article_before_any_model_runs(
    tmp_path: Path, minilm: str, monkeypatch: pytest.MonkeyPatch
):
    laws = ("Housing Code", "Work Code", "Work Code")
    with (tmp_path / "articles.jsonl").open("w") as file:
        for place, law in enumerate(laws):
            article = {"id": f"a{place}", "law": law, "number": str(7 + place // 2), "headings": []}
            file.write(json.dumps({**article, "text": "The deposit.", "language": "en"}) + "\n")
    index_corpus(tmp_path / "articles.jsonl", tmp_path / "law.db", model=minilm)
    serving = Serving("hybrid", tmp_path / "law.db")
    ran: list[str] = []
    run = StatuteTextEmbedder.run

    def counted(self: StatuteTextEmbedder, text: str) -> dict[str, list[float]]:
        ran.append(text)
        return run(self, text)

    for _, part in serving.pipeline.walk():
        if isinstance(part, StatuteTextEmbedder):
            monkeypatch.setattr(part, "run", partial(counted, part), raising=False)

    def found(question: str, narrowing: Narrowing = OF_TODAY) -> list[str]:
        return [each["id"] for each in serving.answer(question, narrowing)["documents"]]

    assert found("art. 7 Work Code") == ["a1"]
    assert found("§ 7") == ["a0", "a1"]
    both = serving.answer("arts. 7 and 99 Work Code")
    assert [each["id"] for each in both["documents"]] == ["a1"]
    assert (both["missing"], "not_followed" in both) == (["99, Work Code"], False)
    ranges = ", ".join(f"7 to {n}" for n in range(8, 17))
    assert serving.answer(f"arts. {ranges} Work Code")["not_followed"] == ["7 to 16, Work Code"]
    # Nothing is left out: the law was chosen, and has this number.
    assert found("art. 7", Narrowing(laws=("Work Code",))) == ["a1"]
    elsewhere = serving.answer("art. 8", Narrowing(laws=("Housing Code",)))
    assert [each["id"] for each in elsewhere["left_out"]] == ["a2"]
    ranks = serving.answer("§ 7")["documents"][1]["ranks"]
    assert ranks == {"citation": 2}
    # What is left out is for the pipeline to tell.
    assert ran == ["art. 8"]
    assert len(found("May the deposit be kept under art. 7 Work Code?")) == 3
    assert len(ran) == 2


def test_of_an_article_that_is_too_long_for_the_model_it_is_told_how_much_was_read(
    tmp_path: Path, minilm: str
):
    texts = {"long": "The deposit is owed and paid. " * 200, "short": "The deposit is owed."}
    with (tmp_path / "articles.jsonl").open("w") as file:
        for id_, text in texts.items():
            article = {"id": id_, "law": "Code", "number": "1", "headings": ["Part"]}
            file.write(json.dumps({**article, "text": text}) + "\n")
    index_corpus(tmp_path / "articles.jsonl", tmp_path / "law.db", model=minilm)
    found = Serving("hybrid", tmp_path / "law.db").answer("deposit")["documents"]
    read = {each["id"]: each.get("words_read") for each in found}
    assert read["short"] is None
    # The model reads 256 tokens at most; here a token is a word or a full stop.
    assert 180 <= read["long"] <= 256


@pytest.mark.parametrize(("own", "budget"), [(None, 1200.0), (50.0, 50.0)])
def test_a_reader_does_not_wait_for_a_ranker_for_ever(
    tmp_path: Path, minilm: str, tiny_ranker: Path, own: float | None, budget: float
):
    article = {"id": "a", "law": "Code", "number": "1", "headings": [], "text": "The deposit."}
    (tmp_path / "articles.jsonl").write_text(json.dumps({**article, "language": "en"}) + "\n")
    index_corpus(tmp_path / "articles.jsonl", tmp_path / "law.db", model=minilm)
    overrides = {"ranker.model": str(tiny_ranker), "ranker.time_budget_ms": own}
    given = {name: value for name, value in overrides.items() if value is not None}
    serving = Serving("hybrid_rerank", tmp_path / "law.db", overrides=given)
    assert serving.pipeline.get_component("ranker").time_budget_ms == budget
    assert serving.answer("deposit")["documents"][0]["ranks"]["reranker"] == 1


def test_an_article_found_by_vectors_through_a_graph_says_so(tmp_path: Path, minilm: str):
    network = LegislativeGraphEncoder(384, layers=1, edge_kinds=EDGE_KINDS[:3])
    BiEncoder.load(minilm, device="cpu").save(tmp_path / "model", kept={"graph": network.save})
    with (tmp_path / "articles.jsonl").open("w") as file:
        for number in range(6):
            article = {"id": f"a{number}", "law": "Code", "number": str(number), "headings": ["I"]}
            file.write(json.dumps({**article, "text": f"Deposit {number}.", "language": "en"}))
            file.write("\n")
    index_corpus(
        tmp_path / "articles.jsonl", tmp_path / "law.db", model=str(tmp_path / "model"), graph=True
    )
    serving = Serving("hybrid", tmp_path / "law.db")
    assert serving.stages == ["citation", "bm25", "graph", "fused"]
    ranks = serving.answer("deposit")["documents"][0]["ranks"]
    assert list(ranks) == ["bm25", "graph"]


def test_the_stages_of_a_pipeline_with_a_ranker_name_it(
    tmp_path: Path, minilm: str, tiny_ranker: Path
):
    article = {"id": "a", "law": "Code", "number": "1", "headings": [], "text": "The deposit."}
    (tmp_path / "articles.jsonl").write_text(json.dumps({**article, "language": "en"}) + "\n")
    index_corpus(tmp_path / "articles.jsonl", tmp_path / "law.db", model=minilm)
    overrides = {"ranker.model": str(tiny_ranker)}
    serving = Serving("hybrid_rerank", tmp_path / "law.db", overrides=overrides)
    assert serving.stages == ["citation", "bm25", "dense", "fused", "reranker"]
