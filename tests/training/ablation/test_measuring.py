from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from accelerate import Accelerator
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from components.joiners.rank_fusion import StatuteRankFuser
from training.ablation.dataset import Dataset
from training.ablation.measuring import fuse_ranks, measure
from training.ablation.metrics import DENSE_METRICS, FUSED, METRICS
from training.cusines import start
from training.running import fit
from training.settings import CusinesSettings

ranking = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(ranking, ranking)
def test_ranks_are_fused_as_the_pipelines_fuse_them(bm25: list[int], dense: list[int]) -> None:
    fuser = StatuteRankFuser(stages=["bm25", "dense"], k=10, top_k=40)

    def documents(positions: Sequence[int]) -> list[Document]:
        return [Document(id=str(each), content="law") for each in positions]

    found = fuser.run(bm25=documents(bm25), dense=documents(dense))["documents"]
    assert fuse_ranks([bm25, dense]) == [int(document.id) for document in found]


def test_measured_after_training_is_what_the_loop_measured(
    settings: Callable[..., CusinesSettings], small_law: Path, tmp_path: Path
) -> None:
    dataset = Dataset.read(str(small_law))
    split = dataset.split(1, 0, seed=0)
    work = tmp_path / "work"
    work.mkdir()
    learner, state = fit(settings(max_steps=3), split.data, Accelerator(cpu=True), work, start)
    measured = measure(learner.encode(lambda _: None), split.data, [np.arange(0)] * 4)
    assert state.best is not None
    for metric in DENSE_METRICS:
        assert measured.values[metric] == [
            state.best["values"][metric][question.id] for question in split.data.dev
        ]
    assert [split.data.dev[row].id for row in measured.unseen] == state.best["unseen"]
    # BM25 found nothing, so the fused ranking is the dense one.
    assert measured.values[FUSED] == measured.values["R@10"]
    assert tuple(measured.values) == METRICS


def test_what_bm25_finds_first_helps_the_fused_ranking(
    settings: Callable[..., CusinesSettings], small_law: Path
) -> None:
    data = Dataset.read(str(small_law)).given
    vectors = start(settings(), data, Accelerator(cpu=True)).encode(lambda _: None)
    gold = [np.array([data.corpus.position(each) for each in q.relevant]) for q in data.dev]
    measured = measure(vectors, data, gold)
    assert measured.values[FUSED] == [pytest.approx(1.0)] * len(data.dev)
