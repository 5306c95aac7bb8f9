"""Training and dev questions of a run, checked before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.models.folder import MANIFEST_FILE, Manifest, ModelError, file_digest, find_model
from components.models.stored_vectors import stored_vectors
from components.statutes.article import Article, TextRule, counted, indexed_text, normalised
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from training.command_line import SettingsError, say
from training.settings import KeptSettings

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder

_NAMED = 3


def texts_of(articles: Iterable[Article], rule: TextRule) -> list[str]:
    """The text of each article that a model reads."""
    return [indexed_text(each.headings, each.text, rule) for each in articles]


def law_vectors(
    model: BiEncoder, digest: str, texts: Sequence[str], store: str | None, kind: str
) -> NDArray[np.float32]:
    """Vectors of articles or provisions; those that a store has are not encoded.

    Args:
        model: Encodes the others.
        digest: `articles_digest` of the model.
        texts: `n` texts, as the model reads them.
        store: As in `stored_vectors`; None encodes all.
        kind: What one of them is called.

    Returns:
        float32 `[n, dim]`.

    Raises:
        ModelError: As `stored_vectors`.
    """
    known = {} if store is None else stored_vectors(store, digest, texts, model.dim)
    if new := [row for row in range(len(texts)) if row not in known]:
        say(f"Encoding {counted(len(new), kind)}")
        encoded = model.encode_articles([texts[row] for row in new]).numpy()
        known |= zip(new, encoded, strict=True)
    return np.array([known[row] for row in range(len(texts))], np.float32)


@dataclass(frozen=True)
class TrainingData:
    """A law, questions to learn from and questions to choose the best model by.

    Attributes:
        corpus: The law.
        train: Questions to learn from; each has positives.
        dev: Questions to choose by; may be empty.
        questions_sha256: Digest of the questions' file.
        run_file_sha256: Digest of the TREC run from which negatives are taken; None without one.
        aside: Training questions that are kept from this run (`hold_out`).
        asked: The texts of all questions of the split "train", whether they have an answer or not.
    """

    corpus: StatuteCorpus
    train: Sequence[Question]
    dev: Sequence[Question]
    questions_sha256: str
    run_file_sha256: str | None = None
    aside: Sequence[Question] = ()
    asked: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.train:
            raise SettingsError("questions: no answerable one of the split 'train' is there.")
        check_apart(self.train, self.dev, "dev")

    @classmethod
    def read(
        cls,
        corpus: str,
        questions: str,
        *,
        dev_share: float = 0.0,
        hold_out: float = 0.0,
        run_file: str | None = None,
        final: bool = False,
    ) -> TrainingData:
        """Read a corpus and its questions by their splits.

        Args:
            corpus: As for `StatuteCorpus.read`.
            questions: As for `read_questions`.
            dev_share: Share of the training questions to choose by, where none is of the split
                "dev", see `held_out`.
            hold_out: Share of the training questions, dev's left out, that is not learnt.
            run_file: TREC run from which negatives are taken; only its digest is read here.
            final: Whether dev will be learnt in the end, see `joined`.

        Raises:
            CorpusError: A file cannot be read, or a relevant id is not in the corpus.
            SettingsError: No training question, or none left after `dev_share`; one that is also in
                dev or test; or the run file cannot be read.
        """
        law = StatuteCorpus.read(corpus)
        known = read_questions(questions, corpus_ids=law.ids)
        by_split = {
            split: [q for q in known if q.split == split and q.relevant]
            for split in ("train", "dev", "test")
        }
        train, dev = by_split["train"], [q for q in by_split["dev"] if not q.synthetic]
        left_out = sum(not q.answerable for q in known) + len(by_split["dev"]) - len(dev)
        if left_out:
            say(f"{left_out} questions without an answer, or of dev and synthetic, are left out")
        if train and not dev and dev_share:
            train, dev = held_out(train, dev_share)
            aside = f"{len(dev)} of train are set aside for it" if dev else "the last epoch is used"
            say(f"No question is of the split dev: {aside}")
        try:
            run_sha256 = run_file and file_digest(Path(run_file))
        except OSError as error:
            raise SettingsError(
                f"run_file: {run_file} cannot be read ({error.strerror})."
            ) from error
        asked = list(dict.fromkeys(each.text for each in known if each.split == "train"))
        data = cls(law, train, dev, known.sha256, run_sha256, asked=asked).holding_out(hold_out)
        # Training does not use test, but the model will be measured on it.
        learnt = [*by_split["train"], *(by_split["dev"] if final else [])]
        check_apart(learnt, by_split["test"], "test")
        if twice := _in_both(dev, by_split["test"]):
            say(f"{len(twice)} questions of test are also in dev: {', '.join(twice[:_NAMED])}")
        return data

    def holding_out(self, share: float) -> TrainingData:
        """The same, without a share of the training questions (`hold_out`)."""
        if not share:
            return self
        train, aside = held_out(self.train, share)
        say(f"{len(aside):,} questions of train are held out: the manifest names them")
        return replace(self, train=train, aside=aside)

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
        """Train and dev together to learn from, and nothing to choose by (`final`)."""
        return replace(self, train=[*self.train, *self.dev], dev=[])

    def digests(self) -> dict[str, str]:
        """The data's digests for a model's manifest."""
        return {
            "corpus_sha256": self.corpus.sha256,
            "questions_sha256": self.questions_sha256,
            **({"run_file_sha256": self.run_file_sha256} if self.run_file_sha256 else {}),
        }


def check_apart(train: Sequence[Question], others: Sequence[Question], split: str) -> None:
    """Refuse to measure on questions that are learnt from.

    Args:
        train: What is learnt from.
        others: What is measured on.
        split: What to call `others`.

    Raises:
        SettingsError: A question with the same words is in both.
    """
    if leaked := _in_both(train, others):
        raise SettingsError(
            f"{len(leaked)} questions of {split} are also in train: {', '.join(leaked[:_NAMED])}. "
            "Put each into one split: python -m training.clean_questions."
        )


def _in_both(train: Sequence[Question], others: Sequence[Question]) -> list[str]:
    """The `others` that have the words of a question of train, described for a message."""
    before = {normalised(question.text): question for question in train}
    return [
        f"{question.id!r} (as {same.id!r} in {same.split})"
        for question in others
        if (same := before.get(normalised(question.text)))
    ]


def held_out(questions: Sequence[Question], share: float) -> tuple[list[Question], list[Question]]:
    """Questions to learn from, and a share of them to choose by.

    The choice is the same for every run: a ranker or a graph is chosen by questions that the
        bi-encoder below it has not learnt, whatever the seeds, if that was trained with at least
        the same share and without `final`. A larger share contains a smaller one. A question that a
        model wrote chooses nothing: it is learnt, or left out if its words are set aside.

    Args:
        questions: Those with the same text stay together.
        share: Share of their distinct texts; above 0 at least one text, if there are two.
    """
    texts = list(dict.fromkeys(normalised(q.text) for q in questions if not q.synthetic))
    order = np.random.default_rng([0, 1]).permutation(len(texts))
    number = round(share * len(texts)) or int(share > 0 and len(texts) > 1)
    dev = {texts[place] for place in order[:number].tolist()}
    kept: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        aside = normalised(question.text) in dev
        if not (aside and question.synthetic):
            kept[aside].append(question)
    return kept


def evaluated(
    questions: Sequence[Question],
    found: Iterable[Sequence[str]],
    metrics: Sequence[str],
    depth: int,
) -> dict[str, dict[str, float]]:
    """Metric to question id to value.

    Args:
        questions: `n_questions` of them.
        found: Ids of articles by question, best first.
        metrics: Names of the metrics.
        depth: How many articles were searched for.
    """
    run = {question.id: ids for question, ids in zip(questions, found, strict=True)}
    return evaluate(run, {q.id: set(q.relevant) for q in questions}, metrics, depth=depth)


# Which questions the starting model has already learnt.
#
# Questions that a model knows by heart can neither measure nor choose what is built on it.


@dataclass(frozen=True)
class Training:
    """An earlier training of a model.

    Attributes:
        model: The model folder that it made.
        config: Its settings.
        held_out: Ids of training questions that its bi-encoder has not learnt.
    """

    model: str
    config: Mapping[str, Any]
    held_out: frozenset[str] = frozenset()

    def learnt_of_dev(self, data: TrainingData, dev_share: float) -> str | None:
        """The setting by which it learnt questions that are now in dev, or None.

        Args:
            data: The same questions' file.
            dev_share: Share that is set aside where no question is of dev.
        """
        if not data.dev:
            return None
        if self.config.get("final"):
            return "final"
        aside = any(question.split == "train" for question in data.dev)
        own = self.config.get("dev_share", dev_share)
        return f"dev_share {own}" if aside and own < dev_share else None


def trainings_on(questions_sha256: str, settings: KeptSettings) -> list[Training]:
    """The trainings on a questions file that led to the model that a run starts from.

    A model's manifest names the model it was made from; the chain is followed as far as those
    models still exist. A model without a manifest has learnt no questions.

    Args:
        questions_sha256: Digest of the file.
        settings: Of the run.

    Raises:
        ModelError: A model that the run starts from cannot be found.
    """
    ahead = [(name, find_model(name)) for name in _starts(settings.to_dict())]
    seen: set[Path] = set()
    trainings: list[Training] = []
    while ahead:
        name, folder = ahead.pop(0)
        path = folder / MANIFEST_FILE
        try:
            manifest = Manifest.from_json(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError, ModelError):
            continue  # if the run starts from it, opening it reports what is wrong
        if folder in seen:
            continue
        seen.add(folder)
        if manifest.data.get("questions_sha256") == questions_sha256:
            trainings.append(Training(name, manifest.config, frozenset(manifest.held_out)))
        ahead += [(start, Path(start).expanduser()) for start in _starts(manifest.config)]
    return trainings


def _starts(config: Mapping[str, Any]) -> list[str]:
    names = ("model", "query_model", "passage_model", "start")
    return [str(config[name]) for name in names if config.get(name)]


def say_where_dev_is_learnt(settings: KeptSettings, data: TrainingData) -> None:
    """Warn if the epoch will be chosen by questions that the starting model has learnt.

    Raises:
        ModelError: A model that the run starts from cannot be found.
    """
    for training in trainings_on(data.questions_sha256, settings):
        if how := training.learnt_of_dev(data, settings.to_dict()["dev_share"]):
            say(f"WARNING: {training.model} has learnt questions of dev ({how}): they choose badly")


# The order of an epoch's pairs.


Rows = NDArray[np.int64]


def epoch_order(n_pairs: int, *, seed: int, epoch: int) -> Rows:
    """The pairs in the order of an epoch, int64 `[n_pairs]`; each epoch has its own."""
    return np.random.default_rng([seed, epoch, 0]).permutation(n_pairs)


def first_steps(pairs: Rows, order: Rows, batch_size: int, n_questions: int) -> Rows:
    """The step of the epoch in which each question first occurs, int64 `[n_questions]`."""
    steps = np.empty(n_questions, dtype=np.int64)
    # From the last to the first, so that the first occurrence is written last and stays.
    steps[pairs[order[::-1], 0]] = np.arange(len(order))[::-1] // batch_size
    return steps


def folds_of(questions: Sequence[Question], n_folds: int, *, seed: int) -> list[int]:
    """The fold of each question, `[n_questions]`, from 0; -1 for one that is always learnt.

    Questions with the same words stay in one fold, so that no measured question was learnt by
    heart. Folds are as equal in size as that allows. A question that a model wrote has a fold only
    if another one has its words.

    Args:
        questions: In a fixed order.
        n_folds: How many.
        seed: Decides which questions share a fold.

    Raises:
        SettingsError: There are fewer different questions than folds.
    """
    groups: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        if not question.synthetic:
            groups.setdefault(normalised(question.text), []).append(place)
    if len(groups) < n_folds:
        raise SettingsError(
            f"folds: {len(groups)} different questions cannot be put into {n_folds}."
        )
    members = list(groups.values())
    folds = [-1] * len(questions)
    sizes = [0] * n_folds
    for group in np.random.default_rng([seed, n_folds]).permutation(len(members)).tolist():
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(members[group])
        for place in members[group]:
            folds[place] = smallest
    for place, question in enumerate(questions):
        if question.synthetic and (same := groups.get(normalised(question.text))):
            folds[place] = folds[same[0]]
    return folds
