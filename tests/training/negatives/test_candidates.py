"""Negatives drawn from the hardest of a ranking alone."""

from __future__ import annotations

from components.statutes.corpus import StatuteCorpus, read_questions
from training.negatives.sampling import CurriculumNegatives


def test_bm25s_candidates_are_its_best_and_others_in_another_epoch():
    asked = [each for each in read_questions("aldermere", split="train") if each.answerable]
    aldermere = StatuteCorpus.read("aldermere"), asked
    options = {"views": ("bm25",), "buckets": 1}
    best = CurriculumNegatives(
        *aldermere, schedule="fixed", negatives_per_question=40, **options
    ).draw(0, 0.0)
    negatives = CurriculumNegatives(*aldermere, candidates=40, negatives_per_question=4, **options)
    first, second = negatives.draw(0, 0.0), negatives.draw(1, 0.5)
    for row in range(negatives.gold.n_questions):
        drawn = {*first.of(row), *second.of(row)}
        assert drawn <= set(best.of(row))
    assert any(set(first.of(row)) != set(second.of(row)) for row in range(5))
