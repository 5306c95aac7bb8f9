"""Curriculum negatives inside sentence-transformers' own trainer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling
from tiny_bert import fixed_wordpiece, save_bert
from transformers import TrainerCallback

from components.statutes import Article, Question, indexed_text
from training.negatives.gold import DrawnNegatives
from training.negatives.sampling import CurriculumNegatives
from training.negatives.trainer import EpochNegatives

N_ARTICLES = 40
WORDS = [*(f"w{n}" for n in range(60)), *(f"part{n}" for n in range(8))]
ARTICLES = [
    Article(f"a{n}", "Law", str(n), (f"part{n // 5}",), f"w{n} w{n // 3}")
    for n in range(N_ARTICLES)
]
QUESTIONS = [
    Question(f"q{n}", f"w{n + 40}", tuple(f"a{p}" for p in range(n, N_ARTICLES, 7 + n)))
    for n in range(6)
]
N_PAIRS = sum(len(question.relevant) for question in QUESTIONS)
TEXT_AT = {indexed_text(each.headings, each.text): n for n, each in enumerate(ARTICLES)}


@pytest.fixture
def model(tmp_path: Path) -> SentenceTransformer:
    """Eight dimensions, one layer, a word a token."""
    sizes = {"longest": 8, "hidden": 8, "layers": 1, "heads": 2, "inner": 16}
    reader = Transformer(str(save_bert(tmp_path / "bert", fixed_wordpiece(WORDS), **sizes)))
    return SentenceTransformer(modules=[reader, Pooling(8, "mean")], device="cpu")


class Seen(TrainerCallback):
    """Keeps, epoch by epoch, the rows that the loss was given and the negatives drawn then."""

    def __init__(self, epochs: EpochNegatives) -> None:
        self.rows: list[list[tuple[str, ...]]] = []
        self.drawn: list[DrawnNegatives] = []
        self._epochs = epochs

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        assert self._epochs.drawn is not None
        self.drawn.append(self._epochs.drawn)
        self.rows.append([])


class Recording(MultipleNegativesRankingLoss):
    """The real loss, with the texts of its inputs written down."""

    def __init__(self, model: SentenceTransformer, seen: list[list[tuple[str, ...]]]) -> None:
        super().__init__(model)
        self._seen = seen
        self._words = model.tokenizer

    def forward(self, sentence_features: Any, labels: torch.Tensor | None = None) -> Any:
        sentence_features = list(sentence_features)
        columns = [
            self._words.batch_decode(column["input_ids"], skip_special_tokens=True)
            for column in sentence_features
        ]
        self._seen[-1].extend(zip(*columns, strict=True))
        return super().forward(sentence_features, labels)


def trained(
    model: SentenceTransformer,
    folder: Path,
    *,
    n_epochs: int,
    batch: int = 4,
    called_back: bool = True,
    **options: Any,
) -> tuple[CurriculumNegatives, EpochNegatives, Seen]:
    """A run, and what it saw."""
    arguments = {"negatives_per_question": 3, "buckets": 3} | options
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, **arguments)
    epochs = EpochNegatives(model, negatives, ARTICLES, QUESTIONS)
    seen = Seen(epochs)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(folder / "out"),
            num_train_epochs=n_epochs,
            per_device_train_batch_size=batch,
            learning_rate=0.05,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=epochs.dataset,
        loss=Recording(model, seen.rows),
        callbacks=[epochs, seen] if called_back else [seen],
    )
    trainer.train()
    return negatives, epochs, seen


def expected_rows(negatives: CurriculumNegatives, drawn: DrawnNegatives) -> list[tuple[str, ...]]:
    texts = list(TEXT_AT)
    return sorted(
        (QUESTIONS[row].text, texts[positive], *(texts[each] for each in drawn.of(row)))
        for row, own in enumerate(negatives.gold.positives)
        for positive in own
    )


def test_the_loss_sees_the_drawn_negatives_and_they_change_between_epochs(model, tmp_path):
    negatives, _, seen = trained(model, tmp_path, n_epochs=3)
    assert len(seen.rows) == 3
    for rows, drawn in zip(seen.rows, seen.drawn, strict=True):
        assert len(rows) == N_PAIRS
        assert sorted(rows) == expected_rows(negatives, drawn), "each pair once, shuffled"
        assert rows != sorted(rows)
        for row in range(len(QUESTIONS)):
            assert not set(drawn.of(row)) & set(negatives.gold.excluded[row])
    articles = [drawn.articles.tolist() for drawn in seen.drawn]
    assert articles[0] != articles[1] != articles[2]
    # Three epochs are the three phases: from the easy bucket to the difficult one.
    counts = [[(drawn.buckets == bucket).sum() for bucket in range(3)] for drawn in seen.drawn]
    assert [count.index(max(count)) for count in counts] == [0, 1, 2]


def test_each_epoch_is_ranked_by_the_model_as_it_is_then(model, tmp_path, monkeypatch):
    given: list[torch.Tensor] = []
    draw = CurriculumNegatives.draw

    def kept(self: CurriculumNegatives, *args: Any, **vectors: Any) -> DrawnNegatives:
        given.append(vectors["articles"].clone())
        return draw(self, *args, **vectors)

    monkeypatch.setattr(CurriculumNegatives, "draw", kept)
    before = torch.nn.functional.normalize(
        model.encode_document(list(TEXT_AT), convert_to_tensor=True), dim=1
    )
    negatives, _, _ = trained(model, tmp_path, n_epochs=3)
    assert len(given) == 3, "encoded once per epoch, the first time before the first step"
    torch.testing.assert_close(given[0], before)
    assert not torch.allclose(given[0], given[1], atol=1e-3)
    assert not torch.allclose(given[1], given[2], atol=1e-3)
    assert negatives.needs_vectors


def test_phases_change_within_a_single_epoch(model, tmp_path):
    negatives, epochs, seen = trained(model, tmp_path, n_epochs=1, batch=1, views=("tree",))
    assert epochs.drawn is not None
    (rows,) = seen.rows
    first = expected_rows(negatives, seen.drawn[0])
    last = expected_rows(negatives, epochs.drawn)
    assert set(rows[: N_PAIRS // 3]) <= set(first)
    assert set(rows[-N_PAIRS // 4 :]) <= set(last)
    assert not set(first) & set(last)
    assert (epochs.drawn.buckets == 2).sum() > (epochs.drawn.buckets == 0).sum()


def test_a_trainer_without_the_callback_is_stopped(model, tmp_path):
    with pytest.raises(ValueError, match="EpochNegatives"):
        trained(model, tmp_path, n_epochs=2, called_back=False)


# The guide

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "own_trainer.md"


@pytest.mark.slow
def test_the_guides_trainer_example_runs(tmp_path, monkeypatch, minilm):
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in examples if "trainer.train()" in each)
    assert "num_train_epochs=3," in example
    short = example.replace("num_train_epochs=3,", "max_steps=1, use_cpu=True,")
    monkeypatch.chdir(tmp_path)
    # One layer of the real model: what is tested is that the parts fit together.
    short = short.replace(
        "\nnegatives = ",
        "\ndel model[0].model.encoder.layer[1:]\nmodel.max_seq_length = 16\nnegatives = ",
    )
    names: dict[str, object] = {}
    exec(compile(short, str(GUIDE), "exec"), names)
    trainer = names["trainer"]
    assert trainer.state.global_step == 1  # type: ignore[attr-defined]
    assert trainer.state.log_history[-1]["train_loss"] > 0  # type: ignore[attr-defined]
