"""Curriculum negatives in a `SentenceTransformerTrainer`."""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has
from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.utils import extract_model_from_parallel
from torch import Tensor
from transformers import TrainerCallback, TrainerState

from components.models.encoding import scaled
from components.statutes.article import Article
from components.statutes.question import Question
from training.data import texts_of
from training.negatives.gold import DrawnNegatives, flattened
from training.negatives.sampling import CurriculumNegatives

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer

Columns = dict[str, list[Any]]

_FIRST_NUMBERS = 1_000
# Integers as wide as a weight, in bytes.
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class EpochNegatives(TrainerCallback):
    """Gives a trainer rows whose negatives are those of the current epoch.

    At the start of each epoch it encodes questions and articles with the model being trained, where
    the views need that, and draws. Where a phase of the curriculum begins within an epoch it draws
    again; the one or two batches that the trainer has already read ahead keep theirs.

    A row's negatives never answer its question, but another row's article in the batch may.
    `BatchSamplers.NO_DUPLICATES` keeps rows of the same question apart and leaves out what it
    cannot place, so where few questions have many positives each, an epoch sees only a part of the
    rows. `training.cusines` masks every such pair instead and sees all rows.

    Give the trainer both the dataset and this object as one of its `callbacks`. Without the
    callback nothing would be drawn again; rows are then refused once the model has changed.

    Example:
        ```python
        negatives = CurriculumNegatives(corpus, questions, negatives_per_question=4)
        epochs = EpochNegatives(model, negatives, corpus, questions)
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=epochs.dataset,
            loss=MultipleNegativesRankingLoss(model),
            callbacks=[epochs],
        )
        trainer.train()
        ```

    Args:
        model: The model to be trained; it encodes as in use, with its prompts or routes for queries
            and documents.
        negatives: What draws, made of the same articles and questions.
        articles: The corpus.
        questions: The questions to train on.

    Attributes:
        drawn: The negatives that rows have now; None until the dataset is read.
        dataset: A row for each (question, positive): anchor, positive, negative_1, negative_2, ...

    Raises:
        ValueError: `negatives` was made from other data, or draws a varying number; or articles or
            questions are not a sequence.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        negatives: CurriculumNegatives,
        articles: Sequence[Article],
        questions: Sequence[Question],
    ) -> None:
        gold = negatives.gold
        for known, given in ((gold.article_ids, articles), (gold.question_ids, questions)):
            if [each.id for each in given] != list(known):
                raise ValueError("articles and questions must be those that negatives has")
        if negatives.settings.share_of == "bucket":
            raise ValueError("share_of must be 'negatives': all rows need the same columns")
        self.drawn: DrawnNegatives | None = None
        self.dataset: Dataset = _rows(negatives, self._texts)
        self._model = model
        self._negatives = negatives
        self._articles = texts_of(articles, negatives.settings.text_rule)
        self._questions = [each.text for each in questions]
        self._vectors: dict[str, Tensor] = {}
        self._phase = 0
        # Digest of the weights with which rows were read before training began.
        self._first_weights: int | None = None

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Refuse a model or settings under which rows would keep old negatives.

        Raises:
            ValueError: Another model is trained; or rows would be read in other processes, or
                compared by the first epoch's negatives.
        """
        # Without the wrappers of compilation or of several processes.
        trained, own = (
            extract_model_from_parallel(model, keep_torch_compile=False)
            for model in (kwargs["model"], self._model)
        )
        if trained is not own:
            raise ValueError("The trainer and EpochNegatives must have the same model")
        if args.dataloader_num_workers:
            raise ValueError("dataloader_num_workers must be 0: workers do not see new negatives")
        if getattr(args, "batch_sampler", None) == "no_duplicates_hashed":
            raise ValueError("batch_sampler must be 'no_duplicates': a hashed one reads rows once")

    def on_epoch_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Encode with the current model, and draw."""
        read_with, self._first_weights = self._first_weights, None
        if state.global_step == 0 and read_with == _digest(self._model):
            return
        self._encode()
        self._draw(int(state.epoch or 0), state.global_step / state.max_steps)

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Draw again where a phase begins."""
        progress = state.global_step / state.max_steps
        if self._negatives.phase(progress) != self._phase:
            self._draw(int(state.epoch or 0), progress)

    def _encode(self) -> None:
        if not self._negatives.needs_vectors:
            return
        was_training = self._model.training
        encoded = {
            "questions": self._model.encode_query(self._questions, convert_to_tensor=True),
            "articles": self._model.encode_document(self._articles, convert_to_tensor=True),
        }
        self._model.train(was_training)
        compared = self._negatives.settings.similarity
        self._vectors = {name: scaled(each.float(), compared) for name, each in encoded.items()}

    def _draw(self, epoch: int, progress: float) -> DrawnNegatives:
        self._phase = self._negatives.phase(progress)
        self.drawn = self._negatives.draw(epoch, progress, **self._vectors)
        return self.drawn

    def _texts(self, batch: Columns) -> Columns:
        """Texts in place of row numbers and positions."""
        drawn = self.drawn
        if drawn is None:
            # A trainer reads the first rows when it is made, for the model card.
            self._encode()
            drawn = self._draw(0, 0.0)
            self._first_weights = _digest(self._model)
        elif self._first_weights is not None and self._first_weights != _digest(self._model):
            raise ValueError("The model has changed: give the trainer this EpochNegatives too")
        chosen = [drawn.of(question) for question in batch["anchor"]]
        texts = {
            "anchor": [self._questions[question] for question in batch["anchor"]],
            "positive": [self._articles[position] for position in batch["positive"]],
        }
        for number in range(self._negatives.settings.negatives_per_question):
            texts[f"negative_{number + 1}"] = [self._articles[each[number]] for each in chosen]
        return texts


class _Rows:
    """A transform that is different for every dataset.

    `datasets` pickles a transform to decide whether a cached result can be reused. These rows
    change with every draw, so it never can; and the model need not be pickled.
    """

    def __init__(self, texts: Callable[[Columns], Columns]) -> None:
        self._texts = texts

    def __call__(self, batch: Columns) -> Columns:
        return self._texts(batch)

    def __getstate__(self) -> str:
        return uuid.uuid4().hex


def _digest(model: torch.nn.Module) -> int:
    """The sum of the bits of each weight's first numbers: exact, and the same on every device.

    A step of any optimizer changes some of them. All numbers would take a fifth of a second, and a
    trainer reads thousands of rows before it begins. A tensor's version counter will not do:
    PyTorch's fused optimizers do not raise it.
    """
    first = (each.detach().flatten()[:_FIRST_NUMBERS] for each in model.parameters())
    return sum(int(each.view(_INTEGERS[each.element_size()]).sum()) for each in first)


def _rows(negatives: CurriculumNegatives, texts: Callable[[Columns], Columns]) -> Dataset:
    """A row for each (question, positive), which `texts` fills when it is read."""
    from datasets import Dataset

    positives = negatives.gold.positives
    rows, positions = flattened(positives, np.arange(len(positives)))
    dataset = Dataset.from_dict({"anchor": rows.tolist(), "positive": positions.tolist()})
    dataset.set_transform(_Rows(texts))
    return dataset
