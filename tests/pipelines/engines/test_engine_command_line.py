"""`index --engine` from the command line, and what it needs to be told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.statutes.corpus import StatuteCorpus
from components.statutes.problems import CorpusError
from pipelines import ask as ask_command
from pipelines import evaluate, home, index
from pipelines.command_line import DONE, WRONG_USE
from pipelines.engines.addresses import MILVUS_STORE, QDRANT_STORE, as_address, place_in
from pipelines.engines.scan import LawSpool, Shard, as_article, scan
from pipelines.files import LoadingError


@pytest.mark.parametrize(
    ("behind_url", "flag"), [(None, None), (None, "belgium"), ("belgium", None), ("eu", "eu")]
)
def test_a_corpus_is_indexed_and_asked(
    engine: str,
    address: str,
    behind_url: str | None,
    flag: str | None,
    corpus: Path,
    tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = ["--collection", flag] if flag else []
    url = f"{address}#{behind_url}" if behind_url else address
    asked = f"{address}#{behind_url or flag}" if behind_url or flag else address
    given = ["--corpus", str(corpus), "--engine", engine, "--url", url, *named]
    assert index.main([*given, "--model", str(tiny_model), "--json"]) == DONE
    report = json.loads(capsys.readouterr().out)
    assert (report["articles"], report["encoded"], report["complete"]) == (30, 30, True)
    question = ["art. 3 Tax Code, on repairs", "--pipeline", engine, "--store", asked]
    assert ask_command.main([*question, "--json", "--top-k", "3"]) == DONE
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["documents"]) == 3
    assert answer["pipeline"] == engine


def test_a_question_makes_no_folder(
    engine: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    places = [address, str(tmp_path / "empty")] if engine == "qdrant" else [address]
    for place in places:
        asked = ["Who pays?", "--pipeline", engine, "--store", place]
        assert ask_command.main(asked) == WRONG_USE
        told = capsys.readouterr().err
        assert f"at {place} is not there, or was not made by Lexarbor." in told
    assert [each.name for each in tmp_path.rglob("*")] == ["empty"]


def test_an_engines_folder_named_as_a_store_is_told(
    engine: str, address: str, corpus: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--corpus", str(corpus), "--engine", engine, "--url", address]
    assert index.main([*given, "--model", str(tiny_model)]) == DONE
    for pipeline in ([], ["--pipeline", "lexical"]):
        assert ask_command.main(["Who pays?", "--store", address, *pipeline]) == WRONG_USE
        told = capsys.readouterr().err
        assert f"{address} is a folder of {engine.title()}, not a store." in told
        assert f"--pipeline {engine}" in told


def test_two_collections_are_refused(
    engine: str, address: str, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--corpus", str(corpus), "--engine", engine, "--url", f"{address}#eu"]
    assert index.main([*given, "--collection", "belgium"]) == WRONG_USE
    assert "#eu names the collection eu, and --collection belgium." in capsys.readouterr().err
    assert not Path(address).exists()


def test_an_engine_is_evaluated_as_a_store_is(
    engine: str, address: str, corpus: Path, tiny_model: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given = ["--corpus", str(corpus), "--engine", engine, "--url", address]
    assert index.main([*given, "--model", str(tiny_model)]) == DONE
    question = {"id": "q", "text": "What is rule 3?", "relevant": ["a3"], "split": "dev"}
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps(question) + "\n", encoding="utf-8")
    capsys.readouterr()
    asked = ["--questions", str(questions), "--pipeline", engine, "--store", address, "--json"]
    assert evaluate.main([*asked, "--split", "dev"]) == DONE
    result = json.loads(capsys.readouterr().out)
    assert [stage["stage"] for stage in result["stages"]][-1] == "fused"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --store FILE, or --engine with --url"),
        (["--store", "a.db", "--engine", "qdrant"], "either --store FILE, or --engine"),
        (["--engine", "qdrant"], "--engine needs the engine's address"),
        (["--store", "a.db", "--shard", "1/2"], "go with --engine"),
        (["--engine", "qdrant", "--url", "u", "--graph"], "--graph goes with --store"),
        (["--engine", "qdrant", "--url", "u", "--model", "none"], "an engine needs vectors"),
        (["--engine", "qdrant", "--url", "u", "--shard", "3/2"], "with I from 1 to N"),
        (["--engine", "qdrant", "--url", "u", "--shard", "half"], "write it as I/N"),
    ],
)
def test_wrong_use_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        index.main(["--corpus", "aldermere", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://localhost:6333", "https://a.b:443/prefix#laws"])
def test_an_address_survives_a_path(url: str) -> None:
    assert as_address(home.store_to_ask(url, "qdrant", print)) == url
    assert as_address(Path("/laws/here")) == "/laws/here"


def test_an_address_takes_the_place_of_the_files_own() -> None:
    parameters = {"url": "http://old:6333", "index": "lexarbor"}
    place_in(QDRANT_STORE, parameters, "./folder#laws")
    assert parameters == {"path": "folder", "index": "laws"}
    parameters = {"connection_args": {"uri": "old", "token": "t"}}
    place_in(MILVUS_STORE, parameters, "http://new:19530")
    assert parameters["connection_args"] == {"uri": "http://new:19530", "token": "t"}
    with pytest.raises(LoadingError, match=r"ends in \.db"):
        place_in(MILVUS_STORE, parameters, "./folder")


def test_an_address_is_told_as_it_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--corpus", "aldermere", "--engine", "milvus", "--url", "./law-milvus"]
    assert index.main(given) == WRONG_USE
    assert "error: ./law-milvus is no address of Milvus." in capsys.readouterr().err


def test_a_shards_laws_come_back_in_their_order(corpus: Path) -> None:
    with LawSpool() as spool:
        found = scan(corpus, spool, Shard(), measure=True, skip_bad=False, say=print)
        assert found.sha256 == StatuteCorpus.read(corpus).sha256
        law = spool.laws[0]
        assert len(spool.laws) == len(found.laws) == 3
        articles = [as_article(line) for _, line in spool.lines(law)]
        positions = [position for position, _ in spool.lines(law)]
    assert {article.law for article in articles} == {law}
    assert positions == sorted(positions) and len(positions) == spool.count(law) == 10
    assert found.articles == 30
    assert found.average_length is not None and 5 < found.average_length < 30


def test_every_law_is_one_shards() -> None:
    laws = [f"Code {number}" for number in range(200)]
    shards = [[law for law in laws if Shard(number, 3).has(law)] for number in (1, 2, 3)]
    assert sorted(law for each in shards for law in each) == sorted(laws)
    assert min(map(len, shards)) > 40


def test_what_is_wrong_with_a_corpus_is_said_before_anything_is_done(tmp_path: Path) -> None:
    bad = tmp_path / "articles.jsonl"
    bad.write_text('{"id": "a"}\n', encoding="utf-8")
    with LawSpool() as spool, pytest.raises(CorpusError):
        scan(bad, spool, Shard(), measure=False, skip_bad=False, say=print)
