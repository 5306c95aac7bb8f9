"""The frozen vectors below a graph: encoded once, kept, and never another model's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from graph_runs import Settings, data_of, learner_of

from components.models.biencoder import BiEncoder
from components.models.graph_vectors import node_texts
from components.models.locks import folder_lock
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import LegislativeGraph
from training.command_line import SettingsError
from training.graph_training.learner import GraphLearner


def test_vectors_are_kept_for_the_next_run_and_belong_to_one_model(
    graph_settings: Settings, other_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("kept_bytes", [0, 100])
def test_a_file_of_vectors_that_is_not_whole_is_made_again(
    graph_settings: Settings, tmp_path: Path, kept_bytes: int
) -> None:
    kept = tmp_path / "vectors"
    first = learner_of(graph_settings(vectors=str(kept)))
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:kept_bytes])
    again = learner_of(graph_settings(vectors=str(kept)))
    assert torch.equal(first._inputs, again._inputs)


def test_vectors_do_not_depend_on_what_is_fast_at_the_moment(
    graph_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for fast in (False, True):
        monkeypatch.setattr("components.models.devices.fast_bf16", lambda _, fast=fast: fast)
        made.append(learner_of(graph_settings(vectors=str(tmp_path / f"vectors-{fast}"))))
    assert torch.equal(made[0]._inputs, made[1]._inputs)


def test_of_two_processes_one_encodes_and_the_other_waits(
    graph_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "vectors"
    chosen = graph_settings(vectors=str(kept))
    loads: list[object] = []
    load = BiEncoder.load

    def noted(*given: Any, **named: Any) -> BiEncoder:
        loads.append(given)
        return load(*given, **named)

    monkeypatch.setattr(BiEncoder, "load", noted)
    with folder_lock(kept, wait=False):
        waiting = threading.Thread(target=learner_of, args=(chosen,))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        assert loads == []
    learner_of(chosen)
    waiting.join()
    assert len(loads) == 1


def test_an_article_s_vector_is_not_taken_for_a_question_s(
    graph_settings: Settings, tmp_path: Path
) -> None:
    chosen = graph_settings(vectors=str(tmp_path / "vectors"))
    data = data_of(chosen)
    texts = node_texts(LegislativeGraph.of(data.corpus), data.corpus, chosen.text_rule)
    asked = [replace(data.train[0], id=str(n), text=text) for n, text in enumerate(texts)]
    GraphLearner(chosen, replace(data, train=asked, dev=[]), Accelerator(cpu=True))
    assert len(list((tmp_path / "vectors").iterdir())) == 3


def test_other_questions_and_other_texts_are_encoded_and_the_law_that_stays_is_not(
    graph_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = graph_settings(vectors=str(tmp_path / "vectors"))
    data, cpu = data_of(chosen), Accelerator(cpu=True)
    GraphLearner(chosen, data, cpu)
    encoded: list[list[str]] = []

    def noting(encode: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def noted(model: BiEncoder, texts: list[str]) -> torch.Tensor:
            encoded.append(texts)
            return encode(model, texts)

        return noted

    for name in ("encode_articles", "encode_queries"):
        monkeypatch.setattr(BiEncoder, name, noting(getattr(BiEncoder, name)))
    joined = data.joined()
    learner = GraphLearner(chosen, joined, cpu)
    assert encoded == [[each.text for each in joined.train], []]
    vectors = learner.encode(lambda _: None)
    expected = BiEncoder.load(str(chosen.model), device="cpu", dtype="float32").encode_queries(
        encoded[0]
    )
    torch.testing.assert_close(vectors.train, expected)
    encoded.clear()
    articles = list(data.corpus)
    articles[0] = replace(articles[0], text="Otherwise.")
    GraphLearner(chosen, replace(data, corpus=StatuteCorpus(articles)), cpu)
    assert len(encoded) == 1, "the questions are those of before"
    assert any("Otherwise." in text for text in encoded[0])


def test_another_rule_of_what_is_read_than_the_model_s_is_refused(
    graph_settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(
        SettingsError, match=r"text_rule is text, and .* trained with headings_text"
    ):
        learner_of(graph_settings(text_rule="text", vectors=str(tmp_path / "vectors")))
    assert not (tmp_path / "vectors").exists()
