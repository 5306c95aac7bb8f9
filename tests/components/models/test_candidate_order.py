"""Orders of a ranker's candidates: ranks fused by a weight, and learnt orders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from components.models.boosted_trees import Example
from components.models.candidate_order import LearnedOrder, rank_candidates
from components.models.errors import ModelError

LISTS = ("bm25", "dense")


def test_ranks_are_fused_by_hand():
    # By logit c, b, a. With w = 1: a and c have 1/11 + 1/13, b has 2/12; a came first.
    assert rank_candidates([0.1, 0.2, 0.3], 1.0).tolist() == [0, 2, 1]
    for alone in ((), (0.0,)):
        assert rank_candidates([0.1, 0.2, 0.3], *alone).tolist() == [2, 1, 0]
    assert rank_candidates(torch.tensor([0.1, 0.2, 0.3]), 50.0).tolist() == [0, 1, 2]
    # Equal logits stay in the order of the first stage.
    assert rank_candidates([0.5, 2.0, 0.5, 2.0]).tolist() == [1, 3, 0, 2]
    assert rank_candidates([]).tolist() == []


def test_the_table_by_hand():
    # The candidate at place 1 was not read.
    ranks = {"bm25": [1, np.nan, 2], "dense": [4, 1, np.nan]}
    table = LearnedOrder.table([0.5, 2.0, -1.0], [0, 2, 3], ranks)
    columns = dict(zip(LearnedOrder.columns(list(ranks)), table.T.tolist(), strict=True))
    assert columns == {
        "log_place": pytest.approx(np.log([1, 3, 4]).tolist()),
        "logit": [0.5, 2.0, -1.0],
        "gap": [1.5, 0.0, 3.0],
        "log_rank": pytest.approx(np.log([2, 1, 3]).tolist()),
        "bm25.log_rank": pytest.approx([0.0, np.nan, np.log(2)], nan_ok=True),
        "dense.log_rank": pytest.approx([np.log(4), 0.0, np.nan], nan_ok=True),
    }


def examples(n: int, *, ranker_knows: bool, seed: int = 0) -> list[Example]:
    """Questions whose answer the ranker, or else the list "dense", nearly always puts first."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        answer = int(rng.integers(30))
        logits, dense = rng.normal(size=30), rng.permutation(30) + 1.0
        if ranker_knows:
            logits[answer] += 5
        else:
            dense[dense == 1], dense[answer] = dense[answer], 1
        ranks = {"bm25": rng.permutation(30) + 1.0, "dense": dense}
        made.append(Example(LearnedOrder.table(logits, range(30), ranks), np.arange(30) == answer))
    return made


@pytest.mark.parametrize("ranker_knows", [True, False])
def test_it_learns_which_signal_to_follow(ranker_knows: bool):
    order = LearnedOrder.learn(examples(150, ranker_knows=ranker_knows), LISTS, seed=0)
    held_out = examples(40, ranker_knows=ranker_knows, seed=1)
    first = [each.relevant[order.ranked(each.table)[0]] for each in held_out]
    assert np.mean(first) > 0.8


def test_a_saved_order_is_the_same_and_a_changed_one_is_refused(tmp_path: Path):
    order = LearnedOrder.learn(examples(60, ranker_knows=True), LISTS, seed=0)
    record = order.save(tmp_path)
    loaded = LearnedOrder.load(tmp_path, record)
    assert loaded.lists == LISTS
    for each in examples(5, ranker_knows=False):
        assert loaded.ranked(each.table).tolist() == order.ranked(each.table).tolist()
    with pytest.raises(ModelError, match=r"booster\.txt: its columns are not the expected"):
        LearnedOrder.load(tmp_path, replace(record, lists=("dense", "bm25")))
    (tmp_path / "booster.txt").write_bytes((tmp_path / "booster.txt").read_bytes() + b" ")
    with pytest.raises(ModelError, match=r"booster\.txt: is not what was saved"):
        LearnedOrder.load(tmp_path, record)
