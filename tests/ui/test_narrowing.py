"""What narrows a search, as filters, and against what is in force on a day."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from haystack import Document

from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.loading import load_pipeline
from ui.narrowing import Narrowing

DAY = date(2020, 6, 1)
ARTICLES = {
    "old": {"valid_from": "1990-01-01", "valid_to": "2019-12-31"},
    "now": {"valid_from": "1990-01-01"},
    "coming": {"valid_from": "2021-01-01"},
    "undated": {},
    "other": {"law": "Work Code", "valid_from": "1990-01-01"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "law.db"
    documents = [
        Document(
            id=id_,
            content="A deposit is owed.",
            meta={"law": "Housing Code", "number": id_, "position": place, **meta},
        )
        for place, (id_, meta) in enumerate(ARTICLES.items())
    ]
    StatuteDocumentStore(str(path)).write_documents(documents)
    return path


def found(store: Path, narrowing: Narrowing) -> dict[str, str]:
    answer = ask(
        load_pipeline("lexical", store=str(store)),
        "deposit",
        filters=narrowing.filters,
        as_of=narrowing.as_of,
        states_on=narrowing.day,
    )
    return {each["id"]: each["state"] for each in answer["documents"]}


def test_all_articles_are_found_with_their_state_on_the_day(store: Path):
    assert found(store, Narrowing(which="all", day=DAY)) == {
        "old": "repealed",
        "now": "in force",
        "coming": "not yet in force",
        "undated": "unknown",
        "other": "in force",
    }


def test_in_force_keeps_what_may_be(store: Path):
    kept = found(store, Narrowing(which="in force", day=DAY))
    assert kept.keys() == {"now", "undated", "other"}
    # Without a day it is today, when what was coming has come.
    assert found(store, Narrowing()).keys() == {"now", "coming", "undated", "other"}


def test_not_in_force_keeps_only_what_certainly_is_not(store: Path):
    assert found(store, Narrowing(which="not in force", day=DAY)).keys() == {"old", "coming"}
    assert found(store, Narrowing(which="not in force")).keys() == {"old"}


@pytest.mark.parametrize("which", ["all", "in force", "not in force"])
def test_a_law_narrows_every_choice(store: Path, which: str):
    both = Narrowing.checked(["Housing Code"], which, DAY.isoformat(), ["Housing Code", "X"])
    everything = found(store, Narrowing(which=both.which, day=DAY))
    assert found(store, both).keys() == everything.keys() - {"other"}


def test_a_narrowing_is_true_where_something_is_left_out():
    assert not Narrowing()
    assert not Narrowing(which="all")
    assert not Narrowing(which="all", day=DAY)
    assert Narrowing(day=DAY)
    assert Narrowing(laws=("A",))
    assert Narrowing(which="not in force")
