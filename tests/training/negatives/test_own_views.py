"""Views that are objects, beside those that have names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize

from components.statutes import Article, Question
from training.negatives import CurriculumNegatives, statistics
from training.negatives.examples import examples
from training.negatives.view import DynamicView
from training.negatives.views import SemanticView, SequenceView

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "training.md"
CPU = torch.device("cpu")
ARTICLES = [Article(f"a{n}", "Law", str(n), (f"Part {n // 4}",), f"words {n}") for n in range(20)]
QUESTIONS = [Question("q0", "?", ("a3",)), Question("q1", "!", ("a9", "a10"))]


class Last:
    """What stands later in the law is harder."""

    def __init__(self, name: str = "last") -> None:
        self.name = name

    def difficulty(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return torch.arange(20.0).expand(len(rows), -1)


class Dot:
    """The product of the vectors; dynamic, and no relation of the semantic view."""

    name = "dot"

    def refresh(self, questions: torch.Tensor, articles: torch.Tensor) -> None:
        self.given = questions, articles

    def difficulty(self, rows: NDArray[np.int64]) -> torch.Tensor:
        questions, articles = self.given
        return questions[torch.from_numpy(rows)] @ articles.T


def unit(n: int, seed: int) -> torch.Tensor:
    return normalize(torch.randn(n, 6, generator=torch.Generator().manual_seed(seed)), dim=1)


def negatives_of(*views: Any, **options: Any) -> CurriculumNegatives:
    arguments = {"negatives_per_question": 4, "buckets": 1, "schedule": "fixed"} | options
    return CurriculumNegatives(ARTICLES, QUESTIONS, views=views, **arguments)


def test_an_object_alone_ranks() -> None:
    drawn = negatives_of(Last()).draw(0, 0.0)
    assert [drawn.of(row).tolist() for row in (0, 1)] == [[19, 18, 17, 16]] * 2


@pytest.mark.parametrize("ties", ["mid_rank", "permutation"])
def test_an_object_draws_what_its_name_draws(ties: str) -> None:
    named = negatives_of("tree", "sequence", ties=ties)
    own = negatives_of("tree", SequenceView(named.gold, CPU), ties=ties)
    for name, array in named.draw(0, 0.0).to_arrays().items():
        assert own.draw(0, 0.0).to_arrays()[name].tolist() == array.tolist()


def test_results_name_the_object() -> None:
    negatives = negatives_of("tree", Last(), negatives_per_question=12)
    drawn = negatives.draw(0, 0.0)
    assert negatives.view_names == ("tree", "last")
    assert list(negatives.tie_shares) == ["tree", "last"]
    assert list(statistics(drawn, None, negatives)["views"]) == ["tree", "last"]
    shown = examples(drawn, negatives, QUESTIONS)[0]["negatives"]
    assert {each["view"] for each in shown} == {"tree", "last"}


def test_every_dynamic_view_is_given_the_vectors_of_each_draw() -> None:
    own = Dot()
    assert isinstance(own, DynamicView)
    second = SemanticView(len(QUESTIONS), len(ARTICLES), CPU)
    second.name = "second"
    negatives = negatives_of("semantic", second, own, "tree")
    assert negatives.needs_vectors
    with pytest.raises(ValueError, match=r"decides in semantic and second and dot: give draw\(\)"):
        negatives.draw(0, 0.0)
    for epoch in (0, 1):
        questions, articles = unit(2, epoch), unit(20, 9 - epoch)
        negatives.draw(epoch, 0.0, questions=questions, articles=articles)
        assert torch.equal(own.given[0], questions) and torch.equal(own.given[1], articles)
        near = second.difficulty(np.arange(2))
        torch.testing.assert_close(near, questions @ articles.T)
    assert not negatives_of(own, negatives_per_question=0, schedule="curriculum").needs_vectors
    assert not negatives_of(Last()).needs_vectors


class Nameless:
    difficulty = Last.difficulty


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([Last], "views: <class .*Last'> is no view. Give a name, or an object with a `name`"),
        ([Nameless()], "Nameless object .* is no view"),
        ([3], "views: 3 is no view"),
        ([Last(), Last()], "views: last, last names one twice"),
        (["tree", Last("tree")], "views: tree, tree names one twice"),
    ],
)
def test_what_is_no_view_of_its_own_is_refused(views: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        negatives_of(*views)
    with pytest.raises(ValueError, match="views must be a list or another sequence"):
        CurriculumNegatives(ARTICLES, QUESTIONS, views=Last())  # type: ignore[arg-type]


def test_the_guides_view_runs() -> None:
    found = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in found if "class LengthView" in each)
    names: dict[str, Any] = {}
    exec(compile(example, str(GUIDE), "exec"), names)
    drawn, negatives = names["drawn"], names["negatives"]
    assert negatives.view_names == ("tree", "sequence", "length")
    assert len(drawn.articles) == 8 * negatives.gold.n_questions
