"""StatuteRanker orders candidates by what the cross-encoder says, and names what it read."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from candidates import CPU, QUESTION, ids, law
from haystack import Document

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.errors import ModelError
from components.models.ranker_folder import RankerSettings
from components.rankers.cross_encoder import StatuteRanker
from components.statutes.question import QuestionError


def test_documents_are_ordered_by_their_logits(
    make: Callable[..., StatuteRanker], tiny_ranker: Path
) -> None:
    documents = [law(n, headings=["Title I"], ranks={"bm25": n + 1}) for n in range(12)]
    encoder = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")
    logits = encoder.logits([(QUESTION, f"Title I {each.content}") for each in documents])
    found = make().run(QUESTION, documents)
    expected = torch.argsort(-logits, stable=True)[:10].tolist()
    assert ids(found) == [f"a{place}" for place in expected]
    for rank, (place, document) in enumerate(zip(expected, found["documents"], strict=True), 1):
        assert document.score == pytest.approx(float(logits[place].sigmoid()), abs=1e-5)
        assert document.meta["ranks"] == {"bm25": place + 1, "reranker": rank}
        assert document.meta["passage"] == {"start": 0, "end": len(document.content or "")}
        assert "passages_read" not in document.meta
        assert document.embedding is None
    assert found["meta"]["n_candidates"] == found["meta"]["n_ranked"] == 12
    assert found["meta"]["took_ms"] > 0


def test_the_order_of_candidates_does_not_matter(make: Callable[..., StatuteRanker]) -> None:
    documents = [law(n, f"{n} {law(n).content}") for n in range(20)]
    forwards = make().run(QUESTION, documents, top_k=20)["documents"]
    backwards = make().run(QUESTION, documents[::-1], top_k=20)["documents"]
    assert [each.id for each in forwards] == [each.id for each in backwards]
    scores = [each.score for each in backwards]
    assert [each.score for each in forwards] == pytest.approx(scores, abs=1e-6)


def test_no_documents_and_one(make: Callable[..., StatuteRanker]) -> None:
    assert make().run(QUESTION, [])["documents"] == []
    assert ids(make().run(QUESTION, [law(1)])) == ["a1"]
    assert make().run(QUESTION, [law(1)], top_k=0)["documents"] == []


def test_the_first_candidates_are_ranked_and_the_others_follow_as_they_came(
    make: Callable[..., StatuteRanker],
) -> None:
    documents = [law(n) for n in range(9)]
    found = make(candidates=4).run(QUESTION, documents)
    assert set(ids(found)[:4]) == {"a0", "a1", "a2", "a3"}
    assert ids(found)[4:] == ["a4", "a5", "a6", "a7", "a8"]
    assert [each.score for each in found["documents"][4:]] == [0.0] * 5
    assert all("ranks" not in each.meta for each in found["documents"][4:])
    assert found["meta"]["n_ranked"] == 4


def test_documents_without_text_follow_unread(make: Callable[..., StatuteRanker]) -> None:
    documents = [Document(id="empty", meta={"headings": ["Roofs"]}), law(1), law(2, " \n"), law(3)]
    found = make().run(QUESTION, documents)
    assert set(ids(found)[:2]) == {"a1", "a3"}
    assert ids(found)[2:] == ["empty", "a2"]
    assert found["meta"] == {**found["meta"], "n_candidates": 2, "n_ranked": 2}


def test_a_repeated_document_counts_once_at_its_first_place(
    make: Callable[..., StatuteRanker],
) -> None:
    documents = [law(1, "roof", n=0), law(2, "roof"), law(1, "rent", n=1)]
    found = make().run(QUESTION, documents)["documents"]
    # Equal texts have equal scores and stay in the order in which they came.
    assert [(each.id, each.content) for each in found] == [("a1", "roof"), ("a2", "roof")]
    assert found[0].meta["n"] == 0
    assert found[0].score == found[1].score


def test_pinned_articles_stay_above_all(make: Callable[..., StatuteRanker]) -> None:
    documents = [law(n, ranks={"citation": 1} if n == 5 else {}) for n in range(8)]
    plain = make().run(QUESTION, documents)
    last = plain["documents"][-1]
    found = make(score_threshold=1.0).run(QUESTION, documents, pinned=[law(5), law(9)])
    assert ids(found)[:2] == ["a5", "a9"]
    assert [each.score for each in found["documents"][:2]] == [1.0, 1.0]
    assert found["documents"][0].meta["ranks"] == {"citation": 1}
    found = make(top_k=2).run(QUESTION, documents, pinned=[last])
    assert ids(found) == [last.id, ids(plain)[0]]


def test_a_threshold_leaves_out_what_scores_less(make: Callable[..., StatuteRanker]) -> None:
    documents = [law(n) for n in range(10)]
    every = make().run(QUESTION, documents)["documents"]
    middle = every[4].score
    found = make(score_threshold=1.0).run(QUESTION, documents, score_threshold=middle)
    assert len(found["documents"]) >= 5
    assert all(each.score >= middle for each in found["documents"])


def test_meta_fields_are_read_before_the_text(
    make: Callable[..., StatuteRanker], tiny_ranker: Path
) -> None:
    document = law(1, "the roof", law="tenant law", number=7, headings=["rent"])
    encoder = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")
    logit = encoder.logits([(QUESTION, "tenant law 7 rent the roof")])[0]
    found = make(meta_fields=["law", "absent", "number"]).run(QUESTION, [document])["documents"][0]
    assert found.score == pytest.approx(float(logit.sigmoid()), abs=1e-5)
    assert found.meta["passage"] == {"start": 0, "end": 8}


def test_the_passage_that_won_is_named_by_its_place_in_the_content(trained: str) -> None:
    filling = " ".join(["the court must pay rent and the tenant a law"] * 60)
    content = f"{filling} The dog may not bark at night in the garden. {filling}"
    ranker = StatuteRanker(trained, CPU, "float32")
    article = law(1, content, headings=["Chapter 2.", "On neighbours"])
    meta = ranker.run("May my dog bark at night?", [article])["documents"][0].meta
    passage, read = meta["passage"], meta["passages_read"]
    # The bi-encoder in the folder points there.
    assert "dog" in content[passage["start"] : passage["end"]]
    assert passage["end"] - passage["start"] < 200
    assert passage in read
    assert len(read) == RankerSettings.load(Path(trained) / "ranker").passages


def test_five_thousand_words_and_a_question_of_two_thousand_characters(trained: str) -> None:
    article = law(1, "the landlord must mend the roof, " * 850)
    found = StatuteRanker(trained, CPU).run("who mends the roof? " * 100, [article, law(2)])
    assert all(math.isfinite(each.score) for each in found["documents"])
    assert found["meta"]["n_ranked"] == 2


def test_what_a_long_question_leaves_no_room_for_is_not_said_to_be_read(
    make: Callable[..., StatuteRanker],
) -> None:
    content = "the landlord must mend the roof, " * 9  # 63 tokens of the 93 that the model reads
    whole = make().run("who?", [law(1, content)])["documents"][0].meta
    assert "passages_read" not in whole
    assert content[: whole["passage"]["end"]].strip() == content.strip()
    meta = make().run("who mends the roof? " * 20, [law(1, content)])["documents"][0].meta
    assert meta["passages_read"] == [meta["passage"]]
    # Half of the room, 47 tokens, ends after "the".
    assert content[: meta["passage"]["end"]].split() == content.split()[:40]


def test_calibration_changes_scores_and_no_order(trained: str) -> None:
    documents = [law(n) for n in range(10)]
    # By the ranker's order alone: the first stage's would hide another.
    plain, found = (
        StatuteRanker(
            trained, CPU, "float32", calibrated=calibrated, fuse_with_first_stage=False
        ).run(QUESTION, documents)
        for calibrated in (False, True)
    )
    assert ids(found) == ids(plain) != [each.id for each in documents]
    for one, other in zip(plain["documents"], found["documents"], strict=True):
        logit = math.log(one.score / (1 - one.score))
        assert other.score == pytest.approx(1 / (1 + math.exp(2.0 - 0.5 * logit)), abs=1e-4)


def test_the_first_stages_order_counts_by_its_weight(trained: str) -> None:
    documents = [law(n) for n in range(10)]
    plain, found, asked = (
        StatuteRanker(trained, CPU, "float32", fuse_with_first_stage=fuse).run(QUESTION, documents)
        for fuse in (False, None, True)
    )
    assert ids(found) == ids(asked)
    # A weight of 100: the first stage decides, and the scores and ranks are still the ranker's.
    assert ids(found) == [each.id for each in documents] != ids(plain)
    ranks = {each.id: each.meta["ranks"]["reranker"] for each in found["documents"]}
    assert sorted(ranks, key=lambda id_: ranks[id_]) == ids(plain)


def test_the_best_is_told_whatever_the_list_leaves_out(trained: str) -> None:
    documents = [law(n) for n in range(10)]
    ranker = StatuteRanker(trained, CPU, "float32")
    alone = ranker.run(QUESTION, documents, top_k=10)["documents"]
    best = max(alone, key=lambda each: each.score)
    # The weight of 100 puts it elsewhere.
    assert best.id != alone[0].id
    for k, least in ((1, None), (0, None), (10, 1.0)):
        assert ranker.run(QUESTION, documents, top_k=k, score_threshold=least)["best"] == [best]
    assert ranker.run(QUESTION, [])["best"] == []
    assert ranker.run(QUESTION, documents[:1], pinned=documents[:1])["best"] == []


def test_places_are_those_of_the_whole_order_before(
    minilm: str, tiny_ranker: Path, tmp_path: Path
) -> None:
    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        RankerSettings(1, 32, fusion_weight=0.9).save(part)

    BiEncoder.load(minilm, device="cpu").save(tmp_path / "model", kept={"ranker": write})
    ranker = StatuteRanker(str(tmp_path / "model"), CPU, "float32")
    # What cannot be read has a place too, and the better of two articles is far behind.
    blank = [Document(id=f"blank{n}", content=" ") for n in range(40)]
    better, worse = sorted(
        (law(0), law(1)), key=lambda each: -ranker.run(QUESTION, [each])["best"][0].score
    )
    assert ids(ranker.run(QUESTION, [worse, better]))[:2] == [better.id, worse.id]
    found = ranker.run(QUESTION, [worse, *blank, better])
    assert ids(found)[:2] == [worse.id, better.id]
    assert [each.id for each in found["best"]] == [better.id]


def test_what_the_folder_lacks_is_named(make: Callable[..., StatuteRanker]) -> None:
    for name in ("calibrated", "fuse_with_first_stage"):
        with pytest.raises(
            ModelError, match=f"StatuteRanker.{name} is true, and .*Set it to false"
        ):
            make(**{name: True}).warm_up()
    with pytest.raises(ModelError, match=r"StatuteRanker.model is null"):
        StatuteRanker().warm_up()


def test_a_score_that_is_not_finite_puts_its_document_last(
    make: Callable[..., StatuteRanker], monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = CrossEncoderRanker.logits

    def broken(self: Any, pairs: list[tuple[str, str]]) -> Any:
        found = logits(self, pairs)
        found[[text == "1 roof" for _, text in pairs]] = float("nan")
        return found

    monkeypatch.setattr(CrossEncoderRanker, "logits", broken)
    found = make().run(QUESTION, [law(n, f"{n} roof") for n in range(4)])
    assert ids(found)[-1] == "a1"
    assert found["meta"]["n_ranked"] == 3
    assert all(math.isfinite(each.score) for each in found["documents"])


def test_inputs_are_left_as_they_were(make: Callable[..., StatuteRanker]) -> None:
    documents = [law(n, headings=["I"], ranks={"bm25": n + 1}) for n in range(3)]
    before = deepcopy(documents)
    ranker = make()
    found = ranker.run(QUESTION, documents, pinned=documents[:1])
    again = asyncio.run(ranker.run_async(QUESTION, documents, pinned=documents[:1]))
    assert documents == before
    assert again["documents"] == found["documents"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"top_k": 0}, "StatuteRanker.top_k must be 1 or more"),
        ({"candidates": 0}, "StatuteRanker.candidates must be a whole number from 1"),
        ({"score_threshold": 1.5}, "StatuteRanker.score_threshold must be from 0 to 1"),
        ({"score_threshold": math.nan}, "StatuteRanker.score_threshold must be from 0 to 1"),
        ({"score_threshold": "0.5"}, "must be from 0 to 1, as scores are, got '0.5'"),
        ({"time_budget_ms": "100"}, "time_budget_ms must be above 0, got '100'"),
        ({"fuse_with_first_stage": "no"}, "must be true, false or null, got 'no'"),
        ({"fuse_with_first_stage": 0}, "must be true, false or null, got 0"),
        ({"time_budget_ms": 0.0}, "StatuteRanker.time_budget_ms must be above 0"),
        ({"time_budget_ms": math.nan}, "StatuteRanker.time_budget_ms must be above 0"),
    ],
)
def test_wrong_numbers_are_refused(
    make: Callable[..., StatuteRanker], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)
    if not {"candidates", "top_k", "fuse_with_first_stage"} & set(parameters):
        with pytest.raises(ValueError, match=message):
            make().run(QUESTION, [law(1)], **parameters)


def test_an_empty_question_is_refused(make: Callable[..., StatuteRanker]) -> None:
    with pytest.raises(QuestionError):
        make().run(" ", [law(1)])


def test_what_an_earlier_ranker_found_is_forgotten(make: Callable[..., StatuteRanker]) -> None:
    earlier = {
        "ranks": {"bm25": 2, "reranker": 1},
        "passage": {"start": 0, "end": 400},
        "passages_read": [{"start": 0, "end": 400}],
    }
    documents = [law(n, **earlier) for n in range(3)]
    found = make(candidates=1).run(QUESTION, documents, pinned=[law(9, **earlier)])["documents"]
    pinned, read, *unread = found
    assert read.meta["ranks"] == {"bm25": 2, "reranker": 1}
    assert read.meta["passage"]["end"] <= len(read.content or "")
    assert "passages_read" not in read.meta
    for each in (pinned, *unread):
        assert each.meta["ranks"] == {"bm25": 2}
        assert not {"passage", "passages_read"} & each.meta.keys()
    assert documents[0].meta == law(0, **earlier).meta


def test_a_ranker_that_has_answered_can_be_copied(trained: str) -> None:
    ranker = StatuteRanker(model=trained)
    found = [
        Document(id="a", content="The deposit is returned."),
        Document(id="b", content="Rent."),
    ]
    first = ranker.run("deposit", found)["documents"]
    assert deepcopy(ranker).run("deposit", found)["documents"] == first
