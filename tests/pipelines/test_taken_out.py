"""The law without an answer: what goes, what stays, and that none of it comes back."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.loading import load_pipeline
from pipelines.taken_out import answers_taken_out, without

RENT, WORK = ["Title I", "Chapter 1. Rent"], ["Title I", "Chapter 2. Work"]


def document(id_: str, law: str, headings: list[str], text: str) -> Document:
    meta = {"law": law, "headings": headings, "number": id_, "position": 0}
    return Document(id=id_, content=text, meta=meta)


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    made = StatuteDocumentStore(str(tmp_path / "law.db"))
    made.write_documents(
        [
            document("gold", "Housing", RENT, "The tenant pays the rent."),
            document("sibling", "Housing", RENT, "Rent is due monthly."),
            document("cousin", "Housing", WORK, "The caretaker works."),
            document("above", "Housing", RENT[:1], "This title is on dwellings."),
            document("below", "Housing", [*RENT, "Section 1"], "Rent may rise."),
            document("namesake", "Trade", RENT, "Shops pay rent too."),
            document("twin", "Trade", WORK, "the TENANT  pays the rent."),
            document("beside-twin", "Trade", WORK, "Shops close on Sunday."),
            document("bare", "Decree", [], "Deposits are held in trust."),
            document("other-bare", "Decree", [], "This decree is short."),
            document("empty", "Decree", [], ""),
            document("other-empty", "Trade", WORK, ""),
        ]
    )
    return made


def taken(store: StatuteDocumentStore, question: Question, *others: Question) -> set[str]:
    return answers_taken_out(store, [question], [question, *others])[question.id]


def test_gold_twin_and_division_go(store: StatuteDocumentStore) -> None:
    assert taken(store, Question("q", "Who pays?", ("gold",))) == {"gold", "sibling", "twin"}


def test_without_headings_an_article_goes_alone(store: StatuteDocumentStore) -> None:
    assert taken(store, Question("q", "Deposits?", ("bare",))) == {"bare"}


def test_articles_without_text_are_no_twins(store: StatuteDocumentStore) -> None:
    assert taken(store, Question("q", "What?", ("empty",))) == {"empty"}


def test_a_question_asked_twice_loses_both_answers(store: StatuteDocumentStore) -> None:
    asked = Question("q", "Who pays?", ("bare",))
    again = Question("r", "who  PAYS?", ("gold",), split="train")
    other = Question("s", "Who works?", ("cousin",))
    assert taken(store, asked, again, other) == {"bare", "gold", "sibling", "twin"}


def test_answers_in_several_divisions_all_go(store: StatuteDocumentStore) -> None:
    both = Question("q", "Who pays?", ("gold", "beside-twin"))
    expected = {"gold", "sibling", "twin", "beside-twin", "other-empty"}
    assert taken(store, both) == expected


def test_an_answer_that_the_store_lacks_takes_nothing_with_it(store: StatuteDocumentStore) -> None:
    assert taken(store, Question("q", "Who?", ("elsewhere", "bare"))) == {"elsewhere", "bare"}


@pytest.mark.parametrize("n", [0, 1, 500, 501, 2500])
def test_any_number_of_articles_can_be_left_out(tmp_path: Path, n: int) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents([Document(id=f"a{place}", content="law") for place in range(2501)])
    filters: dict[str, Any] = dict(without(f"a{place}" for place in range(n)))
    left = {each.id for each in store.filter_documents(filters)}
    assert left == {f"a{place}" for place in range(n, 2501)}


@pytest.fixture(scope="module")
def taken_from_law(law_store: Path) -> dict[str, set[str]]:
    """What goes with each article of the law, were it the answer."""
    store = StatuteDocumentStore(str(law_store))
    asked = [Question(f"a{n}", f"Question {n}?", (f"a{n}",)) for n in range(1, 31)]
    found = answers_taken_out(store, asked, asked)
    store.close()
    return found


@pytest.fixture(scope="module")
def hybrid(law_store: Path) -> Pipeline:
    return load_pipeline("hybrid", law_store)


@given(n=st.integers(1, 30), cited=st.booleans())
def test_what_is_taken_out_never_comes_back(
    hybrid: Pipeline, taken_from_law: dict[str, set[str]], n: int, cited: bool
) -> None:
    gone = taken_from_law[f"a{n}"]
    # Articles 24 apart stand in one division.
    assert gone == {f"a{other}" for other in range(1, 31) if (other - n) % 24 == 0}
    law = ("Housing Code", "Work Code", "Family Code")[n % 3]
    text = f"What does art. {n} {law} say on rule {n}?" if cited else f"Who decides on rule {n}?"
    outputs = run(hybrid, text, {"citation", "bm25", "dense", "fuser"}, filters=without(gone))
    listed = [
        each.id
        for of in outputs.values()
        for socket, found in of.items()
        if socket != "left_out"  # what the filters refused
        for each in found
    ]
    assert len(outputs["dense"]["documents"]) == 30 - len(gone)
    assert gone.isdisjoint(listed)
