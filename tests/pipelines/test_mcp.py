"""The tools for agents, asked by the official SDK's client."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from haystack_integrations.tools.mcp import MCPTool, StreamableHttpServerInfo
from indexed import indexed
from mcp import StdioServerParameters
from mcp.client.client import Client
from serving import served

from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import add_guides
from pipelines.loading import load_pipeline
from pipelines.serving.app import build_app
from pipelines.serving.limits import LOOPBACK, Limits, prompt_server
from pipelines.serving.mcp import build_mcp

TOOLS = {"find_articles", "read_article", "check_citations", "list_laws"}
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pipeline(aldermere_store):
    loaded = load_pipeline("lexical", aldermere_store)
    yield loaded
    loaded.close()


def called(server, *calls):
    """What each call returns: its JSON, or the message of its error."""

    async def run():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    results = asyncio.run(run())
    texts = [each.content[0].text for each in results]
    return [
        text if each.is_error else json.loads(text)
        for each, text in zip(results, texts, strict=True)
    ]


def has_null(value):
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    return value is None or (isinstance(value, list) and any(map(has_null, value)))


def test_the_tools_only_read_and_say_what_they_take(pipeline):
    async def run():
        async with Client(build_mcp(pipeline)) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(run())
    assert {each.name for each in tools} == TOOLS
    for each in tools:
        assert each.description
        assert each.annotations.read_only_hint and not each.annotations.open_world_hint
        assert all("description" in of for of in each.input_schema["properties"].values())


def test_agents_ask_for_the_law_of_a_place(tmp_path, make_article):
    places = {8: "us/or", 16: "us/or/portland", 24: "us/or/eugene"}
    articles = [make_article(n, jurisdiction=place) for n, place in places.items()]
    store = indexed(tmp_path, articles)
    asked = {"question": "rent officer", "jurisdiction": "us/or/portland"}
    listed, found, unknown = called(
        build_mcp(load_pipeline("lexical", store)),
        ("list_laws", {}),
        ("find_articles", asked),
        ("find_articles", {**asked, "jurisdiction": "us/wa"}),
    )
    assert {place for law in listed["laws"] for place in law["jurisdictions"]} == {*places.values()}
    assert {each["jurisdiction"] for each in found["articles"]} == {"us/or", "us/or/portland"}
    assert "us/or/eugene" in unknown


def test_articles_are_found_compactly(pipeline):
    asked = {"question": "When does the landlord return the deposit?", "law": "Housing Code"}
    (found,) = called(build_mcp(pipeline), ("find_articles", {**asked, "top_k": 3}))
    assert len(found["articles"]) == 3
    first = found["articles"][0]
    assert first["id"].startswith("housing-14")
    assert first["title"].startswith("Housing Code of Aldermere (invented), Article 14")
    assert first["state"] == "in force"
    assert "deposit" in first["passage"]
    definition = found["definitions"][0]
    assert definition.keys() == {"term", "text", "id", "title"}
    assert definition["title"] == "Housing Code of Aldermere (invented), Article 2"
    assert not has_null(found)
    assert len(json.dumps(found)) < 6_000

    named, unknown, repealed = called(
        build_mcp(pipeline),
        ("find_articles", {"question": "art. 13 and art. 999 of the Housing Code"}),
        ("find_articles", {"question": "wages", "law": "Tax Code"}),
        ("find_articles", {"question": "art. 13 of the Housing Code", "on": "2015-01-01"}),
    )
    assert named["not_in_the_collection"] == ["art. 999, Housing Code of Aldermere (invented)"]
    assert [each["state"] for each in named["left_out"]] == ["repealed"]
    assert "No law here is called 'Tax Code'" in unknown
    assert repealed["articles"][0]["id"] == "housing-13"
    assert repealed["as_of"] == "2015-01-01"

    absent, replaced, read = called(
        build_mcp(pipeline),
        ("find_articles", {"question": "art. 999 Housing Code"}),
        ("find_articles", {"question": "art. 25 Housing Code"}),
        ("read_article", {"id": "housing-12", "on": "2018-06-30"}),
    )
    assert absent["articles"] == replaced["articles"] == []
    assert replaced["left_out"][0]["replaced_by"]["id"] == "housing-25-1"
    assert (read["state"], read["earlier_text"]) == ("not yet in force", "not held")


def test_a_guide_or_the_situations_come_with_the_articles(aldermere_store, tmp_path):
    store = shutil.copy(aldermere_store, tmp_path / "law.db")
    add_guides(store, REPOSITORY / "pipelines" / "demo" / "guides.jsonl", lambda _: None)
    server = build_mcp(load_pipeline("lexical", store))
    (open_,) = called(server, ("find_articles", {"question": "My landlord and the deposit"}))
    assert "guide" not in open_
    situation = open_["situations"][0]
    (certain,) = called(server, ("find_articles", {"question": situation["question"]}))
    assert certain["guide"]["id"] == situation["id"]
    assert "situations" not in certain


def test_an_article_is_read_with_what_it_cites_and_what_cites_it(pipeline):
    by_name, by_id, neither, absent, bad_day = called(
        build_mcp(pipeline),
        ("read_article", {"law": "Housing Code of Aldermere", "number": "Article 16"}),
        ("read_article", {"id": "housing-13"}),
        ("read_article", {"law": "Housing Code"}),
        ("read_article", {"id": "housing-999"}),
        ("read_article", {"id": "housing-13", "on": "13 March"}),
    )
    assert by_name["id"] == "housing-16"
    assert by_name["text"].startswith("(1) A landlord who takes a deposit")
    assert {each["id"] for each in by_name["definitions"]} == {"housing-2"}
    assert by_name["previous"]["id"] == "housing-15"
    assert by_name["next"]["title"].endswith("Article 17")
    assert [each["id"] for each in by_name["cites"]] == [
        "housing-12",
        "housing-14",
        "housing-8",
        "housing-5",
        "housing-11",
    ]
    assert (by_id["state"], by_id["valid_to"]) == ("repealed", "2018-12-31")
    assert "housing-13-1" in [each["id"] for each in by_id["cited_by"]]
    assert not has_null(by_name) and not has_null(by_id)
    assert "Give the law and the number of an article, or its id." in neither
    assert "There is no article with the id 'housing-999'." in absent
    assert "on is not a day" in bad_day


NUMBERS = ("80", "80-IA", "80GGA", "2.º-A", "§ 12 a", "7-1", "71", "12¹", "Final rule, second")


ALSO_WRITTEN = {
    **{each: each for each in NUMBERS},
    "80ia": "80-IA",
    "Section 80 GGA": "80GGA",
    "80 g.g.a": "80GGA",
    "2º A": "2.º-A",
    "Art. 12a": "§ 12 a",
    "7.1": "7-1",
    "80(2)": "80",
    "80-IB": None,
    "80GG": None,
    "12": None,
}


def test_an_article_is_read_by_its_number_as_printed(tmp_path):
    law = {"law": "Levy Act, 1961", "law_names": ["ELA"], "law_id": "act/1961/43", "headings": []}
    articles = [
        {"id": each, "number": each, "text": f"Rule {place}.", **law}
        for place, each in enumerate(NUMBERS)
    ]
    asked = [("Levy Act, 1961", each) for each in ALSO_WRITTEN]
    asked += [(name, "80-IA") for name in ("LEVY  act", "ELA", "ACT/1961/43")]
    read = called(
        build_mcp(load_pipeline("lexical", indexed(tmp_path, articles))),
        *(("read_article", {"law": law, "number": number}) for law, number in asked),
    )
    found = [each["id"] if isinstance(each, dict) else None for each in read]
    assert found == [*ALSO_WRITTEN.values(), "80-IA", "80-IA", "80-IA"]


@pytest.fixture(scope="module")
def amended(road_act):
    loaded = load_pipeline("lexical", road_act)
    yield loaded
    loaded.close()


def test_a_long_article_is_read_in_pieces(amended, road_act):
    server = build_mcp(amended)
    (first,) = called(server, ("read_article", {"law": "Road Act", "number": "5"}))
    pieces, read = [first["text"]], first
    while "next_offset" in read:
        place = {"id": "new", "offset": read["next_offset"]}
        (read,) = called(server, ("read_article", place))
        pieces.append(read["text"])
    (stored,) = StatuteDocumentStore(road_act).filter_documents(
        {"field": "id", "operator": "==", "value": "new"}
    )
    assert "".join(pieces) == stored.content
    assert len(pieces) > 3
    assert max(map(len, pieces)) <= 12_000
    assert "other_wordings" in first and "other_wordings" not in read
    (wrong,) = called(server, ("read_article", {"id": "new", "offset": 5}))
    assert "next_offset" in wrong


def test_what_changed_since_a_wording_is_read(amended):
    server = build_mcp(amended)
    asked = {"law": "Road Act", "number": "5"}
    since, previous, wrong, same = called(
        server,
        ("read_article", {**asked, "since": "2018-01-01"}),
        ("read_article", {**asked, "since": "previous"}),
        ("read_article", {**asked, "since": "last year"}),
        ("read_article", {**asked, "since": "2021-01-01"}),
    )
    assert since == previous
    (line,) = since["changes"]
    assert "of [-place-] {+town+} 7 holds" in line
    assert "text" not in since and since["before"] == {"id": "old", "valid_to": "2019-12-31"}
    assert wrong.startswith("Error") or "since is not a day" in wrong
    assert "both days" in same["note"] and same["changes"] == []


def test_what_changed_is_that_of_the_wording_read_and_is_cut_where_long(tmp_path):
    law = {"law": "Road Act", "number": "5", "headings": []}
    wordings = [
        {**law, "id": "1", "text": "Drive left.", "valid_to": "2009-12-31"},
        {**law, "id": "2", "text": "Drive right.", "valid_from": "2010-01-01"},
        {**law, "id": "3", "text": "Walk. " * 3_000, "valid_from": "2900-01-01"},
    ]
    wordings[1]["valid_to"] = "2899-12-31"
    loaded = load_pipeline("lexical", indexed(tmp_path, wordings))
    today, earlier, later, first = called(
        build_mcp(loaded),
        ("read_article", {"law": "Road Act", "number": "5", "since": "previous"}),
        ("read_article", {"id": "2", "since": "previous"}),
        ("read_article", {"id": "3", "since": "previous"}),
        ("read_article", {"id": "1", "since": "previous"}),
    )
    loaded.close()
    assert today == earlier
    assert today["changes"] == ["Drive [-left-] {+right+}."]
    assert (later["before"]["id"], later["after"]["id"]) == ("2", "3")
    assert len(later["changes"][0]) == 12_002 and later["changes_in_all"] == 1
    assert "No wording before" in first["note"]


def test_citations_are_checked_and_laws_listed(pipeline):
    text = "Article 99 of the Housing Code. Article 14 of the Housing Code. Article 1 GDPR."
    checked, laws, too_long = called(
        build_mcp(pipeline),
        ("check_citations", {"text": text, "on": "2026-11-01"}),
        ("list_laws", {}),
        ("check_citations", {"text": "a" * 50_001}),
    )
    assert [each["verdict"] for each in checked["citations"]] == [
        "does not exist",
        "verified",
        "unknown law",
    ]
    assert checked["citations"][1]["id"] == "housing-14"
    assert checked["counts"]["not checked"] == 0
    assert len(laws["laws"]) == 5
    assert laws["laws"][0]["articles"] == 58
    assert "50000" in too_long


def test_a_pipelines_own_filters_hold_for_every_tool(aldermere_store):
    only = {"field": "meta.law", "operator": "==", "value": "Work Code of Aldermere (invented)"}
    overrides = {f"{each}.filters": only for each in ("citation", "bm25")}
    server = build_mcp(load_pipeline("lexical", aldermere_store, overrides=overrides))
    found, read, laws, checked = called(
        server,
        ("find_articles", {"question": "When is the deposit returned?", "top_k": 5}),
        ("read_article", {"id": "housing-14"}),
        ("list_laws", {}),
        ("check_citations", {"text": "Article 14 of the Housing Code."}),
    )
    assert all(each["id"].startswith("work-") for each in found["articles"])
    assert "There is no article" in read
    assert [each["law"] for each in laws["laws"]] == ["Work Code of Aldermere (invented)"]
    assert "check_citations" in checked and "articles" not in checked


def test_the_command_answers_the_sdks_client_over_stdio(aldermere_store):
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pipelines.mcp", "--store", str(aldermere_store)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    found, laws = called(
        parameters,
        ("find_articles", {"question": "art. 14 of the Housing Code"}),
        ("list_laws", {}),
    )
    assert found["articles"][0]["id"] == "housing-14"
    assert len(laws["laws"]) == 5


def test_the_service_answers_the_sdk_and_haystack_at_mcp(aldermere_store):
    app = build_app({"lexical": load_pipeline("lexical", aldermere_store)}, Limits(), LOOPBACK)
    app.state.served["lexical"].setup()

    with served(prompt_server(app, 5, log_config=None, proxy_headers=False)) as address:
        (laws,) = called(f"{address}mcp", ("list_laws", {}))
        tool = MCPTool("read_article", StreamableHttpServerInfo(f"{address}mcp"))
        read = tool.invoke(id="housing-14")
        tool.close()
    assert len(laws["laws"]) == 5
    article = json.loads(json.loads(read)["content"][0]["text"])
    assert article["title"] == "Housing Code of Aldermere (invented), Article 14"
