"""python -m training.graph: a network over the tree, trained by the loop that trains everything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from graph_runs import Settings, data_of, learner_of
from torch.nn import functional

from components.models.biencoder import BiEncoder
from components.models.digest import model_digest
from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.models.manifest import read_manifest
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS, LegislativeGraph
from training.batches import make_batch
from training.command_line import Place, SettingsError, Target
from training.graph import main
from training.graph_training import learner as learner_module
from training.graph_training.learner import GraphLearner
from training.graph_training.settings import GraphSettings
from training.objective import contrastive_loss
from training.optimizer import EPSILON
from training.running import curriculum_negatives, fit


def move(network: torch.nn.Module, seed: int = 0) -> None:
    """Away from the identity, or nothing could differ."""
    chance = torch.Generator().manual_seed(seed)
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


def test_an_untrained_network_ranks_as_the_bi_encoder_alone(graph_settings: Settings) -> None:
    chosen = graph_settings()
    data, learner = data_of(chosen), learner_of(chosen)
    vectors = learner.encode(lambda _: None)
    plain = BiEncoder.load(str(chosen.model), device="cpu", dtype="float32")
    texts = [" ".join([*each.headings, each.text]) for each in data.corpus]
    torch.testing.assert_close(vectors.articles, plain.encode_articles(texts))
    torch.testing.assert_close(vectors.dev, plain.encode_queries([q.text for q in data.dev]))
    assert learner.changes() == {"graph_change": 0.0}


@pytest.mark.parametrize(("temperature", "reduction"), [(0.05, "mean"), (0.3, "question_sum")])
def test_the_loss_is_that_of_the_whole_graph_s_vectors(
    graph_settings: Settings, temperature: float, reduction: Any
) -> None:
    chosen = graph_settings(temperature=temperature, reduction=reduction)
    data, learner = data_of(chosen), learner_of(chosen)
    move(learner.network)
    negatives = curriculum_negatives(chosen, data, "cpu")
    vectors = learner.encode(lambda _: None)
    torch.testing.assert_close(vectors.articles.norm(dim=1), torch.ones(len(data.corpus)))
    drawn = negatives.draw(0, 0.0, questions=vectors.train, articles=vectors.articles)
    batch = make_batch(data.pairs[:8], drawn, negatives.gold, in_batch=True)
    loss = learner.loss_and_gradient(batch)
    graph = LegislativeGraph.of(data.corpus)
    whole = learner.network(learner._inputs, GraphTensors.of(graph, torch.device("cpu")))
    articles = functional.normalize(whole[graph.n_inner :], dim=1)
    expected = contrastive_loss(
        vectors.train[torch.from_numpy(batch.questions)],
        articles[torch.from_numpy(batch.articles)],
        torch.from_numpy(batch.pairs),
        torch.from_numpy(batch.candidates),
        temperature=temperature,
        reduction=reduction,
    )
    assert loss == pytest.approx(expected.item(), abs=1e-5)
    found = {name: p.grad.clone() for name, p in learner.network.named_parameters()}
    learner.network.zero_grad()
    torch.autograd.backward(expected)
    for name, parameter in learner.network.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-4, rtol=1e-4)


def test_permuted_leaves_see_another_place_and_stay_themselves(graph_settings: Settings) -> None:
    plain, permuted = learner_of(graph_settings()), learner_of(graph_settings(permute_tree=True))
    untrained = permuted.encode(lambda _: None).articles
    assert torch.equal(untrained, plain.encode(lambda _: None).articles)
    for learner in (plain, permuted):
        move(learner.network)
    one, other = (each.encode(lambda _: None).articles for each in (plain, permuted))
    assert not torch.allclose(one, other, atol=1e-3)


def test_the_seed_decides_the_weights_and_where_permuted_leaves_hang(
    graph_settings: Settings,
) -> None:
    def started(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        learner = learner_of(graph_settings(init="paper", permute_tree=True, seed=seed))
        return learner.network.convolutions[0].source.weight, learner._nodes

    for one, again, other in zip(started(1), started(1), started(2), strict=True):
        assert torch.equal(one, again)
        assert not torch.equal(one, other)


def test_the_network_is_the_one_that_the_settings_describe(graph_settings: Settings) -> None:
    chosen = graph_settings(
        network="gat", layers=2, heads=8, init="paper", neighbours=True, citations=True
    )
    data = data_of(chosen)
    articles = list(data.corpus)
    articles[3] = replace(articles[3], text="As article 5 has it, and article 99 has not.")
    learner = GraphLearner(
        chosen, replace(data, corpus=StatuteCorpus(articles)), Accelerator(cpu=True)
    )
    assert learner.network.to_dict() == {
        "dim": 32,
        "kind": "gat",
        "layers": 2,
        "heads": 8,
        "init": "paper",
        "edge_kinds": list(EDGE_KINDS),
        "dropout": 0.0,
    }
    assert learner_of(graph_settings()).network.to_dict() == {
        "dim": 32,
        "kind": "gatv2",
        "layers": 3,
        "heads": 4,
        "init": "identity",
        "edge_kinds": ["self", "down", "up"],
        "dropout": 0.0,
    }


def test_every_step_has_the_same_rate_and_weights_decay_but_not_biases(
    graph_settings: Settings,
) -> None:
    learner = learner_of(graph_settings(init="paper", learning_rate=0.01, weight_decay=0.5))
    before = {name: p.detach().clone() for name, p in learner.network.named_parameters()}
    optimizer = learner.optimizer(10)
    for step in (0, 9):
        for parameter in learner.network.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step(step)
    for name, parameter in learner.network.named_parameters():
        left = (1 - 0.01 * 0.5) ** 2 if parameter.ndim > 1 else 1
        torch.testing.assert_close(parameter.detach(), left * before[name])


def test_the_defaults_are_g_dsr_s() -> None:
    default = GraphSettings(corpus=Place("law"), questions=Place("law"), output=Target("model"))
    assert (default.network, default.layers, default.epochs, default.min_steps) == (
        *("gatv2", 3, 10, 500),
    )
    assert (default.batch_size, default.learning_rate, default.weight_decay) == (512, 2e-4, 0.1)
    assert (default.clip, default.temperature, EPSILON) == (1.0, 0.01, 1e-7)


def test_a_run_goes_on_below_the_same_model_and_with_the_same_arithmetic_alone(
    graph_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = graph_settings()
    learner = learner_of(chosen)
    monkeypatch.setattr(learner_module, "linear_library", lambda device: f"{device}'s own")
    assert learner.fixed == {
        "model_sha256": model_digest(Path(str(chosen.model))),
        "dtype": "float32",
        "linear": "cpu's own",
    }


def test_several_processes_are_refused(graph_settings: Settings) -> None:
    chosen = graph_settings()
    two: Any = SimpleNamespace(num_processes=2, device=torch.device("cpu"))
    with pytest.raises(SettingsError, match="a graph is trained in one process"):
        GraphLearner(chosen, data_of(chosen), two)


@pytest.mark.parametrize("network", ["gatv2", "mlp", "gcn"])
def test_it_learns(graph_settings: Settings, network: Any, tmp_path: Path) -> None:
    # The same negatives all along, or the loss would rise with their difficulty.
    fixed = {"views": ("bm25",), "schedule": "fixed", "buckets": 1}
    chosen = graph_settings(network=network, max_steps=150, learning_rate=3e-3, **fixed)
    _, state = fit(chosen, data_of(chosen), Accelerator(cpu=True), tmp_path / "work", GraphLearner)
    losses = [loss for record in state.records for loss in record.get("losses", ())]
    # A batch's loss has a spread of .2 around 2.8: long means, which any processor's sums reach.
    assert np.mean(losses[-50:]) < 0.95 * np.mean(losses[:15])
    assert state.records[-1]["graph_change"] > 0.05
    assert state.records[0]["graph_change"] == 0
    assert len(state.records[0]["examples"]) == 3


def test_a_run_has_its_least_number_of_steps(graph_settings: Settings) -> None:
    short = graph_settings(max_steps=None, epochs=2, min_steps=500)
    assert short.total_steps(3) == 500
    assert graph_settings(max_steps=None, epochs=2, min_steps=5).total_steps(3) == 6
    assert graph_settings(max_steps=7).total_steps(3) == 7


def test_a_run_that_is_longer_than_its_epochs_says_so(
    graph_settings: Settings, tmp_path: Path, capsys: Any
) -> None:
    chosen = graph_settings(max_steps=None, epochs=1, min_steps=7)
    data = data_of(chosen)
    steps = -(-len(data.pairs) // chosen.batch_size)
    _, state = fit(chosen, data, Accelerator(cpu=True), tmp_path / "work", GraphLearner)
    assert state.epoch == -(-7 // steps) > 1
    assert f"{state.epoch} epochs in place of 1, by min_steps" in capsys.readouterr().err


def test_the_model_folder_has_the_bi_encoder_as_it_was_and_the_graph(
    graph_settings: Settings, tmp_path: Path
) -> None:
    chosen = graph_settings()
    assert main(flags(chosen)) == 0
    folder = Path(chosen.output)
    manifest = read_manifest(folder)
    assert manifest.kind == ("biencoder", "graph")
    assert manifest.parts == ("biencoder/query", "graph")
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
    graph_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layers": 0}, "layers is 0"),
        ({"heads": 0}, "heads is 0"),
        ({"min_steps": -1}, "min_steps is -1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(
    graph_settings: Settings, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        graph_settings(**fields)
