"""Serving: who is asked, how many at once, and what happens when the store changes."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from fastapi.testclient import TestClient
from haystack import Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from indexed import indexed
from law_files import article
from starlette.routing import Mount
from tiny_site import DATA, JOIN, call_of

from components.generators.tolerant import TolerantChatGenerator
from components.models.biencoder import BiEncoder
from components.retrievers.citation import CitationRetriever
from components.retrievers.engines import EngineCitationRetriever
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError
from pipelines.loading import chat_generator
from ui.ask import Narrowing
from ui.language import LANGUAGES, address
from ui.law import Places
from ui.server import OF_TODAY, Serving, build_site, recipients


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A store of one article."""
    return indexed(tmp_path_factory.mktemp("store"), [article("a0", text="A deposit is owed.")])


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("engine", [True, False])
def test_who_else_gets_a_question_is_read_off_the_pipeline(written, engine, store):
    pipeline = Pipeline()
    # As the pipeline's own file may name it, without any flag.
    model = OpenAIChatGenerator(api_key=Secret.from_token("none")) if written else None
    pipeline.add_component("generator", TolerantChatGenerator(model))
    pipeline.add_component(
        "citation",
        EngineCitationRetriever(QdrantDocumentStore(":memory:"))
        if engine
        else CitationRetriever(StatuteDocumentStore(store)),
    )
    expected = {name for name, told in (("generator", written), ("engine", engine)) if told}
    assert recipients(pipeline) == expected


def test_a_pipeline_whose_searches_the_page_does_not_show_is_refused(store):
    with pytest.raises(LoadingError, match="does not show the searches of 'hybrid_rewritten'"):
        Serving("hybrid_rewritten", store)


def answer_of(serving: Serving, question: str, narrowing: Narrowing = OF_TODAY) -> dict[str, Any]:
    *_, answered = serving.answers(question, narrowing)
    return answered


def test_a_citation_goes_straight_to_the_article_before_any_model_runs(
    tmp_path, minilm, monkeypatch
):
    lines = [("a0", "Housing Code", "7"), ("a1", "Work Code", "7"), ("a2", "Work Code", "8")]
    articles = [
        article(id_, law=law, number=number, text="The deposit.", language="en")
        for id_, law, number in lines
    ]
    serving = Serving("hybrid", indexed(tmp_path, articles, minilm))
    ran: list[str] = []
    encode = BiEncoder.encode_queries

    def counted(self: BiEncoder, texts: list[str]) -> Any:
        ran.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(BiEncoder, "encode_queries", counted)

    def found(question: str, narrowing: Narrowing = OF_TODAY) -> list[str]:
        return [each["id"] for each in answer_of(serving, question, narrowing)["documents"]]

    assert found("art. 7 Work Code") == ["a1"]
    assert found("§ 7") == ["a0", "a1"]
    assert found("art. 7", Narrowing(laws=("Work Code",))) == ["a1"]
    assert answer_of(serving, "arts. 7 and 99 Work Code")["missing"] == ["99, Work Code"]
    assert ran == []
    assert len(found("May the deposit be kept under art. 7 Work Code?")) == 3
    # Retriever and page share one vector.
    assert ran == ["May the deposit be kept under art. 7 Work Code?"]


def test_a_written_answer_grows_from_articles_to_words_to_verdicts(tmp_path, minilm):
    store = indexed(tmp_path, [article("a0", text="A deposit is owed.", language="en")], minilm)
    with chat_server() as server:
        server.reply = 'It is: "A deposit is owed" [1].'
        overrides = {"generator.chat_generator": chat_generator(server.url, "scripted")}
        serving = Serving("answer_hybrid", store, overrides=overrides)
        *growing, answered = serving.answers("Is the deposit owed?", Narrowing(day=BEFORE))
    assert growing[0]["writing"] == "" and growing[0]["documents"][0]["id"] == "a0"
    assert all(server.reply.startswith(each["writing"]) for each in growing)
    assert "writing" not in answered and answered["answer"]["text"].startswith("It is")
    assert answered["documents"] == growing[0]["documents"]


BEFORE, AFTER = date(2025, 3, 1), date(2026, 9, 30)


def index_laws(folder: Path, laws: Sequence[str], snapshot: date | None) -> Path:
    text = "A deposit is given back."
    articles = [article(f"a{n}", law=law, number=str(n), text=text) for n, law in enumerate(laws)]
    return indexed(folder, articles, snapshot=snapshot)


@pytest.fixture
def site(tmp_path) -> Any:
    serving = Serving("lexical", index_laws(tmp_path, ["Housing Code", "Work Code"], BEFORE))
    return build_site(serving, Places(serving.store))


@pytest.fixture
def client(site) -> Iterator[TestClient]:
    with TestClient(site) as client:
        yield client


def ask_page(site: Any) -> Any:
    (view,) = (each for each in site.routes if isinstance(each, Mount) and each.path in ("", "/"))
    return view.app.get_blocks()


def years(document: str) -> set[str]:
    """The years of the days that are told; numbers that Gradio makes up are none."""
    march, september = "March|März|marzo|mars", "September|septiembre|septembre|settembre"
    return set(re.findall(rf"(?:{march}|{september})(?: de)? (\d{{4}})\b", document))


def test_the_next_reader_sees_the_law_as_it_is_now(client, tmp_path):
    views = [
        address(path, language) for path in ("/", "/compare", "/law") for language in LANGUAGES
    ]
    for view in views:
        assert years(client.get(view).text) == {"2025"}, view
    index_laws(tmp_path, ["Work Code", "Family Code"], AFTER)
    for view in views:
        assert years(client.get(view).text) == {"2026"}, view
    document = client.get("/").text
    assert "Family Code" in document
    assert "Housing Code" not in document


def test_an_open_page_that_is_older_than_the_law_is_recognised_after_others_came(
    site, client, tmp_path
):
    (index_,) = ask_page(site).fns
    index_laws(tmp_path, ["Work Code"], AFTER)
    client.get("/")

    def status(link: object) -> int:
        call = {**call_of(link), "fn_index": index_}
        return client.post(JOIN, json=call).status_code

    assert status("q=deposit&law=Housing+Code") == 200
    told = client.get(DATA, params={"session_hash": "s"}).text
    assert "This page is out of date." in told
    for link in ({"path": "/etc/passwd"}, ["q=deposit"], 7):
        assert status(link) == 400


def test_a_day_after_the_laws_own_is_reported_where_it_was_asked_for(site, client):
    (search,) = ask_page(site).fns.values()
    for on, open_ in (("2030-01-01", True), ("2025-03-01", False)):
        page = client.get("/article", params={"id": "a0", "on": on}).text
        _, results, _, _ = search.fn(f"q=deposit&which=all&day={on}")
        for shown in (page, str(results)):
            assert ("The text is as of 1 March 2025" in shown) == open_
        limit = re.search(r'<p class="limit">(States as of .*? 20\d\d\.)( The text)?', str(results))
        assert limit is not None
        assert (limit[2] is not None) == open_
