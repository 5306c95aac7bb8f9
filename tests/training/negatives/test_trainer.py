"""Curriculum negatives inside a real `SentenceTransformerTrainer`."""

from __future__ import annotations

import copy
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
from sentence_transformers.sentence_transformer.training_args import BatchSamplers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    TrainerCallback,
    TrainerState,
)

from components.statutes import Article, Question, indexed_text
from training.negatives.drawn import DrawnNegatives
from training.negatives.sampling import CurriculumNegatives
from training.negatives.trainer import EpochNegatives

N_ARTICLES = 40
WORDS = ["[PAD]", "[UNK]", *(f"w{n}" for n in range(60)), *(f"part{n}" for n in range(8))]
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
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=8,
    )
    BertModel(config).save_pretrained(tmp_path / "bert")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=8
    ).save_pretrained(tmp_path / "bert")
    reader = Transformer(str(tmp_path / "bert"))
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
    sampler: BatchSamplers = BatchSamplers.BATCH_SAMPLER,
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
            batch_sampler=sampler,
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


def test_rows_told_apart_batch_by_batch_are_this_epochs_too(model, tmp_path):
    negatives, _, seen = trained(model, tmp_path, n_epochs=3, sampler=BatchSamplers.NO_DUPLICATES)
    for rows, drawn in zip(seen.rows, seen.drawn, strict=True):
        assert len(rows) > N_PAIRS / 2, "rows that fit no batch are left out"
        assert set(rows) <= set(expected_rows(negatives, drawn))


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
    assert len(given) == 3, "encoded once an epoch, the first time before the first step"
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


def test_in_batch_negatives_only_make_rows_of_two(model, tmp_path):
    _, _, seen = trained(model, tmp_path, n_epochs=1, negatives_per_question=0)
    assert {len(row) for row in seen.rows[0]} == {2}


@pytest.mark.parametrize("views", [("tree",), ("tree", "semantic")])
@pytest.mark.parametrize("sampler", [BatchSamplers.BATCH_SAMPLER, BatchSamplers.NO_DUPLICATES])
def test_a_trainer_without_the_callback_is_stopped(model, tmp_path, views, sampler):
    with pytest.raises(ValueError, match=r"none are drawn anew: give the trainer callbacks="):
        trained(model, tmp_path, n_epochs=2, views=views, sampler=sampler, called_back=False)


def test_rows_can_be_looked_at_before_training_and_after(model, tmp_path):
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, negatives_per_question=3)
    looked_at = EpochNegatives(model, negatives, ARTICLES, QUESTIONS).dataset
    for _ in range(3):
        assert len(looked_at[:]["negative_3"]) == N_PAIRS
        model.to(torch.device("cpu")).eval()
    _, epochs, _ = trained(model, tmp_path, n_epochs=2)
    assert len(epochs.dataset[:]["negative_3"]) == N_PAIRS
    with pytest.raises(ValueError, match="make a new EpochNegatives"):
        looked_at[:]


def test_what_was_read_of_another_model_is_not_what_training_begins_with(model, tmp_path):
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, negatives_per_question=3)
    epochs = EpochNegatives(model, negatives, ARTICLES, QUESTIONS)
    list(epochs.dataset)
    read = epochs.drawn
    state = TrainerState(max_steps=8)
    begun = (SentenceTransformerTrainingArguments(str(tmp_path), use_cpu=True), state, None)
    epochs.on_epoch_begin(*begun)
    assert epochs.drawn is read, "the same model is not encoded twice"
    epochs = EpochNegatives(model, negatives, ARTICLES, QUESTIONS)
    list(epochs.dataset)
    read = epochs.drawn
    with torch.no_grad():
        next(model.parameters()).mul_(-1)
    epochs.on_epoch_begin(*begun)
    assert epochs.drawn is not read


def test_reading_rows_never_pickles_the_model(model, monkeypatch):
    def refuse(*_: Any) -> None:
        raise AssertionError("pickled")

    monkeypatch.setattr(SentenceTransformer, "__reduce_ex__", refuse)
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, views=("tree",), negatives_per_question=3)
    one, other = (EpochNegatives(model, negatives, ARTICLES, QUESTIONS).dataset for _ in range(2))
    assert one._fingerprint != other._fingerprint, "no cached result fits other negatives"
    assert list(one[0]) == ["anchor", "positive", "negative_1", "negative_2", "negative_3"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"dataloader_num_workers": 1}, "dataloader_num_workers must be 0"),
        ({"batch_sampler": "no_duplicates_hashed"}, "Use 'no_duplicates'"),
    ],
)
def test_settings_that_would_keep_old_negatives_are_refused(model, tmp_path, option, message):
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, views=("tree",), negatives_per_question=3)
    epochs = EpochNegatives(model, negatives, ARTICLES, QUESTIONS)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, **option
    )
    with pytest.raises(ValueError, match=message):
        epochs.on_train_begin(arguments, None, None, model=model)  # type: ignore[arg-type]


def test_a_trainer_of_another_model_is_refused(model, tmp_path):
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, negatives_per_question=3)
    epochs = EpochNegatives(model, negatives, ARTICLES, QUESTIONS)
    other = copy.deepcopy(model)
    trainer = SentenceTransformerTrainer(
        model=other,
        args=SentenceTransformerTrainingArguments(
            str(tmp_path), use_cpu=True, report_to="none", save_strategy="no"
        ),
        train_dataset=epochs.dataset,
        loss=MultipleNegativesRankingLoss(other),
        callbacks=[epochs],
    )
    with pytest.raises(ValueError, match="not the one that EpochNegatives was made with"):
        trainer.train()


@pytest.mark.parametrize("wrap", [torch.compile, torch.nn.DataParallel])
def test_the_same_model_compiled_or_wrapped_is_no_other(model, tmp_path, wrap):
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, negatives_per_question=3)
    arguments = SentenceTransformerTrainingArguments(str(tmp_path), use_cpu=True)
    for drawing, trained_one in ((model, wrap(model)), (wrap(model), model)):
        epochs = EpochNegatives(drawing, negatives, ARTICLES, QUESTIONS)
        epochs.on_train_begin(arguments, None, None, model=trained_one)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("articles", "questions", "options", "message"),
    [
        (ARTICLES[1:], QUESTIONS, {}, "articles are not those"),
        (ARTICLES, QUESTIONS[::-1], {}, "questions are not those"),
        (ARTICLES, QUESTIONS, {"share_of": "bucket", "buckets": 1}, "Use share_of 'negatives'"),
        (iter(ARTICLES), QUESTIONS, {}, "articles must be a list"),
        (ARTICLES, iter(QUESTIONS), {}, "questions must be a list"),
    ],
)
def test_other_data_or_varying_numbers_are_refused(model, articles, questions, options, message):
    arguments = {"views": ("tree",), "negatives_per_question": 3} | options
    negatives = CurriculumNegatives(ARTICLES, QUESTIONS, **arguments)
    with pytest.raises(ValueError, match=message):
        EpochNegatives(model, negatives, articles, questions)
