"""A teacher: how a fused ranking scores the articles that a model in training compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.folder import FUSION_PART, MANIFEST_FILE, find_model, read_manifest
from components.models.learned_fusion import BM25, DENSE, DIVISION, Rows, learned_fusion_of
from components.statutes.article import indexed_text
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.fusion import Searches
from training.negatives.gold import Gold
from training.settings import RunSettings

# Positive-aware mining (Moreira et al., NV-Retriever, 2024): an article that the teacher puts so
# near to one that answers probably answers too, and nobody has marked it.
_LIKELY = 0.95


@dataclass(frozen=True)
class Teacher:
    """The scores that a fused ranking gives to the candidates of each training question.

    Attributes:
        articles: Positions of each question's candidates, int64, ascending.
        scores: Of these, float64: the logarithm of how likely one answers, but for a constant.
    """

    articles: tuple[Rows, ...]
    scores: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, settings: RunSettings, data: TrainingData) -> Teacher | None:
        """The teacher that the settings name, asked every training question; None if they do not.

        Raises:
            ModelError: The folder cannot be opened, or holds no learned fusion.
            SettingsError: The teacher's fusion has learnt questions of this training.
        """
        if settings.teacher is None:
            return None
        _check_what_it_learnt(settings, data)
        model = BiEncoder.load(settings.teacher, device=settings.device)
        fusion = learned_fusion_of(
            settings.teacher, lists=(BM25, DIVISION, DENSE), model=model.digest
        )
        if fusion is None:
            raise ModelError(
                f"teacher: {settings.teacher} holds no learned fusion ({FUSION_PART}/). Learn one "
                "with `python -m training.fusion`, on questions that are held out here."
            )
        say(f"Asking the teacher {len(data.train):,} questions")
        articles = list(data.corpus)
        texts = [indexed_text(each.headings, each.text, model.text_rule) for each in articles]
        vectors = {DENSE: model.encode_articles(texts)}
        searches = Searches(articles, vectors, model.text_rule, similarity=model.similarity)
        asked = model.encode_queries([each.text for each in data.train]).numpy()
        ranked = [
            searches.ranked(question.text, {DENSE: vector}, fusion)
            for question, vector in zip(data.train, asked, strict=True)
        ]
        orders = [np.argsort(rows) for rows, _ in ranked]
        pairs = list(zip(ranked, orders, strict=True))
        return cls(
            tuple(rows[order] for (rows, _), order in pairs),
            tuple(scores[order] for (_, scores), order in pairs),
        )

    def of_articles(self, question: int, articles: Rows) -> NDArray[np.float64]:
        """The scores of some articles for one question, NaN where it has none.

        Args:
            question: Its index among the training questions.
            articles: Positions, int64 `[n]`.
        """
        own, scores = self.articles[question], self.scores[question]
        found = np.full(len(articles), np.nan)
        if len(own):
            places = np.minimum(np.searchsorted(own, articles), len(own) - 1)
            known = own[places] == articles
            found[known] = scores[places[known]]
        return found

    def without_likely(self, gold: Gold) -> Gold:
        """The gold, with articles excluded that may answer although nobody has marked them.

        These are candidates that the teacher finds likelier than .95 of what it finds the likeliest
        of the question's own articles.
        """
        return replace(gold, excluded=tuple(self._excluded(gold)))

    def _excluded(self, gold: Gold) -> Iterator[Rows]:
        for question, positives in enumerate(gold.positives):
            # A booster's score is a logit.
            likely = 1 / (1 + np.exp(-self.scores[question]))
            known = likely[np.isin(self.articles[question], positives)]
            above = likely > _LIKELY * known.max() if len(known) else np.zeros(len(likely), bool)
            yield np.union1d(gold.excluded[question], self.articles[question][above])


def _check_what_it_learnt(settings: RunSettings, data: TrainingData) -> None:
    """Refuse a teacher whose fusion has learnt questions of this training.

    Raises:
        ModelError: The folder's manifest cannot be read.
        SettingsError: It has.
    """
    folder = find_model(str(settings.teacher))
    if not (folder / MANIFEST_FILE).exists():
        return
    manifest = read_manifest(folder)
    if manifest.data.get("questions_sha256") == data.questions_sha256:
        say(
            f"WARNING: the bi-encoder of the teacher {settings.teacher} has learnt these questions "
            "and scores their articles too well"
        )
    fusion = manifest.metrics.get(FUSION_PART, {})
    if fusion.get("data", {}).get("questions_sha256") != data.questions_sha256:
        return
    both = {each.id for each in data.train}.intersection(fusion["learnt"])
    if both:
        raise SettingsError(
            f"teacher: the fusion of {settings.teacher} has learnt {len(both):,} of the questions "
            f"to train on (such as {min(both)!r}) and scores their articles too well. Give "
            "training.fusion and this training the same --hold_out."
        )
