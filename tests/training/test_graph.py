"""python -m training.graph: a network over the tree, and the frozen vectors below it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from graph_runs import data_of, learner_of
from slow_cases import slow
from torch.nn import functional

from components.models.biencoder import BiEncoder
from components.models.folder import find_model, model_digest, read_manifest
from components.models.graph import GraphTensors, LegislativeGraphEncoder, node_texts
from components.statutes.graph import LegislativeGraph
from training.graph import GraphLearner, main
from training.loop import curriculum_negatives, fit
from training.objective import loss_of, make_batch
from training.settings import GraphSettings


def move(network: torch.nn.Module) -> None:
    """Away from the identity, or nothing could differ."""
    chance = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=chance)


def flags(chosen: GraphSettings) -> list[str]:
    default = GraphSettings(corpus=chosen.corpus, questions=chosen.questions, output=chosen.output)
    return [
        part
        for name, value in chosen.to_dict().items()
        if value != default.to_dict()[name] or name in ("corpus", "questions", "output")
        for part in (f"--{name}", json.dumps(value) if isinstance(value, bool) else str(value))
    ]


def test_an_untrained_network_ranks_as_the_bi_encoder_alone(graph_settings):
    chosen = graph_settings()
    data, learner = data_of(chosen), learner_of(chosen)
    vectors = learner.encode(train=True)
    plain = BiEncoder.load(str(chosen.model), device="cpu", dtype="float32")
    texts = [" ".join([*each.headings, each.text]) for each in data.corpus]
    torch.testing.assert_close(vectors.articles, plain.encode_articles(texts))
    torch.testing.assert_close(vectors.dev, plain.encode_queries([q.text for q in data.dev]))
    assert learner.changes() == {"graph_change": 0.0}


@pytest.mark.parametrize(("temperature", "reduction"), [(0.05, "mean"), (0.3, "question_sum")])
def test_the_loss_is_that_of_the_whole_graph_s_vectors(graph_settings, temperature, reduction):
    chosen = graph_settings(temperature=temperature, reduction=reduction)
    data, learner = data_of(chosen), learner_of(chosen)
    move(learner.model)
    negatives = curriculum_negatives(chosen, data, "cpu")
    vectors = learner.encode(train=True)
    torch.testing.assert_close(vectors.articles.norm(dim=1), torch.ones(len(data.corpus)))
    drawn = negatives.draw(0, 0.0, questions=vectors.train, articles=vectors.articles)
    batch = make_batch(data.pairs[:8], drawn, negatives.gold, in_batch=True)
    loss = learner.loss_and_gradient(batch)
    graph = LegislativeGraph.of(data.corpus)
    whole = learner.model(learner._inputs, GraphTensors.of(graph, torch.device("cpu")))
    articles = functional.normalize(whole[graph.n_inner :], dim=1)
    expected = loss_of(
        chosen,
        vectors.train[torch.from_numpy(batch.questions)],
        articles[torch.from_numpy(batch.articles)],
        torch.from_numpy(batch.pairs),
        torch.from_numpy(batch.candidates),
    ).value
    assert loss.loss == pytest.approx(expected.item(), abs=1e-5)
    found = {name: p.grad.clone() for name, p in learner.model.named_parameters()}
    learner.model.zero_grad()
    torch.autograd.backward(expected)
    for name, parameter in learner.model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-4, rtol=1e-4)


def test_permuted_leaves_see_another_place_and_stay_themselves(graph_settings):
    plain, permuted = learner_of(graph_settings()), learner_of(graph_settings(permute_tree=True))
    untrained = permuted.encode(train=True).articles
    assert torch.equal(untrained, plain.encode(train=True).articles)
    for learner in (plain, permuted):
        move(learner.model)
    one, other = (each.encode(train=True).articles for each in (plain, permuted))
    assert not torch.allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("network", ["gatv2", *slow("mlp", "gcn")])
def test_it_learns(graph_settings, network, tmp_path):
    # The same negatives all along, or the loss would rise with their difficulty.
    fixed = {"views": ("bm25",), "schedule": "fixed", "buckets": 1}
    chosen = graph_settings(network=network, max_steps=150, learning_rate=3e-3, **fixed)
    _, state = fit(chosen, data_of(chosen), Accelerator(cpu=True), tmp_path / "work", GraphLearner)
    losses = [loss for record in state.records for loss in record.get("losses", ())]
    # A batch's loss has a spread of .2 around 2.8: long means, which any processor's sums reach.
    assert np.mean(losses[-50:]) < 0.95 * np.mean(losses[:15])
    assert state.records[-1]["graph_change"] > 0.05
    assert state.records[0]["graph_change"] == 0


def test_the_model_folder_has_the_bi_encoder_as_it_was_and_the_graph(graph_settings, tmp_path):
    chosen = graph_settings()
    assert main(flags(chosen)) == 0
    folder = Path(chosen.output)
    manifest = read_manifest(folder)
    assert manifest.kind == ("biencoder", "graph")
    assert manifest.parts == ("biencoder/query", "graph")
    assert manifest.articles == model_digest(find_model(str(chosen.model)))
    assert manifest.config == chosen.to_dict()
    assert manifest.metrics["graph"]["nodes"] == {"law": 2, "division": 34, "article": 30}
    assert manifest.metrics["dev"].keys() > {"R@10", "MAP"}
    assert not folder.with_name("model.work").exists()
    network = LegislativeGraphEncoder.load(folder / "graph")
    assert network.edge_kinds == ("self", "down", "up")
    before = BiEncoder.load(str(chosen.model), device="cpu")
    after = BiEncoder.load(folder, device="cpu")
    asked = ["Who pays for repairs?"]
    assert torch.equal(before.encode_queries(asked), after.encode_queries(asked))
    # A second graph takes over the files of the bi-encoder and a ranker, not the first graph.
    ranked = tmp_path / "ranked"
    parts: Any = {
        "graph": folder / "graph",
        "ranker": lambda part: (part / "ranker.json").write_text("{}"),
    }
    after.save(ranked, kept=parts)
    second = graph_settings(model=str(ranked), output=str(tmp_path / "second"), neighbours=True)
    assert main(flags(second)) == 0
    assert read_manifest(tmp_path / "second").parts == ("biencoder/query", "graph", "ranker")
    assert BiEncoder.load(tmp_path / "second", device="cpu").digest == after.digest
    network = LegislativeGraphEncoder.load(tmp_path / "second" / "graph")
    assert network.edge_kinds == ("self", "down", "up", "previous", "next")


def test_an_interrupted_run_ends_with_the_weights_of_one_left_alone(
    graph_settings, tmp_path, monkeypatch
):
    straight = graph_settings(output=str(tmp_path / "straight"), checkpoint_every=2)
    assert main(flags(straight)) == 0
    broken = graph_settings(output=str(tmp_path / "broken"), checkpoint_every=2)
    step, calls = GraphLearner.loss_and_gradient, [0]

    def interrupting(self: GraphLearner, batch: Any) -> float:
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        return step(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(GraphLearner, "loss_and_gradient", interrupting)
        assert main(flags(broken)) == 130
    assert main(flags(broken)) == 0
    weights = [
        LegislativeGraphEncoder.load(tmp_path / name / "graph").state_dict()
        for name in ("straight", "broken")
    ]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name


# Vectors that are kept


def test_vectors_are_kept_for_the_next_run_and_belong_to_one_model(
    graph_settings, other_bert, tmp_path, monkeypatch
):
    kept = tmp_path / "vectors"
    first = learner_of(graph_settings(vectors=str(kept)))
    assert len(list(kept.iterdir())) == 3, "the law, and two sides of questions"

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("encoded again")

    with monkeypatch.context() as patched:
        patched.setattr(BiEncoder, "load", refuse)
        again = learner_of(graph_settings(vectors=str(kept)))
    assert torch.equal(first._inputs, again._inputs)
    other = learner_of(graph_settings(vectors=str(kept), model=str(other_bert)))
    assert len(list(kept.iterdir())) == 6
    assert not torch.allclose(first._inputs, other._inputs, atol=1e-2)


def test_a_file_of_vectors_that_is_not_whole_is_made_again(graph_settings, tmp_path):
    kept = tmp_path / "vectors"
    first = learner_of(graph_settings(vectors=str(kept)))
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    again = learner_of(graph_settings(vectors=str(kept)))
    assert torch.equal(first._inputs, again._inputs)


def test_an_article_s_vector_is_not_taken_for_a_question_s(graph_settings, tmp_path):
    chosen = graph_settings(vectors=str(tmp_path / "vectors"))
    data = data_of(chosen)
    texts = node_texts(LegislativeGraph.of(data.corpus), data.corpus, chosen.text_rule)
    asked = [replace(data.train[0], id=str(n), text=text) for n, text in enumerate(texts)]
    GraphLearner(chosen, replace(data, train=asked, dev=[]), Accelerator(cpu=True))
    assert len(list((tmp_path / "vectors").iterdir())) == 3
