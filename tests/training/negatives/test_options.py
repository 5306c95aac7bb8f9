"""Where nothing is drawn, a batch's other articles must be negatives of some question."""

from __future__ import annotations

import pytest

from components.statutes.article import Article
from components.statutes.question import Question
from training.negatives import CurriculumNegatives

LAW = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(4)]
UNDRAWN = {"views": (), "buckets": 1, "negatives_per_question": 0}


@pytest.mark.parametrize(
    "asked",
    [
        [Question("q0", "Who?", ("a0", "a1"))],
        [Question("q0", "Who?", ("a0",)), Question("q1", " WHO? ", ("a1",))],
        [Question("q0", "Who?", ("a0",)), Question("q1", "When?", ("a0",))],
    ],
    ids=["one question", "one text", "one article"],
)
def test_nothing_drawn_and_no_other_article_is_refused(asked):
    with pytest.raises(ValueError, match="negatives_per_question is 0, and every article that"):
        CurriculumNegatives(LAW, asked, **UNDRAWN)
    assert CurriculumNegatives(LAW, asked, **{**UNDRAWN, "negatives_per_question": 1})


def test_nothing_drawn_is_fine_where_one_question_s_article_is_another_s_negative():
    asked = [Question("q0", "Who?", ("a0",)), Question("q1", "When?", ("a0", "a1"))]
    drawn = CurriculumNegatives(LAW, asked, **UNDRAWN).draw(0, 0.0)
    assert len(drawn.of(0)) == 0
