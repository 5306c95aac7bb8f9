"""Serving: who is asked, how many at once, and what happens when the store changes."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from haystack import Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from starlette.routing import Mount
from tiny_site import DATA, JOIN, call_of

from components.embedders.text import StatuteTextEmbedder
from components.generators.tolerant import TolerantChatGenerator
from components.retrievers.citation import CitationRetriever
from components.retrievers.engines import EngineCitationRetriever
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus
from ui.language import LANGUAGES, address
from ui.server import build_site
from ui.serving import OF_TODAY, Narrowing, Searched, Serving


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
def stores(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("stores")
    return [make_store(folder, word) for word in ("owed", "kept")]


def first(serving: Serving) -> str:
    return str(serving.answer("deposit")["documents"][0]["id"])


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("engine", [True, False])
def test_who_else_gets_a_question_is_read_off_the_pipeline(written, engine, stores, monkeypatch):
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


def test_the_next_question_is_answered_from_the_other_store(stores):
    serving = Serving("lexical", stores[0])
    assert first(serving) == "owed0"
    serving.switch(stores[1])
    assert first(serving) == "kept0"
    assert serving.pipeline.metadata["name"] == "lexical"


def test_no_question_fails_or_waits_for_the_other_store_while_it_is_loaded(stores):
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


def test_a_citation_goes_straight_to_the_article_before_any_model_runs(
    tmp_path, minilm, monkeypatch
):
    lines = [("a0", "Housing Code", "7"), ("a1", "Work Code", "7"), ("a2", "Work Code", "8")]
    with (tmp_path / "articles.jsonl").open("w") as file:
        for id_, law, number in lines:
            article = {"id": id_, "law": law, "number": number, "headings": [], "language": "en"}
            file.write(json.dumps({**article, "text": "The deposit."}) + "\n")
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
    assert found("art. 7", Narrowing(laws=("Work Code",))) == ["a1"]
    assert serving.answer("arts. 7 and 99 Work Code")["missing"] == ["99, Work Code"]
    assert ran == []
    assert len(found("May the deposit be kept under art. 7 Work Code?")) == 3
    assert len(ran) == 1


BEFORE, AFTER = date(2025, 3, 1), date(2026, 9, 30)


def index_laws(folder: Path, laws: Sequence[str], snapshot: date | None) -> Path:
    with (folder / "articles.jsonl").open("w") as file:
        for number, law in enumerate(laws):
            article = {"id": f"a{number}", "law": law, "number": str(number), "headings": []}
            file.write(json.dumps({**article, "text": "A deposit is given back."}) + "\n")
    index_corpus(folder / "articles.jsonl", folder / "law.db", model="none", snapshot=snapshot)
    return folder / "law.db"


@pytest.fixture
def indexed(tmp_path) -> Path:
    return index_laws(tmp_path, ["Housing Code", "Work Code"], BEFORE)


@pytest.fixture
def site(indexed) -> Any:
    serving = Serving("lexical", indexed)
    return build_site(serving, Searched(lambda: serving.store))


@pytest.fixture
def client(site) -> Iterator[TestClient]:
    with TestClient(site) as client:
        yield client


def ask_page(site: Any) -> Any:
    (view,) = (each for each in site.routes if isinstance(each, Mount) and each.path in ("", "/"))
    return view.app.get_blocks()


def years(document: str) -> set[str]:
    """The years of the days that are told; numbers that Gradio makes up are none."""
    return set(re.findall(r"(?:March|mars|September|septembre) (\d{4})\b", document))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", ["/", "/compare", "/law", "/training"])
def test_the_next_reader_sees_the_law_as_it_is_now(client, tmp_path, path, language):
    here = address(path, language)
    assert years(client.get(here).text) == {"2025"}
    index_laws(tmp_path, ["Work Code", "Family Code"], AFTER)
    document = client.get(here).text
    assert years(document) == {"2026"}
    if path == "/":
        assert "Family Code" in document
        assert "Housing Code" not in document


def test_an_open_page_that_is_older_than_the_law_is_recognised_after_others_came(
    site, client, tmp_path
):
    (index_,) = ask_page(site).fns
    index_laws(tmp_path, ["Work Code"], AFTER)
    client.get("/")
    data = ["", "deposit", ["Housing Code"], "all", ""]
    assert (
        client.post(JOIN, json={**call_of(), "data": data, "fn_index": index_}).status_code == 200
    )
    told = client.get(DATA, params={"session_hash": "s"}).text
    assert "The page may be older than the law that is now searched." in told
    for laws in ({"path": "/etc/passwd"}, [{"path": "/etc/passwd"}], [1.5], 7):
        wrong = {**call_of(), "data": ["", "deposit", laws, "all", ""], "fn_index": index_}
        assert client.post(JOIN, json=wrong).status_code == 400


def test_a_view_is_drawn_again_only_where_something_changed(site, client, tmp_path, monkeypatch):
    page, drawn = ask_page(site), []
    draw = page.get_config_file
    monkeypatch.setattr(page, "get_config_file", lambda: drawn.append(draw()) or drawn[-1])
    for _ in range(2):
        client.get("/")
    assert len(drawn) == 0
    index_laws(tmp_path, ["Work Code"], AFTER)
    for _ in range(3):
        client.get("/")
    assert len(drawn) == 1


def test_a_day_after_the_laws_own_is_reported_where_it_was_asked_for(site, client):
    (search,) = ask_page(site).fns.values()
    for on, open_ in (("2030-01-01", True), ("2025-03-01", False)):
        article = client.get("/article", params={"id": "a0", "on": on}).text
        *_, results, _ = search.fn("", "deposit", [], "all", on)
        for shown in (article, str(results)):
            assert ("The text here is of 1 March 2025" in shown) == open_
        limit = re.search(r'<p class="limit">(States as of .*? 20\d\d\.)( The text)?', str(results))
        assert limit is not None
        assert (limit[2] is not None) == open_
