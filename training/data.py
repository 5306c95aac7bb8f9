"""What a training run learns from and is chosen by, checked before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.models.folder import file_digest
from components.statutes.article import normalised
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.question import Question
from training.command_line import SettingsError, say

_NAMED = 3


@dataclass(frozen=True)
class TrainingData:
    """A law, questions to learn from and questions to choose the best model by.

    Attributes:
        corpus: The law.
        train: Questions to learn from; each has positives.
        dev: Questions to choose by; may be empty.
        questions_sha256: Digest of the questions' file.
        run_file_sha256: Digest of the run that negatives are taken from; None where there is none.
    """

    corpus: StatuteCorpus
    train: Sequence[Question]
    dev: Sequence[Question]
    questions_sha256: str
    run_file_sha256: str | None = None

    def __post_init__(self) -> None:
        if not self.train:
            raise SettingsError(
                "no answerable question of the split 'train' is there: nothing can be learnt. "
                'Give questions with "split": "train".'
            )
        check_apart(self.train, self.dev, "dev")

    @classmethod
    def read(
        cls,
        corpus: str,
        questions: str,
        *,
        dev_share: float = 0.0,
        run_file: str | None = None,
        final: bool = False,
    ) -> TrainingData:
        """Read a corpus and its questions by their splits.

        Args:
            corpus: As for `StatuteCorpus.read`.
            questions: As for `read_questions`.
            dev_share: Share of the training questions to choose by, where none is of the split
                "dev", see `held_out`.
            run_file: TREC run that negatives are taken from; here only its digest.
            final: Whether dev will be learnt too, see `joined`.

        Raises:
            CorpusError: A file cannot be read, or a relevant id is not in the corpus.
            SettingsError: No training question, or none left beside `dev_share`; one that stands in
                dev or test too; or no run file.
        """
        law = StatuteCorpus.read(corpus)
        asked = read_questions(questions, corpus_ids=law.ids)
        unanswerable = sum(not question.answerable for question in asked)
        if unanswerable:
            say(f"{unanswerable} questions that no article answers are left out")
        by_split = {
            split: [q for q in asked if q.split == split and q.relevant]
            for split in ("train", "dev", "test")
        }
        train, dev = by_split["train"], by_split["dev"]
        if train and not dev and dev_share:
            train, dev = held_out(train, dev_share)
            if not train:
                raise SettingsError(
                    f"dev_share is {dev_share}, which sets all {len(dev)} questions of train aside "
                    "for dev: nothing can be learnt. Give a smaller share, or more questions."
                )
            if dev:
                say(f"No question is of the split dev: {len(dev)} of train are set aside for it")
            else:
                say(
                    "No question is of the split dev, and train has but one text: nothing chooses "
                    "the epoch (select_by, patience), the last epoch is taken"
                )
        data = cls(law, train, dev, asked.sha256, run_file and _digest_of_run(run_file))
        # Nobody looks at test here, but the model will be measured on it.
        learnt = [*by_split["train"], *(by_split["dev"] if final else [])]
        check_apart(learnt, by_split["test"], "test")
        _say_what_is_asked_twice(dev, by_split["test"])
        return data

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """int64 `[n_pairs, 2]`: question (its index in `train`) and position of a positive."""
        pairs = [
            (row, self.corpus.position(article))
            for row, question in enumerate(self.train)
            for article in question.relevant
        ]
        return np.array(pairs, dtype=np.int64)

    def joined(self) -> TrainingData:
        """Train and dev together to learn from, nothing to choose by (`final`)."""
        return replace(self, train=[*self.train, *self.dev], dev=[])

    def digests(self) -> dict[str, str]:
        """What a model's manifest says of its data."""
        return {
            "corpus_sha256": self.corpus.sha256,
            "questions_sha256": self.questions_sha256,
            **({"run_file_sha256": self.run_file_sha256} if self.run_file_sha256 else {}),
        }


def check_apart(train: Sequence[Question], asked: Sequence[Question], split: str) -> None:
    """Refuse to measure on questions that are learnt from.

    Args:
        train: What is learnt from.
        asked: What is measured on.
        split: What to call `asked`.

    Raises:
        SettingsError: A question stands in both, by its words.
    """
    leaked = _asked_in_both(train, asked)
    if leaked:
        raise SettingsError(
            f"{len(leaked)} questions of {split} are learnt too: {_some(leaked)}. What is "
            "learnt by heart measures nothing: put each question into one split, as "
            "`python -m training.clean_questions --questions PATH --output FILE` does."
        )


def _say_what_is_asked_twice(dev: Sequence[Question], test: Sequence[Question]) -> None:
    """Say where what chooses the model is measured on later; nothing is learnt from it."""
    if twice := _asked_in_both(dev, test):
        say(
            f"{len(twice)} questions of test choose the model as questions of dev: "
            f"{_some(twice)}. What is measured on test flatters it by these; `python -m "
            "training.clean_questions` leaves each in one split"
        )


def _asked_in_both(known: Sequence[Question], asked: Sequence[Question]) -> list[str]:
    before = {normalised(question.text): question for question in known}
    return [
        f"{question.id!r} (as {same.id!r} in {same.split})"
        for question in asked
        if (same := before.get(normalised(question.text)))
    ]


def _digest_of_run(path: str) -> str:
    try:
        return file_digest(Path(path))
    except OSError as error:
        raise SettingsError(f"run_file: {path} cannot be read ({error.strerror}).") from error


def held_out(questions: Sequence[Question], share: float) -> tuple[list[Question], list[Question]]:
    """Questions to learn from, and a share of them to choose by.

    Which ones is the same for every run: a ranker or a graph is chosen by questions that the
    bi-encoder below it has not learnt, whatever the seeds of both, if that was trained with no
    smaller share and without `final`. A larger share holds a smaller.

    Args:
        questions: Those with the same text stay together.
        share: Of their distinct texts; above 0 at least one of them, if there are two.
    """
    texts = list(dict.fromkeys(normalised(question.text) for question in questions))
    order = np.random.default_rng([0, 1]).permutation(len(texts))
    number = round(share * len(texts)) or int(share > 0 and len(texts) > 1)
    dev = {texts[place] for place in order[:number].tolist()}
    kept: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        kept[normalised(question.text) in dev].append(question)
    return kept


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
