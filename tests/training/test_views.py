"""Views of difficulty: their ranks, how these are fused, and views of your own."""

from __future__ import annotations

import hashlib
import math
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn.functional import normalize
from tree_distance import tree_distances

from components.statutes import (
    Article,
    LegislativeTree,
    Question,
)
from training.negatives import views
from training.negatives.curriculum import CurriculumSettings, DynamicView
from training.negatives.gold import Gold
from training.negatives.sampling import (
    CurriculumNegatives,
    FusedRanking,
    TieKeys,
    mid_ranks,
    permutation_ranks,
)
from training.negatives.views import RunView, SemanticView, SequenceView, TreeView

# Ranks within a view


@st.composite
def blocks(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Few values, so that ties abound; any number excluded, also all."""
    n_rows, n = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    size = {"min_size": n_rows * n, "max_size": n_rows * n}
    values = draw(st.lists(st.sampled_from([-7.0, -2.0, 0.0, 0.1, 5.0]), **size))
    excluded = draw(st.lists(st.booleans(), **size))
    return torch.tensor(values).view(n_rows, n), torch.tensor(excluded).view(n_rows, n)


def looped(row: list[float], excluded: list[bool]) -> list[float]:
    """A negative's mid-rank: those harder, and the middle of those as hard, itself included."""
    negatives = [value for value, out in zip(row, excluded, strict=True) if not out]
    ranks = []
    for value, out in zip(row, excluded, strict=True):
        harder = sum(other > value for other in negatives)
        as_hard = sum(other == value for other in negatives)
        ranks.append(math.inf if out else harder + (as_hard + 1) / 2)
    return ranks


@given(blocks())
def test_mid_ranks_are_those_of_plain_loops(block):
    difficulty, excluded = block
    expected = [looped(*row) for row in zip(difficulty.tolist(), excluded.tolist(), strict=True)]
    assert mid_ranks(difficulty, excluded).tolist() == expected


@given(blocks(), st.randoms(use_true_random=False))
def test_permutation_ranks_go_by_difficulty_then_by_key(block, chance):
    difficulty, excluded = block
    keys = torch.tensor([[chance.randrange(4) for _ in row] for row in difficulty.tolist()])
    ranks = permutation_ranks(difficulty, excluded, keys)
    for row in range(len(ranks)):
        negatives = (~excluded[row]).nonzero().flatten().tolist()
        by_rank = sorted(negatives, key=lambda n: ranks[row, n])
        assert [ranks[row, n] for n in by_rank] == list(range(1, len(negatives) + 1))
        order = [(-difficulty[row, n].item(), keys[row, n].item()) for n in by_rank]
        assert order == sorted(order)
        assert ranks[row][excluded[row]].tolist() == [math.inf] * int(excluded[row].sum())


# Keys that break ties

CPU = torch.device("cpu")
WORD = (1 << 64) - 1


def reference(seed: int, purpose: str, question: str, article: str) -> int:
    """SplitMix64's finaliser in unbounded integers; the result as a signed one."""

    def digest(text: str) -> int:
        raw = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return (int.from_bytes(raw, "little") - (1 << 63)) & WORD

    x = digest(f"{seed}/{purpose}/{question}") ^ digest(article)
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    x ^= x >> 31
    return x - (1 << 64) if x >> 63 else x


@given(st.integers(), st.lists(st.text(), min_size=1, max_size=3), st.lists(st.text(), min_size=1))
def test_keys_are_those_of_the_reference(seed, questions, articles):
    rows = np.arange(len(questions))
    keys = TieKeys(seed, questions, articles, CPU).of(rows, "fusion")
    expected = [[reference(seed, "fusion", q, a) for a in articles] for q in questions]
    assert keys.tolist() == expected


class Given:
    """A view whose difficulties are given."""

    def __init__(self, name: str, values: list[list[float]]) -> None:
        self.name = name
        self._values = torch.tensor(values)

    def difficulty(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return self._values[torch.from_numpy(rows)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Gold, list[Given]]:
    n_questions, n_articles = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    size = {"min_size": n_articles, "max_size": n_articles}
    out = st.lists(st.booleans(), **size).map(lambda row: np.flatnonzero(row))
    excluded = tuple(draw(st.lists(out, min_size=n_questions, max_size=n_questions)))
    gold = Gold(
        tuple(f"q{row}" for row in range(n_questions)),
        tuple(f"a{position}" for position in range(n_articles)),
        excluded,
        excluded,
    )
    row = st.lists(st.sampled_from([-9.0, -4.0, -2.0, 0.25, 0.5]), **size)
    table = st.lists(row, min_size=n_questions, max_size=n_questions)
    return gold, [Given(name, draw(table)) for name in ("one", "two", "three")]


def plain(gold: Gold, views: list[Given], row: int, keys: list[int], k: int) -> list[int]:
    """Negatives by summed reciprocal mid-ranks, hardest first."""
    out = [n in gold.excluded[row] for n in range(gold.n_articles)]
    ranks = [looped(view._values[row].tolist(), out) for view in views]
    score = [sum(1 / (k + each[n]) for each in ranks) for n in range(gold.n_articles)]
    return sorted(
        (n for n in range(gold.n_articles) if not out[n]), key=lambda n: (-score[n], keys[n])
    )


@given(cases(), st.sampled_from([1, 60]))
def test_the_order_is_that_of_plain_loops_for_any_block(case, k):
    gold, views = case
    ranking = FusedRanking(views, gold, CurriculumSettings(k=k, seed=3), CPU)
    rows = np.arange(gold.n_questions)
    keys = TieKeys(3, gold.question_ids, gold.article_ids, CPU).of(rows, "fusion").tolist()
    orders, ranks = ranking.of(rows)
    for row in rows.tolist():
        expected = plain(gold, views, row, keys[row], k)
        order = orders[row].tolist()
        assert order[: len(expected)] == expected
        assert sorted(order) == list(range(gold.n_articles))
        order_alone, ranks_alone = ranking.of(np.array([row]))
        assert order_alone[0].tolist() == order
        assert all(torch.equal(a[0], w[row]) for a, w in zip(ranks_alone, ranks, strict=True))


# The tree and the sequence


def inputs(gold: Gold, **others: Any) -> Any:
    return SimpleNamespace(gold=gold, device=CPU, **{"settings": CurriculumSettings(), **others})


def gold_of(n_articles: int, positives: list[list[int]]) -> Gold:
    own = tuple(np.array(sorted(set(each))) for each in positives)
    ids = tuple(f"q{row}" for row in range(len(own)))
    return Gold(ids, tuple(map(str, range(n_articles))), own, own)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Article], Gold]:
    """Few labels, so that headings repeat across laws, levels and divisions; laws interleave."""
    headings = st.lists(st.sampled_from(["A", "B"]), max_size=4).map(tuple)
    places = st.tuples(st.sampled_from(["Law 1", "Law 2", "Law 3"]), headings)
    articles = [
        Article(str(n), law, str(n), path, "-")
        for n, (law, path) in enumerate(draw(st.lists(places, min_size=1, max_size=12)))
    ]
    positions = st.lists(st.integers(0, len(articles) - 1), min_size=1, max_size=4)
    return articles, gold_of(len(articles), draw(st.lists(positions, min_size=1, max_size=4)))


@given(trees(), st.sampled_from(["farther", "path"]))
def test_distances_are_those_of_paths(case, cross_law):
    articles, gold = case
    tree = LegislativeTree(articles)
    settings, places = CurriculumSettings(cross_law=cross_law), np.arange(len(articles))
    view = TreeView(inputs(gold, tree=tree, places=places, settings=settings))
    got = -view.difficulty(np.arange(gold.n_questions)).numpy()
    for row, positives in enumerate(gold.positives):
        expected = tree_distances(tree, positives, cross_law).min(axis=0)
        assert got[row].tolist() == expected.tolist()


@given(trees(), st.randoms(use_true_random=False))
def test_permuted_leaves_stand_at_each_others_places(case, chance):
    articles, gold = case
    permutation = np.array(chance.sample(range(len(articles)), len(articles)))
    tree = LegislativeTree(articles)
    view = TreeView(inputs(gold, tree=tree, places=permutation))
    # Article i goes with the law and headings of article permutation[i].
    moved = LegislativeTree([articles[place] for place in permutation])
    got = -view.difficulty(np.arange(gold.n_questions)).numpy()
    for row, positives in enumerate(gold.positives):
        # Law indices differ, distances do not: "farther" adds the same in both trees.
        assert got[row].tolist() == tree_distances(moved, positives).min(axis=0).tolist()


@st.composite
def sequences(draw: st.DrawFn) -> Gold:
    n_articles = draw(st.integers(1, 15))
    positions = st.lists(st.integers(0, n_articles - 1), min_size=1, max_size=5)
    return gold_of(n_articles, draw(st.lists(positions, min_size=1, max_size=4)))


@given(sequences(), st.randoms(use_true_random=False), st.booleans())
def test_difficulty_is_minus_the_steps_to_the_nearest_positive(gold, chance, permuted):
    places = list(range(gold.n_articles))
    if permuted:
        chance.shuffle(places)
    view = SequenceView(inputs(gold, places=np.array(places)))
    rows = np.arange(gold.n_questions)[::-1].copy()
    expected = [
        [-min(abs(place - places[p]) for p in gold.positives[row].tolist()) for place in places]
        for row in rows
    ]
    assert view.difficulty(rows).tolist() == expected


# The semantic view

N_QUESTIONS, N_ARTICLES = 13, 301


def unit(n: int, dim: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(n, dim, generator=generator), dim=1)


def refreshed(dim: int = 768) -> SemanticView:
    view = SemanticView(inputs(gold_of(N_ARTICLES, [[0]] * N_QUESTIONS)))
    view.refresh(unit(N_QUESTIONS, dim, 0), unit(N_ARTICLES, dim, 1))
    return view


def all_of(view: SemanticView) -> torch.Tensor:
    return view.difficulty(np.arange(N_QUESTIONS))


def test_sums_are_exact_on_the_grid_so_no_order_of_summation_matters():
    def on_grid(vectors: torch.Tensor) -> list[list[Fraction]]:
        return [[Fraction(round(x * 2**26), 2**26) for x in row] for row in vectors.tolist()]

    questions, articles = on_grid(unit(N_QUESTIONS, 24, 0)), on_grid(unit(N_ARTICLES, 24, 1))
    expected = [
        [np.float32(float(sum(x * y for x, y in zip(q, a, strict=True)))) for a in articles]
        for q in questions
    ]
    assert all_of(refreshed(24)).tolist() == expected


@pytest.mark.parametrize(("rows", "articles", "n_threads"), [(5, 37, 1), (1, 1024, 2)])
def test_blocks_and_threads_do_not_change_a_bit(monkeypatch, rows, articles, n_threads):
    whole = all_of(refreshed())
    monkeypatch.setattr(views, "_ARTICLES_AT_A_TIME", articles)
    torch.set_num_threads(n_threads)
    try:
        view = refreshed()
        blocks = np.array_split(np.arange(N_QUESTIONS), range(rows, N_QUESTIONS, rows))
        assert torch.equal(torch.cat([view.difficulty(block) for block in blocks]), whole)
    finally:
        torch.set_num_threads(1)


# BM25 and runs


def test_the_score_orders_and_what_was_not_found_is_easiest_and_tied(tmp_path):
    run = tmp_path / "some.run"
    run.write_text(
        "q%200 Q0 c 1 -3.5 tag\nq1 Q0 a 1 9 tag\n\n"
        "q%200 Q0 a 2 1e30 tag\nq%200 Q0 e%20f 3 -3.5 tag\n"
    )
    own = (np.array([0]), np.array([1]))
    gold = Gold(("q 0", "q1"), ("a", "b", "c", "d%20", "e f"), own, own)
    view = RunView(inputs(gold, settings=CurriculumSettings(views=("run",), run_file=run)))
    assert view.difficulty(np.array([1, 0])).tolist() == [[1, 0, 0, 0, 0], [2, 0, 1, 0, 1]]


# Own views

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "own_trainer.md"
ARTICLES = [Article(f"a{n}", "Law", str(n), (f"Part {n // 4}",), f"words {n}") for n in range(20)]
QUESTIONS = [Question("q0", "?", ("a3",)), Question("q1", "!", ("a9", "a10"))]


class Last:
    """What stands later in the law is harder."""

    name = "last"

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


def negatives_of(*views: Any, **options: Any) -> CurriculumNegatives:
    arguments = {"negatives_per_question": 4, "buckets": 1, "schedule": "fixed"} | options
    return CurriculumNegatives(ARTICLES, QUESTIONS, views=views, **arguments)


def test_every_dynamic_view_is_given_the_vectors_of_each_draw():
    own = Dot()
    assert isinstance(own, DynamicView)
    second = SemanticView(inputs(gold_of(len(ARTICLES), [[0]] * len(QUESTIONS))))
    second.name = "second"
    negatives = negatives_of("semantic", second, own, "tree")
    assert negatives.needs_vectors
    with pytest.raises(ValueError, match="semantic and second and dot"):
        negatives.draw(0, 0.0)
    for epoch in (0, 1):
        questions, articles = unit(2, 6, epoch), unit(20, 6, 9 - epoch)
        negatives.draw(epoch, 0.0, questions=questions, articles=articles)
        assert torch.equal(own.given[0], questions) and torch.equal(own.given[1], articles)
        near = second.difficulty(np.arange(2))
        torch.testing.assert_close(near, questions @ articles.T)
    assert not negatives_of(own, negatives_per_question=0, schedule="curriculum").needs_vectors
    assert not negatives_of(Last()).needs_vectors


def test_the_guides_view_runs():
    found = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in found if "class LengthView" in each)
    names: dict[str, Any] = {}
    exec(compile(example, str(GUIDE), "exec"), names)
    drawn, negatives = names["drawn"], names["negatives"]
    assert negatives.view_names == ("tree", "sequence", "length")
    assert len(drawn.articles) == 8 * negatives.gold.n_questions
