"""The candidates of a ranker are the exact nearest articles, the same ones when taken up again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from haystack.utils import ComponentDevice

from components.converters.statutes import StatuteConverter
from components.embedders.graph import LegislativeGraphEmbedder
from components.models.biencoder import BiEncoder
from components.models.graph import LegislativeGraphEncoder
from training.data import TrainingData
from training.ranking.first_stage import FirstStage, open_network, stage_digest


@pytest.fixture(scope="module")
def data(small_law: Path) -> TrainingData:
    return TrainingData.read(
        str(small_law / "articles.jsonl"), str(small_law / "questions.jsonl"), dev_share=0.0
    )


@pytest.fixture(scope="module")
def stage(data: TrainingData, tiny_bert: Path) -> FirstStage:
    return FirstStage.search(BiEncoder.load(tiny_bert, device="cpu", dtype="float32"), data, 7)


def test_the_nearest_articles_are_found_best_first(stage: FirstStage, data: TrainingData) -> None:
    assert stage.train.found.shape == (len(data.train), 7)
    cosines = stage.train.vectors @ stage.articles.T
    for row, found in zip(cosines, stage.train.found, strict=True):
        assert row[found] == pytest.approx(np.sort(row)[::-1][:7], abs=1e-6)
    assert stage.dev.found.shape == (len(data.dev), 7)


def test_a_law_of_fewer_articles_gives_all_it_has(data: TrainingData, tiny_bert: Path) -> None:
    found = FirstStage.search(BiEncoder.load(tiny_bert, device="cpu"), data, 90).train.found
    assert found.shape == (len(data.train), len(data.corpus))


def test_a_graph_in_the_folder_finds_what_the_indexed_law_would(
    small_law: Path, data: TrainingData, tiny_bert: Path, tmp_path: Path
) -> None:
    biencoder = BiEncoder.load(tiny_bert, device="cpu", dtype="float32")
    dim = biencoder.encode_queries(["who?"]).shape[1]
    plain, folder = tmp_path / "plain", tmp_path / "graph"
    biencoder.save(plain)
    torch.manual_seed(0)
    made = LegislativeGraphEncoder(dim, layers=2, heads=2, init="paper")
    biencoder.save(folder, kept={"graph": made.save})
    assert open_network(str(plain), "cpu") is None
    network = open_network(str(folder), "cpu")
    assert network is not None
    stage = FirstStage.search(biencoder, data, 7, network)
    documents = StatuteConverter().run([str(small_law / "articles.jsonl")])["documents"]
    embedder = LegislativeGraphEmbedder(
        str(folder), ComponentDevice.from_str("cpu"), dtype="float32", progress_bar=False
    )
    indexed = {each.id: each.embedding for each in embedder.run(documents)["documents"]}
    expected = np.array([indexed[id_] for id_ in data.corpus.ids])
    assert stage.articles == pytest.approx(expected, abs=1e-5)
    assert not np.array_equal(stage.train.found, FirstStage.search(biencoder, data, 7).train.found)
    assert stage_digest(str(folder)) != stage_digest(str(plain))
    assert stage_digest(str(plain)) == BiEncoder.load(plain, device="cpu").digest


def test_cosines_of_pairs(stage: FirstStage) -> None:
    cosines = stage.cosines(np.array([0, 3]), np.array([5, 2]))
    assert cosines[1] == pytest.approx(stage.train.vectors[3] @ stage.articles[2], abs=1e-6)


def test_what_was_found_first_is_kept(stage: FirstStage, tmp_path: Path) -> None:
    first = stage.kept_in(tmp_path)
    assert np.array_equal(first.train.found, stage.train.found)
    other = replace(stage, train=replace(stage.train, found=stage.train.found[:, ::-1]))
    again = other.kept_in(tmp_path)
    assert np.array_equal(again.train.found, stage.train.found)
    assert np.array_equal(again.dev.found, stage.dev.found)
