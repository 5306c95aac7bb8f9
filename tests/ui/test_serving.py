"""Another store takes the place of the one that is searched while questions are answered."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from pipelines.files import LoadingError
from pipelines.indexing import index_corpus
from ui.serving import Serving


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


def test_a_store_that_cannot_be_taken_leaves_the_one_before(stores: list[Path], tmp_path: Path):
    serving = Serving("lexical", stores[0])
    with pytest.raises(LoadingError, match="no store"):
        serving.switch(tmp_path / "none.db")
    assert first(serving) == "owed0"
