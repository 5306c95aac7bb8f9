"""StatuteGuideRetriever: a question near to its own, and its law is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from components.retrievers.guides import (
    GuideIndex,
    GuideThreshold,
    StatuteGuideRetriever,
    articles_in,
    keep_guides,
    kept_guides,
    save_threshold,
)
from components.statutes.deadlines import TimeRule
from components.statutes.guides import Guide, Guides, KeptGuide
from components.stores.database import StoreError

DEPOSIT = "The landlord keeps my deposit"
REPAIRS = "The landlord never repairs the heating"


def guide(id_, article, when, unless=(), language="en", **fields):
    step = {"text": "Write.", "article": article, "deadline": {"days": 14, "from": "today"}}
    record = {"id": id_, "language": language, "title": id_, "answer": f"About {id_}."}
    record |= {"when": when, "unless": unless, "steps": [step]}
    reviewed = {"date": "2020-01-01", "by": "a team"}
    return Guide.model_validate({**record, "reviewed": reviewed, **fields})


GUIDES = [
    guide("deposit", "h1", [DEPOSIT], ["The landlord asks for a higher deposit"]),
    guide("deposit", "h1", ["Le bailleur garde ma caution"], language="fr"),
    guide("repairs", "h2", [REPAIRS]),
]


@pytest.fixture
def law(store):
    """Two articles and three guides, compared by words."""
    meta = {"law": "Housing Code", "headings": []}
    texts = ["The deposit comes back.", "The landlord repairs."]
    store.write_documents(
        [
            Document(id=f"h{n}", content=text, meta={**meta, "number": str(n)})
            for n, text in enumerate(texts, start=1)
        ]
    )
    keep(store, GUIDES)
    return store


def keep(store, guides):
    article = articles_in(store)
    kept = [KeptGuide.new(each, article, None) for each in guides]
    rule = TimeRule(article="h2", passages=())
    keep_guides(store, Guides(kept=kept, rules=[rule]), None)


def found(store, question, *ids):
    documents = [Document(id=id_, content="x", score=1.0) for id_ in ids]
    return StatuteGuideRetriever(store).run(question, documents)["guide"]


def test_a_guide_is_given_with_its_law(law):
    shown = found(law, f"{DEPOSIT}!", "h1", "h9")
    assert (shown["id"], shown["language"], shown["answer"]) == ("deposit", "en", "About deposit.")
    assert (shown["question"], shown["changed"], shown["urgent"]) == (DEPOSIT, None, False)
    (step,) = shown["steps"]
    assert step["article"] == {"id": "h1", "law": "Housing Code", "number": "1"}
    assert step["deadline"]["rule"]["id"] == "h2"
    assert not {"when", "unless"} & shown.keys()
    assert found(law, "Le bailleur garde la caution", "h1")["language"] == "fr"


@pytest.mark.parametrize(
    ("question", "ids", "similarity", "margin"),
    [
        ("What is a mortgage?", ["h1"], 0.1, 0.1),
        ("The landlord asks for a higher deposit", ["h1"], 0.1, 0.1),  # against it
        (DEPOSIT, ["h2"], 0.5, 0.1),
        (DEPOSIT, [], 0.1, 0.1),
        (DEPOSIT, ["h1"], 1.1, 0.1),
        (f"{DEPOSIT} now", ["h1"], 0.1, 2.1),
    ],
)
def test_there_is_none_where_it_might_be_wrong(law, question, ids, similarity, margin):
    save_threshold(law, "", GuideThreshold(similarity, margin))
    assert found(law, question, *ids) is None


def test_an_unknown_word_makes_a_question_less_similar(law):
    def match(question):
        return StatuteGuideRetriever(law).match(question, {"h1": 1.0}).similarity

    assert match(DEPOSIT) > match(f"{DEPOSIT} spaceship")


def test_there_is_none_for_another_day_and_without_a_store(law):
    documents = [Document(id="h1", content="x", score=1.0)]
    retriever = StatuteGuideRetriever(law)
    assert retriever.run(DEPOSIT, documents, as_of="2020-02-02")["guide"] is None
    assert retriever.run(DEPOSIT, documents, as_of=date.today().isoformat())["guide"]
    assert StatuteGuideRetriever().run(DEPOSIT, documents)["guide"] is None
    keep_guides(law, Guides(), None)
    assert retriever.run(DEPOSIT, documents)["guide"] is None


def test_a_change_of_the_law_takes_the_answer_away_at_once(law):
    (document,) = law.fetch(law.keys_of(["h1"]))
    changed = replace(document, content="The deposit stays.")
    law.write_documents([changed], policy=DuplicatePolicy.OVERWRITE)
    shown = found(law, DEPOSIT, "h1")
    assert shown["answer"] is None
    assert shown["changed"] == {"on": date.today().isoformat(), "articles": ["h1"]}
    assert "deadline" not in shown["steps"][0]
    law.delete_documents(["h1"])
    assert found(law, DEPOSIT, "h1")["steps"][0]["article"] == {"id": "h1"}


def test_a_guide_s_own_question_is_certain_whatever_the_margin(law):
    save_threshold(law, "", GuideThreshold(0.5, 2.5))
    assert found(law, f"{DEPOSIT}!", "h1")
    assert found(law, f"{DEPOSIT} now", "h1") is None


def test_where_no_guide_is_certain_the_situations_are_given(law):
    save_threshold(law, "", GuideThreshold(0.1, 3.0))
    retriever = StatuteGuideRetriever(law)

    def situations(question, **more):
        documents = [
            Document(id=id_, content="x", score=1.0, meta={"ranks": ranks})
            for id_, ranks in (("h1", more.pop("ranks", {})), ("h2", {}))
        ]
        return retriever.run(question, documents, **more)["situations"]

    question = f"{DEPOSIT} now"
    first, second = situations(question)
    assert first == {"id": "deposit", "language": "en", "title": "deposit", "question": DEPOSIT}
    assert (second["id"], second["question"]) == ("repairs", REPAIRS)
    # Its own question gets the guide alone.
    assert situations(first["question"]) == []
    assert situations(question, ranks={"citation": 1}) == []
    assert situations(question, as_of="2020-02-02") == []


def test_what_hardly_fits_is_not_offered():
    vectors = np.eye(4, dtype=np.float32)
    index = GuideIndex(
        Guides(kept=[KeptGuide(guide=each, digests={}) for each in GUIDES]), vectors, {}
    )
    # Its article is a hundredth of what was found, and no question is like it.
    match = index.match("?", vectors[1], {"h2": 0.01, "h9": 0.99})
    assert (match.kept.guide.id, match.alike) == ("repairs", ())


def test_translations_are_not_against_each_other_but_siblings_are():
    kept = [KeptGuide(guide=each, digests={}) for each in GUIDES]
    # The French question has the vector of the English one, as of a multilingual model.
    angles = np.array([0.0, 1.2, 0.0, 0.6])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    index = GuideIndex(Guides(kept=kept), vectors, {})
    match = index.match("?", vectors[0], {"h1": 1.0})
    assert (match.kept.guide.id, match.kept.guide.language) == ("deposit", "en")
    assert match.similarity == pytest.approx(1.0, abs=1e-5)
    assert match.margin == pytest.approx(2.0, abs=1e-5)
    assert match.alike == ((match.kept, DEPOSIT),)
    beside = index.match("?", vectors[0], {"h1": 0.5, "h2": 0.5})
    assert beside.kept == match.kept
    assert 0 < beside.margin < beside.similarity
    assert [kept.guide.id for kept, _ in beside.alike] == ["deposit", "repairs"]
    assert index.match("?", vectors[0], {"h2": 1.0}).kept.guide.id == "repairs"
    # A question of `unless` is nearer, or no guide stands on what was found.
    assert index.match("?", vectors[1], {"h1": 1.0}).is_excluded
    assert index.match("?", vectors[0], {"h9": 1.0}) is None


def test_the_calibrated_threshold_is_used_and_survives_new_guides(law):
    retriever = StatuteGuideRetriever(law)
    documents = [Document(id="h1", content="x", score=1.0)]
    assert retriever.run(DEPOSIT, documents)["guide"]
    save_threshold(law, "", GuideThreshold(1.5, 0.0, 0.96, 0.5, 40, 100, "dev", "2026-11-01"))
    assert retriever.run(DEPOSIT, documents)["guide"] is None
    keep(law, GUIDES[:1])
    assert retriever.run(DEPOSIT, documents)["guide"] is None
    assert retriever.threshold().asked == 100
    assert len(kept_guides(law).kept) == 1


@pytest.mark.parametrize("name", ["guides", "guides-record"])
def test_damaged_guides_are_refused(law, name):
    law.save_blob(name, "1", b"{}")
    with pytest.raises(StoreError):
        found(law, DEPOSIT, "h1")


def test_ten_thousand_guides_are_searched(law):
    many = [
        guide(f"g{n}", "h1", [f"question {n} on subject {n % 97}", f"word{n} word{n + 1} case"])
        for n in range(10_000)
    ]
    keep(law, many)
    retriever = StatuteGuideRetriever(law)
    shown = retriever.run("word4321 word4322 case", [Document(id="h1", content="x", score=1.0)])[
        "guide"
    ]
    assert shown["id"] == "g4321"
