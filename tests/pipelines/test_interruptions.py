"""Indexing that is killed or runs out of disk leaves whole laws and continues where it stopped."""

import multiprocessing
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from law_files import article, line, write

from components.models.biencoder import BiEncoder
from components.statutes.corpus import StatuteCorpus
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus

Start = Callable[..., multiprocessing.Process]
ROOT = Path(__file__).resolve().parents[2]
LAWS = 5
ARTICLES = 1_500


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Five laws, interleaved, of 300 articles each."""
    words = ("rent", "repairs", "deposit", "notice", "wages", "leave", "custody", "officer")
    choose = random.Random(1)
    lines = []
    for n in range(ARTICLES):
        place = {"law": f"Law {n % LAWS}", "headings": [f"Title {n % 7}"]}
        text = f"{n} " + " ".join(choose.choices(words, k=40))
        lines.append(line(article(str(n), **place, text=text)))
    return write(tmp_path_factory.mktemp("corpus") / "articles.jsonl", *lines)


@pytest.fixture(scope="module")
def expected(corpus, tiny_model) -> np.ndarray:
    texts = [" ".join([*each.headings, each.text]) for each in StatuteCorpus.read(corpus)]
    return BiEncoder.load(tiny_model).encode_articles(texts).numpy()


def known(store: StatuteDocumentStore) -> int:
    """How many texts need not be encoded again; another process may be about to make the store."""
    path = Path(store.path)
    model = store.model if path.exists() and path.stat().st_size else None
    return len(store.journal.known(model.digest)) if model else 0


def assert_whole_laws(store: StatuteDocumentStore) -> None:
    laws = Counter(document.meta["law"] for document in store.filter_documents())
    assert all(count == ARTICLES // LAWS for count in laws.values()), laws


def assert_complete(store: StatuteDocumentStore, expected: np.ndarray) -> None:
    assert [each.id for each in store.filter_documents()] == [str(n) for n in range(ARTICLES)]
    _, matrix = store.vectors()
    assert (matrix * expected).sum(axis=1).min() > 0.999


@pytest.fixture(scope="module")
def start(corpus, tiny_model) -> Iterator[Start]:
    """Starts indexing in a process that has everything imported already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pipelines.indexing", "components.models.registry"])

    def run(store: Path, **options: Any) -> multiprocessing.Process:
        options = {"model": str(tiny_model), **options}
        process = context.Process(target=index_corpus, args=(corpus, store), kwargs=options)
        process.start()
        return process

    # The first process waits for the server and its imports.
    first = context.Process(target=int)
    first.start()
    first.join()
    yield run


@pytest.mark.slow
def test_indexing_killed_at_random_moments_ends_as_if_it_had_not(start, tmp_path, expected):
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    moment = random.Random(7)
    kept = kills = 0
    patience = 0.02
    finished = False
    while not finished:
        process = start(path)
        # While encoding, each process may do some blocks; then each has half as much time again as
        # the one before to publish, so that a slow machine ends too.
        goal = kept + moment.randrange(100, 600)
        while kept < ARTICLES and process.is_alive() and known(store) < goal:
            time.sleep(0.001)
        if kept == ARTICLES:
            patience *= 1.5
        process.join(moment.uniform(0, patience))
        finished = process.exitcode is not None
        process.kill()
        process.join()
        kills += not finished
        assert_whole_laws(store)
        assert known(store) >= kept  # what was kept once is never encoded again
        kept = known(store)
    assert process.exitcode == 0
    assert kills >= 4
    assert_complete(store, expected)


def test_a_killed_command_continues_where_it_stopped(corpus, tiny_model, tmp_path, expected):
    path = tmp_path / "law.db"
    arguments = ["--corpus", corpus, "--store", path, "--model", tiny_model]
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.index", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = StatuteDocumentStore(str(path))
    while process.poll() is None and known(store) < 512:
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = known(store)
    assert 512 <= kept < ARTICLES
    assert_whole_laws(store)
    assert index_corpus(corpus, path, model=str(tiny_model)).encoded == ARTICLES - kept
    assert_complete(store, expected)
