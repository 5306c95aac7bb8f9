"""What is said beside the results: what is searched, how it learns, what must be known first."""

from __future__ import annotations

import html
import re
from datetime import date
from pathlib import Path

import pytest
from haystack import Document

from components.stores.sqlite import StatuteDocumentStore
from ui.about import about, standing
from ui.collection import Collection
from ui.language import LANGUAGES
from ui.notice import beyond, notice, plain_notice
from ui.standing import Pace, Standing


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_the_notice_names_invented_law_only_where_it_is():
    aldermere = Collection(1, ("Housing Code of Aldermere (invented)",))
    mixed = Collection(2, ("Code of X (invented)", "Code civil"))
    real = Collection(1, ("Code civil",))
    assert aldermere.is_aldermere
    assert not mixed.is_aldermere
    assert "Aldermere is an invented country" in notice(aldermere, "en")
    assert "marked as invented" in notice(mixed, "en")
    assert "invented" not in notice(real, "en")
    for collection in (aldermere, mixed, real, Collection(0, ())):
        assert "Information, not legal advice." in notice(collection, "en")


def test_what_is_searched_is_counted_and_named():
    laws = tuple(f"Law {number} <b>" for number in range(12))
    told = about(Collection(1200, laws), ["bm25"], "en")
    assert "1,200 articles of 12 laws." in text_of(told)
    assert "Law 11 <b>" in text_of(told)
    assert "<dt>BM25</dt>" in told
    assert "<dt>Dense</dt>" not in told
    assert "<details>" in told
    assert "<details>" not in about(Collection(5, laws[:5]), [], "en")
    assert "1\u202f200 articles, 12 lois." in text_of(about(Collection(1200, laws), [], "fr"))


def test_very_many_laws_are_linked_to_in_place_of_a_list():
    laws = tuple(f"Law {number}" for number in range(5_000))
    for language, link in (("en", "/law"), ("fr", "/fr/law")):
        told = about(Collection(9_000, laws), [], language)
        assert f'href="{link}"' in told
        assert len(told) < 5_000


def test_a_blank_name_is_that_of_no_law(tmp_path: Path):
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    metas = [{"law": "Code", "number": "1"}, {"law": " ", "number": "2"}]
    store.write_documents([Document(id=each["number"], content="x", meta=each) for each in metas])
    assert Collection.of(store).laws == ("Code",)


def test_where_a_question_goes_is_told_as_it_is():
    for language in LANGUAGES:
        here = about(Collection(1, ("A",)), [], language)
        told = [
            about(Collection(1, ("A",)), [], language, sent_to=sent_to)
            for sent_to in ({"generator"}, {"engine"}, {"engine", "generator"})
        ]
        assert len({here, *told}) == 4
        kept = {"en": "sent nowhere else", "fr": "n’est transmise à personne"}[language]
        assert kept in text_of(here)
        assert not any(kept in text_of(each) for each in told)
    assert "sent nowhere else" in text_of(about(Collection(1, ("A",)), [], "en"))


@pytest.mark.parametrize(
    ("days", "told"),
    [
        ({"snapshot": "2026-03-01", "indexed": "2026-05-02"}, "as it stood on 1 March 2026"),
        ({"indexed": "2026-05-02"}, "as it was indexed on 2 May 2026"),
        ({}, None),
    ],
)
def test_the_day_of_the_law_is_told_where_it_is_on_record(days: dict[str, str], told: str | None):
    text = plain_notice(Collection(1, ("A",), **days), "en")
    assert (told in text) if told else ("The law as it" not in text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "in a few minutes."),
        (1, "in less than a minute."),
        (45, "in about a minute."),
        (170, "in about 3 minutes."),
    ],
)
def test_how_far_the_learning_is_stands_in_plain_words(seconds: float | None, words: str):
    told = standing(Standing("learning", 0.404, seconds), "en")
    assert told["state"] == "learning"
    assert told["told"].endswith(words)
    assert told["share"] == "40%"


def test_the_end_of_the_learning_is_told_without_a_share():
    learnt, failed = (standing(Standing(state), "en") for state in ("learnt", "failed"))
    assert learnt["share"] == failed["share"] == ""
    assert "has learnt" in learnt["told"]
    assert "could not learn" in failed["told"]


def test_the_time_left_is_that_of_the_pace_once_it_can_be_told():
    pace = Pace(share=0.1, at=100.0)
    assert pace.standing(0.1, 130.0).seconds_left is None
    assert pace.standing(0.14, 130.0).seconds_left is None
    assert pace.standing(0.4, 130.0) == Standing("learning", 0.4, pytest.approx(60.0))


@pytest.mark.parametrize(
    ("days", "said", "french"),
    [
        (
            {"snapshot": "2026-03-31"},
            "The text here is of 31 March 2026: what changed between then and 1 April 2026 is not "
            "known here.",
            "entre cette date et le 1er avril 2026",
        ),
        # When it was indexed is not of when it is.
        (
            {"indexed": "2026-03-31"},
            "The text here was indexed on 31 March 2026, and may be older: what changed by "
            "1 April 2026 is not known here.",
            "jusqu’au 1er avril 2026",
        ),
    ],
)
def test_of_a_day_after_the_laws_own_it_is_told_that_much_may_have_changed(
    days: dict[str, str], said: str, french: str
):
    known = Collection(1, ("A",), **days)
    assert beyond(known, date(2026, 4, 1), "en") == said
    assert "31 mars 2026" in beyond(known, date(2026, 4, 1), "fr")
    assert french in beyond(known, date(2026, 4, 1), "fr")
    for on in (None, date(2026, 3, 31), date(1999, 1, 1)):
        assert beyond(known, on, "en") == ""
    assert beyond(Collection(1, ("A",)), date(2030, 1, 1), "en") == ""
