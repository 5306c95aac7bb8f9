"""What a candidate costs is what the two models have to read of it."""

from __future__ import annotations

from pathlib import Path

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.passage_choice import PassageChooser
from components.models.ranker_folder import RankerSettings
from components.rankers.work import Work, work_of

QUESTION = "Who must mend the roof?"


def test_the_passages_read_with_the_question_and_once_those_to_choose_from(
    tiny_ranker: Path, minilm: str
) -> None:
    ranker = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")
    ranker.settings = RankerSettings(passages=2, passage_tokens=8)
    chooser = PassageChooser(BiEncoder.load(minilm, device="cpu"))
    short = "a roof"
    assert work_of(ranker, chooser, QUESTION, short) == Work(0, len(QUESTION) + len(short))
    long = " ".join(["the court must hear the tenant", "the landlord pays rent", "a child"] * 5)
    spans = ranker.passages(long)
    lengths = sorted((end - start for start, end in spans), reverse=True)
    assert len(spans) > 2
    read = sum(lengths[:2]) + 2 * len(QUESTION)
    distinct = {long[start:end] for start, end in spans}
    assert work_of(ranker, None, QUESTION, long) == Work(0, read)
    assert work_of(ranker, chooser, QUESTION, long) == Work(sum(map(len, distinct)), read)
    ranker.chosen_passages(QUESTION, [long], chooser)
    assert work_of(ranker, chooser, QUESTION, long) == Work(0, read)
