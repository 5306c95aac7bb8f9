"""How much there is to do before a candidate is ranked."""

from __future__ import annotations

from typing import NamedTuple

from components.models.cross_encoder import CrossEncoderRanker, PassageChooser


class Work(NamedTuple):
    """What two models have to read, in characters.

    Attributes:
        encoded: By the bi-encoder, so that passages can be chosen.
        read: By the cross-encoder, of passages and beside each of the question.
    """

    encoded: int
    read: int


def work_of(
    ranker: CrossEncoderRanker, chooser: PassageChooser | None, question: str, text: str
) -> Work:
    """What there is to do for one candidate.

    Args:
        ranker: Cuts the text, and keeps where it was cut.
        chooser: Knows which passages it has encoded already.
        question: In plain words.
        text: The candidate's.
    """
    spans = ranker.passages(text)
    most = ranker.settings.passages
    # Which will be chosen is not known yet: the longest.
    lengths = sorted((end - start for start, end in spans), reverse=True)[:most]
    encoded = 0
    if chooser is not None and len(spans) > most:
        encoded = chooser.unread([text[start:end] for start, end in spans])
    return Work(encoded, sum(lengths) + len(question) * len(lengths))
