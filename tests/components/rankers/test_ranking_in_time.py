"""StatuteRanker ranks as many candidates as its time allows, and the others follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from candidates import CPU, QUESTION, ids, law, long

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.rankers import cross_encoder, pacing, scoring
from components.rankers.cross_encoder import StatuteRanker


class Clock:
    """Time that passes only where a model reads, by the characters that it reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, a_character: float) -> None:
        self.now = 0.0
        logits, encoded = CrossEncoderRanker.logits, BiEncoder.encode_articles

        def read(ranker: CrossEncoderRanker, pairs: list[tuple[str, str]]) -> Any:
            self.now += a_character * sum(len(text) for pair in pairs for text in pair)
            return logits(ranker, pairs)

        def encode(biencoder: BiEncoder, texts: list[str]) -> Any:
            self.now += a_character * sum(map(len, texts))
            return encoded(biencoder, texts)

        monkeypatch.setattr(CrossEncoderRanker, "logits", read)
        monkeypatch.setattr(BiEncoder, "encode_articles", encode)
        for module in (cross_encoder, pacing, scoring):
            monkeypatch.setattr(module, "time", self)

    def perf_counter(self) -> float:
        return self.now


def test_time_is_kept_and_what_is_left_follows(
    make: Callable[..., StatuteRanker], monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [law(n, f"{n:02} roof") for n in range(40)]
    Clock(monkeypatch, 0.05 / len(QUESTION + "00 roof"))
    found = make().run(QUESTION, documents, top_k=40, time_budget_ms=1_000)
    n_ranked = found["meta"]["n_ranked"]
    assert 18 <= n_ranked <= 20
    assert found["meta"]["took_ms"] <= 1_000
    assert set(ids(found)[:n_ranked]) == {f"a{n}" for n in range(n_ranked)}
    assert ids(found)[n_ranked:] == [f"a{n}" for n in range(n_ranked, 40)]


def test_long_articles_that_are_new_do_not_use_up_more_time_than_there_is(
    trained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, new = (
        [law(k, long(f"{name} {k}", 400)) for k in range(n)] for name, n in (("a", 9), ("b", 30))
    )
    ranker = StatuteRanker(model=trained, device=CPU, dtype="float32", time_budget_ms=1_000)
    # Of an article some 2,400 characters are encoded once, and some hundred read each time.
    Clock(monkeypatch, 0.1 / 2_400)
    assert ranker.run(QUESTION, known, time_budget_ms=5_000)["meta"]["n_ranked"] == 9
    assert ranker.run(QUESTION, known)["meta"]["took_ms"] < 150
    found = ranker.run(QUESTION, new)["meta"]
    assert found["took_ms"] <= 1_000
    assert 6 <= found["n_ranked"] <= 9


def test_an_article_that_is_too_long_for_the_time_is_passed_over(
    trained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    annex = law(0, long("annex", 4_000))
    documents = [annex, *(law(n, f"{n:02} roof") for n in range(1, 10))]
    ranker = StatuteRanker(model=trained, device=CPU, dtype="float32", time_budget_ms=1_000)
    Clock(monkeypatch, 0.001)
    ranker.run(QUESTION, documents[1:])
    found = ranker.run(QUESTION, documents)
    assert found["meta"]["n_ranked"] == 9
    assert found["meta"]["took_ms"] <= 1_000
    assert ids(found)[-1] == "a0"
    assert "reranker" not in (found["documents"][-1].meta.get("ranks") or {})


def test_one_that_waited_keeps_its_place_in_the_first_stages_order(
    trained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [law(0, long("annex", 900)), *(law(n, f"{n:02} roof") for n in range(1, 10))]
    ranker = StatuteRanker(
        model=trained,
        device=CPU,
        dtype="float32",
        time_budget_ms=1_000,
        fuse_with_first_stage=True,
    )
    Clock(monkeypatch, 0.0001)
    ranker.run(QUESTION, documents[1:])
    read: list[int] = []
    score = CrossEncoderRanker.score_articles

    def noted(self: Any, question: str, texts: list[str], passages: Any) -> Any:
        read.extend(len(text) for text in texts)
        return score(self, question, texts, passages)

    monkeypatch.setattr(CrossEncoderRanker, "score_articles", noted)
    found = ranker.run(QUESTION, documents)
    assert found["meta"]["n_ranked"] == 10
    assert max(read) == read[-1]  # the annex came last
    # The weight of the first stage's rank is such that nothing else counts.
    assert ids(found) == [f"a{n}" for n in range(10)]
