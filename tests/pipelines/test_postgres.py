"""PostgreSQL as a team runs it: killed, restarted, shared, read-only, and never half a law."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engine_cases import check_it_gets_places

from components.retrievers.embedding import record_long_articles
from components.statutes.corpus import read_questions
from components.stores.database import StoreError
from components.stores.engines import LAW
from components.stores.postgres import PostgresEngine
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask, run
from pipelines.command_line import DONE
from pipelines.engines import Shard, engine_at, index_into_engine
from pipelines.home import resolve
from pipelines.indexing import index_corpus
from pipelines.loading import LoadingError, load_pipeline
from pipelines.serving.app import ServedPipeline
from pipelines.serving.limits import RequestQueue

pytestmark = pytest.mark.integration
Article = dict[str, Any]
OF_STAGES = Path(__file__).resolve().parents[2] / "examples" / "stages.yaml"
CITED = "art. 3 Housing Code, on repairs"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch) -> None:
    monkeypatch.setattr("components.stores.engines._INDEXING", (0.05, 0.2))
    monkeypatch.setattr("components.stores.engines._ASKING", (0.05,))


@pytest.fixture
def address(postgres, request) -> str:
    """A collection of the test's own."""
    name = request.node.name.removeprefix("test_")[:40].replace("[", "_").replace("]", "")
    return f"{postgres.url()}#{name}"


def test_a_missing_extra_is_named(monkeypatch, corpus, tiny_model, command):
    package = "haystack_integrations.document_stores.pgvector"
    for module in (package, f"{package}.document_store"):
        monkeypatch.setitem(sys.modules, module, None)
    url = "postgresql://me@localhost/law"
    for attempt in (
        lambda: load_pipeline("postgres", store=url),
        lambda: index_into_engine(corpus, url, model=str(tiny_model)),
    ):
        with pytest.raises(LoadingError, match=r"pip install 'lexarbor\[postgres\]'"):
            attempt()
    code, _, said = command("index", "--corpus", corpus, "--engine", url)
    assert code != DONE and "pip install 'lexarbor[postgres]'" in said


def edition(articles: list[Article], name: str) -> list[Article]:
    """The articles in another text each."""
    return [{**each, "text": f"{each['text']} As of the {name} edition."} for each in articles]


def editions(engine: PostgresEngine, articles: list[Article]) -> dict[str, set[str]]:
    """The editions that each law has articles of: one if it is whole."""
    found: dict[str, set[str]] = {}
    for each in engine.fetch([each["id"] for each in articles]):
        words = (each.content or "").partition(" As of the ")[2]
        found.setdefault(each.meta["law"], set()).add(words.partition(" ")[0] or "first")
    return found


def assert_counted(engine: PostgresEngine) -> None:
    """How many articles have each term is what the articles say."""
    counted = engine._execute(
        "SELECT term, articles FROM {terms} WHERE articles <> 0 ORDER BY term"
    )
    found = engine._execute(
        "SELECT term::integer, count(*) FROM {rows} r, unnest(array_prepend('0', string_to_array("
        "split_part(ltrim(r.words::text, '{{'), '}}', 1), ','))) AS item, "
        "split_part(item, ':', 1) AS term GROUP BY term ORDER BY term::integer"
    )
    assert counted == found
    assert dict(counted)[0] == engine.count()


def test_a_corpus_is_indexed_and_asked(
    postgres, address, corpus, tiny_model, command, monkeypatch, tmp_path
):
    url, _, name = address.partition("#")
    given = ("index", "--corpus", corpus, "--collection", name, "--model", tiny_model, "--json")
    code, out, _ = command(*given, "--engine", url, "--hnsw")
    report = json.loads(out)
    assert (code, report["articles"], report["encoded"], report["complete"]) == (DONE, 30, 30, True)
    assert report["recall"] > 0.8
    monkeypatch.setenv("PG_CONN_STR", url)
    code, out, _ = command(*given, "--engine", "postgres")
    report = json.loads(out)
    assert (code, report["encoded"], report["written"], report["recall"]) == (DONE, 0, 0, None)
    question = "art. 3 Tax Code, on repairs"
    asked = ("--pipeline", "postgres", "--json", "--top-k", 3, "--store", address)
    code, out, _ = command("ask", question, *asked)
    answer = json.loads(out)
    assert (code, len(answer["documents"]), answer["pipeline"]) == (DONE, 3, "postgres")
    # By a table's name in the file, the address comes from the environment.
    named = {"citation.document_store": _store(name)}
    pipeline = load_pipeline("postgres", overrides=named)
    assert pipeline.get_component("dense").document_store.search_strategy == "hnsw"
    (tmp_path / "own.yaml").write_text(pipeline.dumps())
    again = ask(load_pipeline(tmp_path / "own.yaml"), question, top_k=3)["documents"]
    assert [each["id"] for each in again] == [each["id"] for each in answer["documents"]]


def _store(name: str) -> dict[str, Any]:
    secret = {"type": "env_var", "env_vars": ["PG_CONN_STR"], "strict": True}
    kind = "haystack_integrations.document_stores.pgvector.document_store.PgvectorDocumentStore"
    parameters = {"connection_string": secret, "table_name": name, "create_extension": False}
    return {"type": kind, "init_parameters": parameters}


def test_the_demo_law_is_ranked_as_by_the_embedded_store(address, tiny_model, tmp_path):
    index_corpus("aldermere", tmp_path / "law.db", model=str(tiny_model))
    with closing(StatuteDocumentStore(str(tmp_path / "law.db"))) as store:
        record_long_articles(store, {})  # an engine has no vectors of provisions
    index_into_engine("aldermere", address, model=str(tiny_model))
    embedded = load_pipeline(OF_STAGES, tmp_path / "law.db")
    postgres = load_pipeline("postgres", address)
    for question in read_questions("aldermere")[::1000]:
        ours, theirs = (
            run(each, question.text, {"bm25", "dense"}, 10) for each in (embedded, postgres)
        )
        for stage in ("bm25", "dense"):
            first, second = (found[stage]["documents"][:10] for found in (ours, theirs))
            assert [each.id for each in first] == [each.id for each in second], question
            scores = [each.score for each in first]
            assert [each.score for each in second] == pytest.approx(scores, abs=2e-6)


def test_addresses_are_told_apart_and_shown_without_a_password(monkeypatch):
    monkeypatch.delenv("PG_CONN_STR", raising=False)
    url = "postgresql://me:secret@db.example/law?password=secret&sslmode=require#fr"
    plan = resolve("postgres", url, None, print)
    assert (plan.store, plan.asks_engine) == (url, True)
    assert plan.place == "postgresql://me:***@db.example/law?password=***&sslmode=require#fr"
    with pytest.raises(LoadingError, match="PG_CONN_STR"):
        resolve("postgres", None, None, print)
    for pipeline, wrong in (("qdrant", url), ("postgres", "http://localhost:6333")):
        with pytest.raises(
            LoadingError, match=r"is not an address of this engine.*--pipeline"
        ) as raised:
            load_pipeline(pipeline, store=wrong)
        assert "secret" not in str(raised.value)
    with pytest.raises(LoadingError, match=r"asked with --pipeline postgres\.$"):
        load_pipeline("hybrid", store=url)
    assert resolve(None, url, None, print) == plan
    for given, shown in (("db.example", "db.example"), ("me@db.example", "db.example:5432/me")):
        with closing(engine_at(f"postgresql://{given}#fr")) as engine:
            assert engine.where.startswith(f"PostgreSQL at {shown}")
            assert "/," not in engine.where


def killed(run: Callable[[], object], method: str, call: int) -> None:
    """Run in a process that is killed within a call of the engine."""
    child = os.fork()
    if child == 0:
        wrapped, calls = getattr(PostgresEngine, method), iter(range(100))

        def dying(self: PostgresEngine, *args: Any, **options: Any) -> Any:
            result = wrapped(self, *args, **options)
            if next(calls) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(PostgresEngine, method, dying)
        try:
            run()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_an_indexer_that_is_killed_leaves_whole_laws_and_continues(index, look, articles):
    index(articles)
    laws = list(dict.fromkeys(each["law"] for each in articles))
    for number, (method, call, n_new) in enumerate(
        (("write", 0, 0), ("_digest", len(laws) + 1, 1), ("settle", 0, len(laws)))
    ):
        name = f"{number}th"
        changed = edition(articles, name)
        before = editions(look(), articles)
        killed(lambda new=changed: index(new), method, call)
        after = editions(look(), articles)
        assert all(len(each) == 1 for each in after.values()), method
        assert [law for law in laws if after[law] == {name}] == laws[:n_new], method
        assert [after[law] for law in laws[n_new:]] == [before[law] for law in laws[n_new:]]
        assert_counted(look())
        report = index(changed)
        assert (report.encoded, report.complete) == (0, True), method
        assert editions(look(), articles) == {law: {name} for law in laws}
        assert_counted(look())
    assert look()._execute("SELECT count(*) FROM {staged}") == [(0,)]


def test_a_first_run_that_is_killed_is_not_asked(index, address, articles):
    killed(lambda: index(articles), "finish_law", 0)
    with pytest.raises(LoadingError, match=r"not yet indexed to its end.*same command again"):
        load_pipeline("postgres", store=address)
    assert index(articles).encoded == 0
    assert len(ask(load_pipeline("postgres", store=address), CITED)["documents"]) == 10


def test_a_server_that_is_killed_under_its_clients_is_used_again(
    postgres, index, address, articles
):
    index(articles)
    pipeline = load_pipeline("postgres", store=address)
    questions = [f"art. {n} {law}" for n in (3, 7) for law in ("Housing Code", "Tax Code")]
    expected = {each: ask(pipeline, each)["documents"] for each in questions}
    ended, wrong, errors, answered = threading.Event(), [], [], []

    def client(number: int) -> None:
        for turn in range(10_000):
            question = questions[(number + turn) % len(questions)]
            try:
                found = ask(pipeline, question)["documents"]
                (answered if found == expected[question] else wrong).append(time.monotonic())
            except StoreError as error:
                errors.append(str(error))
            except Exception as error:  # noqa: BLE001
                wrong.append(error)
            if ended.is_set():
                return

    clients = [threading.Thread(target=client, args=(number,)) for number in range(20)]
    for each in clients:
        each.start()
    time.sleep(0.5)
    postgres.kill()
    time.sleep(0.5)
    postgres.start()
    back = time.monotonic()
    time.sleep(1.0)
    ended.set()
    for each in clients:
        each.join()
    assert wrong == []
    assert answered[-1] > back
    assert errors
    assert all("does not answer" in each and "\n" not in each for each in errors)
    assert ask(pipeline, questions[0])["documents"] == expected[questions[0]]
    pipeline.close()


def test_a_service_is_not_ready_while_its_server_is_down(postgres, index, address, articles):
    index(articles)
    served = ServedPipeline(load_pipeline("postgres", store=address), RequestQueue(1, 1), 5.0)
    served.setup()
    assert served.state == "ready"
    postgres.kill()
    assert served.state == "store"
    postgres.start()
    assert served.state == "ready"
    name = address.partition("#")[2]
    postgres.run(f'ALTER TABLE "{name}" RENAME TO "{name}_away"')
    assert served.state == "store"
    served.pipeline.close()


def test_a_restart_while_indexing_is_waited_for(postgres, index, look, articles, monkeypatch):
    monkeypatch.setattr("components.stores.engines._INDEXING", (0.2, 1.0, 3.0))
    write, restarted = PostgresEngine.write, []

    def interrupted(self: PostgresEngine, documents: Any) -> None:
        if not restarted:
            postgres.kill()
            restarted.append(threading.Timer(0.4, postgres.start))
            restarted[0].start()
        write(self, documents)

    monkeypatch.setattr(PostgresEngine, "write", interrupted)
    assert index(articles).complete
    restarted[0].join()
    assert look().count() == 30


def test_two_writers_leave_each_law_whole(index, look, articles):
    index(articles)
    results: list[Any] = []

    def run(name: str, shard: Shard) -> None:
        try:
            results.append(index(edition(articles, name), shard=shard))
        except StoreError as error:
            results.append(str(error))

    for number in range(2):
        one, two = f"{number}-one", f"{number}-two"
        for names, shards in (
            ((one, two), (Shard(), Shard())),
            ((f"{number}-both",) * 2, (Shard(1, 2), Shard(2, 2))),
        ):
            writers = [
                threading.Thread(target=run, args=(name, shard))
                for name, shard in zip(names, shards, strict=True)
            ]
            for each in writers:
                each.start()
            for each in writers:
                each.join()
            found = editions(look(), articles)
            assert all(len(each) == 1 for each in found.values()), results
            assert set().union(*found.values()) <= set(names)
            assert_counted(look())
    refused = [each for each in results if isinstance(each, str)]
    assert all("from another run meanwhile. Run the command again" in each for each in refused)
    assert len(results) - len(refused) >= 6


def test_a_law_that_another_run_changed_meanwhile_is_not_mixed(index, look, articles, monkeypatch):
    index(articles)
    write, between = PostgresEngine.write, []

    def slow(self: PostgresEngine, documents: Any) -> None:
        write(self, documents)
        if not between:
            between.append(True)
            index(edition(articles[:7], "fast"), replace=True)

    monkeypatch.setattr(PostgresEngine, "write", slow)
    with pytest.raises(StoreError, match="another text of 'Work Code' from another run"):
        index(edition(articles, "slow"))
    assert editions(look(), articles)[articles[0]["law"]] == {"fast"}
    assert_counted(look())


def test_a_role_that_may_only_read_asks_and_does_not_write(
    postgres, index, address, articles, tiny_model, corpus
):
    index(articles)
    _, _, name = address.partition("#")
    tables = ", ".join(f'"{name}{suffix}"' for suffix in ("", "_rows", "_terms", "_states"))
    postgres.run('CREATE ROLE "the reader" LOGIN', f'GRANT SELECT ON {tables} TO "the reader"')
    reader = f"{postgres.url('the%20reader')}#{name}"
    pipeline = load_pipeline("postgres", store=reader)
    expected = ask(pipeline, CITED)["documents"]
    with pytest.raises(StoreError, match=r"is closed to this role .*permission denied"):
        index_into_engine(corpus, reader, model=str(tiny_model), rebuild=True)
    # New tables are read by the same roles.
    assert index(articles, rebuild=True).written == 30
    assert ask(pipeline, CITED)["documents"] == expected


def test_a_rebuild_takes_the_name_in_one_step(postgres, index, look, address, articles):
    index(articles, hnsw=True)
    pipeline = load_pipeline("postgres", store=address)
    before = ask(pipeline, CITED)["documents"]
    changed = edition(articles, "second")
    killed(lambda: index(changed, rebuild=True), "finish_law", 1)
    assert ask(pipeline, CITED)["documents"] == before
    seen: list[Any] = []
    ended = threading.Event()

    def reader() -> None:
        while not ended.is_set():
            try:
                seen.append(ask(pipeline, CITED, top_k=1)["documents"][0]["content"])
            except Exception as error:  # noqa: BLE001
                seen.append(error)

    thread = threading.Thread(target=reader)
    thread.start()
    report = index(changed, rebuild=True)
    ended.set()
    thread.join()
    assert (report.encoded, report.complete) == (0, True)
    now = ask(pipeline, CITED, top_k=1)["documents"][0]["content"]
    assert set(seen) <= {before[0]["content"], now}
    assert "second edition" in now
    assert look().is_approximate()
    assert_counted(look())
    fewer = [each for each in changed if each["law"] != "Family Code"]
    with pytest.raises(StoreError, match=r"lacks laws of .* 1 in all"):
        index(fewer, rebuild=True)
    assert index(fewer, prune=True).removed == 10
    assert (look().count(), len(look().states(LAW))) == (20, 2)
    assert_counted(look())
    _, _, name = address.partition("#")
    left = postgres.run(f"SELECT tablename FROM pg_tables WHERE tablename LIKE '{name}%'")
    assert len(left) == 5


def test_a_table_of_another_version_or_of_anyone_is_refused(postgres, index, address, articles):
    index(articles)
    _, _, name = address.partition("#")
    states = f'"{name}_states"'
    postgres.run(f"UPDATE {states} SET value = value || '{{\"format\": 9}}' WHERE kind = 'record'")
    for attempt in (
        lambda: index(articles),
        lambda: load_pipeline("postgres", store=address),
    ):
        with pytest.raises(
            StoreError, match=r"indexed in format and word rules \(9, .*Use the ver"
        ):
            attempt()
    postgres.run(f"DELETE FROM {states} WHERE kind = 'record'")
    with pytest.raises(LoadingError, match="not made by Lexarbor"):
        load_pipeline("postgres", store=address)
    with pytest.raises(StoreError, match="Lexarbor did not write"):
        index(articles)


def test_a_collection_made_before_places_is_asked_and_gets_them(postgres, index, address, articles):
    old = [each for each in articles if each["law"] == "Housing Code"]
    index(old)
    _, _, name = address.partition("#")
    postgres.run(f'ALTER TABLE "{name}_rows" DROP COLUMN jurisdiction')
    check_it_gets_places("postgres", address, index, old)


def test_tables_that_an_operator_partitioned_by_law_are_used(
    postgres, index, look, address, articles
):
    _, _, name = address.partition("#")
    postgres.run(
        f'CREATE TABLE "{name}" (id text NOT NULL, embedding vector(16) NOT NULL, content text, '
        "blob_data bytea, blob_meta jsonb, blob_mime_type varchar(255), meta jsonb) "
        "PARTITION BY HASH ((meta->>'law'))",
        *(
            f'CREATE TABLE "{name}_{n}" PARTITION OF "{name}" '
            f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})"
            for n in range(2)
        ),
        f'CREATE INDEX ON "{name}" (id)',
    )
    assert index(articles).complete
    assert index(edition(articles, "next")).complete
    assert look().count() == 30
    assert len(ask(load_pipeline("postgres", store=address), CITED)["documents"]) == 10
    with psycopg.connect(postgres.url()) as connection:
        (n,) = connection.execute(f'SELECT count(*) FROM "{name}_0"').fetchone()
    assert n % 10 == 0
