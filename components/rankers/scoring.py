"""Candidates and what the cross-encoder makes of them, as many as there is time for."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from haystack import logging

from components.models.cross_encoder import CrossEncoderRanker, PassageChooser, Span
from components.rankers.candidate import Candidate
from components.rankers.pacing import Pace
from components.rankers.work import Work, work_of

logger = logging.getLogger(__name__)


class Scored(NamedTuple):
    """A candidate, its logit, the passage that gave it, and every passage that was read."""

    candidate: Candidate
    logit: float
    best: Span
    read: list[Span]


def score_in_time(
    ranker: CrossEncoderRanker,
    chooser: PassageChooser | None,
    pace: Pace,
    question: str,
    candidates: Sequence[Candidate],
    seconds: float | None,
) -> list[Scored]:
    """Candidates in their order, those that the time suffices for.

    Args:
        ranker: Scores.
        chooser: Chooses passages of long articles; without it the first are read.
        pace: What is known of both models' speed; learns.
        question: In plain words.
        candidates: In the first stage's order.
        seconds: None reads all.

    Returns:
        Those with a finite logit; of others there is a warning.
    """

    def work(place: int) -> Work:
        return work_of(ranker, chooser, question, candidates[place].text)

    scored: dict[int, Scored] = {}
    for portion in pace.portions(len(candidates), work, seconds):
        part = [candidates[place] for place in portion.places]
        texts = [each.text for each in part]
        started = time.perf_counter()
        passages = ranker.chosen_passages(question, texts, chooser)
        chosen = time.perf_counter()
        scores = ranker.score_articles(question, texts, passages)
        pace.took(portion.work, chosen - started, time.perf_counter() - chosen)
        given = zip(part, scores.logits.tolist(), scores.best, scores.read, strict=True)
        scored |= zip(portion.places, (Scored(*each) for each in given), strict=True)
    found = [scored[place] for place in sorted(scored)]
    finite = [scored for scored in found if math.isfinite(scored.logit)]
    if len(finite) < len(found):
        logger.warning(
            "{model} gave {count} of {all} candidates a score that is not finite; they stand "
            "behind the others.",
            model=ranker.name,
            count=len(found) - len(finite),
            all=len(found),
        )
    return finite
