"""What is drawn, what never is, and that a seed decides it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from components.statutes import Article, LegislativeTree, Question, StatuteCorpus, read_questions
from components.statutes.metrics import write_trec_run
from training.negatives import sampling
from training.negatives.sampling import CurriculumNegatives
from training.negatives.statistics import statistics
from training.negatives.views.bm25 import BM25View

REPOSITORY = Path(__file__).resolve().parents[3]
STATIC = ("tree", "sequence", "bm25")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def aldermere() -> tuple[StatuteCorpus, list[Question]]:
    questions = [each for each in read_questions("aldermere", split="train") if each.answerable]
    return StatuteCorpus.read("aldermere"), questions


def vectors(n_questions: int, n_articles: int) -> dict[str, torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    return {
        "questions": normalize(torch.randn(n_questions, 24, generator=chance), dim=1),
        "articles": normalize(torch.randn(n_articles, 24, generator=chance), dim=1),
    }


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Article], list[Question]]:
    """Articles and questions that repeat each other's words; two laws."""
    words = st.sampled_from(["rent due", "Rent  DUE", "notice", "repair", "wage", "court", "sale"])
    articles = [
        Article(f"a{n}", f"Law {n % 2}", str(n), (f"Part {n % 3}",), text, "en")
        for n, text in enumerate(draw(st.lists(words, min_size=4, max_size=16)))
    ]
    ids = st.lists(st.sampled_from([each.id for each in articles]), min_size=1, max_size=2)
    asked = draw(st.lists(st.tuples(words, ids.map(tuple)), min_size=1, max_size=5))
    questions = [Question(f"q{n}", text, own) for n, (text, own) in enumerate(asked)]
    return articles, questions


@settings(max_examples=150, deadline=None)
@given(
    cases(),
    st.sampled_from([("tree", "sequence", "semantic"), ("semantic",), STATIC, ()]),
    st.sampled_from(["curriculum", "constant", "reversed", "fixed"]),
    st.sampled_from(["mid_rank", "permutation"]),
    st.integers(1, 6),
    st.integers(0, 5),
    st.floats(0, 0.999),
)
def test_no_positive_nor_its_twin_is_ever_drawn(case, views, schedule, ties, buckets, n, progress):
    articles, questions = case
    options: dict[str, Any] = {"views": views, "negatives_per_question": n, "ties": ties}
    options |= {"schedule": schedule, "buckets": buckets} if views else {"buckets": 1}
    try:
        negatives = CurriculumNegatives(articles, questions, **options)
    except ValueError as error:
        # What is not refused here must work.
        refused = ("Ask for fewer", "answers every question", "no pair has a negative")
        assert any(each in str(error) for each in refused)
        return
    given = vectors(len(questions), len(articles)) if negatives.needs_vectors else {}
    drawn = negatives.draw(1, progress, **given)

    def same(one: str, other: str) -> bool:
        return one.lower().split() == other.lower().split()

    for row, question in enumerate(questions):
        gold = {p for other in questions if same(other.text, question.text) for p in other.relevant}
        chosen = [articles[position] for position in drawn.of(row)]
        assert len({article.id for article in chosen}) == len(chosen) == n
        for article in chosen:
            assert not any(same(article.text, articles[int(p[1:])].text) for p in gold)


@pytest.mark.parametrize("views", [("tree", "sequence", "semantic"), STATIC])
@pytest.mark.parametrize("ties", ["mid_rank", "permutation"])
def test_neither_block_nor_threads_change_what_is_drawn(aldermere, monkeypatch, views, ties):
    corpus, questions = aldermere
    given = vectors(len(questions), len(corpus)) if "semantic" in views else {}

    def drawn(cells: int, n_threads: int) -> list[list[int]]:
        monkeypatch.setattr(sampling, "BLOCK_CELLS", cells)
        torch.set_num_threads(n_threads)
        negatives = CurriculumNegatives(corpus, questions, views=views, ties=ties)
        arrays = negatives.draw(2, 0.4, **given).to_arrays()
        return [arrays[name].tolist() for name in ("articles", "buckets", "views")]

    whole = drawn(1 << 30, 1)
    assert drawn(1, 1) == drawn(len(corpus) * 7, 2) == whole


def test_the_processs_hash_seed_changes_nothing():
    program = """
import json, sys
from components.statutes import StatuteCorpus, read_questions
from training.negatives import CurriculumNegatives
questions = [each for each in read_questions("aldermere", split="train") if each.answerable]
negatives = CurriculumNegatives(
    StatuteCorpus.read("aldermere"), questions, views=("tree", "sequence", "bm25"), seed=5
)
json.dump([negatives.draw(epoch, 0.5).articles.tolist() for epoch in (0, 1)], sys.stdout)
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    first, second = json.loads(outputs[0])
    assert first != second, "another epoch, other draws"


def test_another_seed_draws_others(aldermere):
    corpus, questions = aldermere
    drawn = [
        CurriculumNegatives(corpus, questions, views=STATIC, seed=seed).draw(0, 0.0).articles
        for seed in (0, 1)
    ]
    assert np.isin(drawn[0], drawn[1]).mean() < 1
    assert (drawn[0] == drawn[1]).mean() < 0.2


def test_an_epochs_shares_are_the_schedules(aldermere):
    corpus, questions = aldermere
    negatives = CurriculumNegatives(corpus, questions, views=STATIC)
    n = 8 * len(questions)
    for progress, shares in ((0.0, (7, 2, 1)), (0.5, (1.5, 7, 1.5)), (0.99, (1, 2, 7))):
        counts = np.bincount(negatives.draw(0, progress).buckets, minlength=3)
        assert counts.tolist() == [n * share / 10 for share in shares], "680 divides evenly"


def test_bm25_fixed_takes_the_best_scored_negatives_in_every_epoch(aldermere):
    corpus, questions = aldermere
    negatives = CurriculumNegatives(corpus, questions, views=("bm25",), schedule="fixed")
    first, last = negatives.draw(0, 0.0), negatives.draw(9, 0.9)
    assert first.articles.tolist() == last.articles.tolist()
    scores = BM25View(corpus, questions, torch.device("cpu")).difficulty(np.arange(len(questions)))
    for row, excluded in enumerate(negatives.gold.excluded):
        scores[row, excluded] = -1
        best = scores[row].sort(descending=True).values[:8]
        assert scores[row, first.of(row)].tolist() == best.tolist()


def test_without_views_every_negative_is_drawn_sooner_or_later():
    articles = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(9)]
    questions = [Question("q0", "?", ("a0", "a4", "a8")), Question("q1", "!", ("a3",))]
    negatives = CurriculumNegatives(
        articles, questions, views=(), buckets=1, negatives_per_question=3
    )
    epochs = [negatives.draw(epoch, 0.0) for epoch in range(60)]
    met = [{p for each in epochs for p in each.of(row).tolist()} for row in (0, 1)]
    assert met == [{1, 2, 3, 5, 6, 7}, {0, 1, 2, 4, 5, 6, 7, 8}]
    assert set(epochs[0].views.tolist()) == {-1}
    assert negatives.tie_shares == {}


def test_the_view_of_a_negative_is_the_one_that_ranks_it_hardest():
    # a0 is the positive; a1 stands next to it, a5 is its only sibling.
    parts = ("A", "B", "B", "C", "C", "A")
    articles = [Article(f"a{n}", "Law", str(n), (p,), f"words {n}") for n, p in enumerate(parts)]
    negatives = CurriculumNegatives(
        articles,
        [Question("q0", "?", ("a0",))],
        views=("tree", "sequence"),
        negatives_per_question=5,
        buckets=1,
    )
    drawn = negatives.draw(0, 0.0)
    view_of = dict(zip(drawn.articles.tolist(), drawn.views.tolist(), strict=True))
    # Tree ranks: a5 1, the rest 3.5. Sequence ranks: a1 to a5 are 1 to 5.
    assert view_of == {5: 0, 1: 1, 2: 1, 3: 1, 4: 0}
    assert negatives.tie_shares == {"tree": 0.8, "sequence": 0.0}


def test_permuted_leaves_keep_the_shape_and_lose_the_nearness(aldermere):
    corpus, questions = aldermere

    def hardest(permuted: bool) -> tuple[CurriculumNegatives, Any]:
        negatives = CurriculumNegatives(
            corpus,
            questions,
            views=("tree", "sequence"),
            schedule="fixed",
            permute_tree=permuted,
        )
        drawn = negatives.draw(0, 0.0)
        return negatives, (drawn, statistics(drawn, None, negatives)["mean_tree_distance"])

    (_, (drawn, near)), (control, (permuted, far)) = hardest(False), hardest(True)
    assert permuted.articles.tolist() != drawn.articles.tolist()
    tree = LegislativeTree(corpus)
    average = np.mean([tree.min_distances(own).mean() for own in control.gold.positives])
    assert near < average / 2
    assert far == pytest.approx(average, rel=0.1), "as far as any article"


def test_real_law_static_and_dynamic(real_data: Callable[[str], Path]):
    folder = real_data("pdpa_en")
    corpus = StatuteCorpus.read(folder)
    questions = [each for each in read_questions(folder) if each.answerable]
    for views in (STATIC, ("tree", "sequence", "semantic")):
        negatives = CurriculumNegatives(corpus, questions, views=views)
        given = vectors(len(questions), len(corpus)) if negatives.needs_vectors else {}
        drawn = negatives.draw(0, 0.9, **given)
        pairs = zip(drawn.questions.tolist(), drawn.articles.tolist(), strict=True)
        assert not any(article in negatives.gold.excluded[row] for row, article in pairs)
        assert negatives.tie_shares["tree"] > 0.99, "a shallow tree has few distances"


@pytest.mark.parametrize(
    "option",
    [
        {"cross_law": "path"},
        {"k": 1},
        {"ties": "permutation"},
        {"bm25_k1": 0.1},
        {"bm25_b": 0.0},
        {"text_rule": "text"},
        {"seed": 1},
        {"permute_tree": True},
    ],
)
def test_every_option_reaches_the_ranking(aldermere, option):
    # No chance in what "fixed" takes: other articles come from another ranking alone.
    first, other = (
        CurriculumNegatives(
            *aldermere, views=STATIC, schedule="fixed", negatives_per_question=40, **options
        ).draw(0, 0.0)
        for options in ({}, option)
    )
    assert first.articles.tolist() != other.articles.tolist()


def test_a_run_file_ranks(aldermere, tmp_path):
    corpus, questions = aldermere
    negatives = CurriculumNegatives(corpus, questions, views=("bm25",), schedule="fixed")
    by_bm25 = negatives.draw(0, 0.0)
    ids = negatives.gold.article_ids
    run = {each.id: [ids[p] for p in by_bm25.of(row)] for row, each in enumerate(questions)}
    write_trec_run(tmp_path / "bm25.run", run, "bm25")
    again = CurriculumNegatives(
        corpus, questions, views=("run",), schedule="fixed", run=tmp_path / "bm25.run"
    )
    assert again.draw(0, 0.0).articles.tolist() == by_bm25.articles.tolist()


def test_in_batch_only_draws_nothing_and_needs_no_vectors(aldermere):
    negatives = CurriculumNegatives(*aldermere, negatives_per_question=0)
    assert not negatives.needs_vectors
    drawn = negatives.draw(0, 0.0)
    assert len(drawn.articles) == 0
    assert drawn.starts.tolist() == [0] * (len(aldermere[1]) + 1)


def test_the_semantic_view_asks_for_vectors(aldermere):
    negatives = CurriculumNegatives(*aldermere)
    assert negatives.needs_vectors
    with pytest.raises(ValueError, match=r"give draw\(\) the vectors"):
        negatives.draw(0, 0.0)
    given = vectors(len(aldermere[1]), len(aldermere[0]))
    with pytest.raises(ValueError, match="articles must be vectors in a tensor, not ndarray"):
        negatives.draw(0, 0.0, questions=given["questions"], articles=given["articles"].numpy())


def test_phases_are_told(aldermere):
    negatives = CurriculumNegatives(*aldermere, views=STATIC)
    assert [negatives.phase(progress) for progress in (0.0, 0.33, 0.34, 0.99)] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"views": ("tree", "moon")},
            "views: no view is called 'moon'; choose among bm25, run, sem",
        ),
        ({"views": ("tree", "tree")}, "views: tree, tree names one twice"),
        ({"views": "tree"}, "views must be a list or another sequence, not 'tree'"),
        ({"views": {"tree", "bm25"}}, "views must be a list or another sequence, not {'bm25', "),
        ({"permute_tree": "no"}, "permute_tree must be True or False, not 'no'"),
        ({"seed": None}, "seed must be a whole number, not None"),
        ({"seed": -1}, "seed must be from 0 up, not -1"),
        ({"buckets": 7}, "buckets must be from 1 to 6, not 7"),
        ({"buckets": 0}, "buckets must be from 1 to 6, not 0"),
        ({"negatives_per_question": -1}, "negatives_per_question must be from 0 up, not -1"),
        ({"negatives_per_question": 2.5}, "negatives_per_question must be a whole number, not 2.5"),
        ({"buckets": 2.5}, "buckets must be a whole number, not 2.5"),
        ({"buckets": "3"}, "buckets must be a whole number, not '3'"),
        ({"k": 0}, "k must be from 1 up, not 0"),
        ({"k": "60"}, "k must be a number, not '60'"),
        ({"k": float("inf")}, "k must be from 1 up and finite, not inf"),
        ({"bm25_k1": float("inf")}, "bm25_k1 must be from 0 up and finite, not inf"),
        ({"bm25_k1": float("nan")}, "bm25_k1 must be from 0 up, not nan"),
        ({"bm25_b": 1.5}, "bm25_b must be from 0 to 1"),
        ({"schedule": "random"}, "schedule: 'random' is none; choose among curriculum"),
        ({"ties": "first"}, "ties: 'first' is none; choose among mid_rank, permutation"),
        ({"cross_law": "near"}, "cross_law: 'near' is none"),
        ({"views": ()}, "set buckets to 1"),
        ({"views": (), "buckets": 1, "schedule": "fixed"}, "set buckets to 1 and schedule"),
        ({"views": ("run",)}, "views: 'run' and a run file"),
        ({"run": "some.run"}, "views: 'run' and a run file"),
        ({"share_of": "bucket", "schedule": "fixed"}, "'fixed' has none"),
        ({"candidates": 0}, "candidates must be from 1 up, not 0"),
        ({"candidates": 2.5}, "candidates must be a whole number, not 2.5"),
        ({"candidates": 5, "schedule": "fixed"}, "candidates is 5, but there is no ranking"),
        ({"candidates": 5, "views": (), "buckets": 1}, "candidates is 5, but there is no ranking"),
        (
            {"candidates": 5, "negatives_per_question": 2},
            r"buckets of question 'q1', of 5 candidates, holds 1. Ask for fewer, or more cand",
        ),
        ({"candidates": 5, "share_of": "bucket"}, "comes to less than one negative for 2 q"),
        ({"share_of": "bucket"}, "comes to less than one negative for 2 questions"),
        (
            {"negatives_per_question": 9},
            r"negatives_per_question is 9, but question 'q1' has only 8 of 10 articles",
        ),
        (
            {"negatives_per_question": 4},
            r"a bucket has to give up to 3, but one of the 3 buckets of question 'q1' holds 2",
        ),
    ],
)
def test_wrong_options_are_refused_when_it_is_made(options, message):
    articles = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(10)]
    questions = [Question("q0", "?", ("a0",)), Question("q1", "!", ("a1", "a2"))]
    with pytest.raises(ValueError, match=message):
        CurriculumNegatives(articles, questions, **options)


def test_data_without_order_or_length_is_refused():
    articles = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(10)]
    questions = [Question("q0", "?", ("a0",))]
    for wrong in ((each for each in articles), "aldermere", {each.id: each for each in articles}):
        with pytest.raises(ValueError, match=r"articles must be a list .* Give them in a list"):
            CurriculumNegatives(wrong, questions)
    with pytest.raises(ValueError, match=r"questions must be a list .* Give them in a list"):
        CurriculumNegatives(articles, set(questions))


@pytest.mark.parametrize("epoch", [-1, 1.5])
def test_an_epoch_that_cannot_be_is_refused(aldermere, epoch):
    negatives = CurriculumNegatives(*aldermere, views=STATIC)
    with pytest.raises(ValueError, match=f"epoch must be .*, not {epoch}"):
        negatives.draw(epoch, 0.0)


@pytest.mark.parametrize("n", [0, 8])
def test_a_law_whose_every_article_answers_every_question_is_refused(n):
    articles = [Article(f"a{number}", "Law", "1", (), "words") for number in range(2)]
    asked = [Question(f"q{number}", f"words {number}?", (f"a{number}",)) for number in range(2)]
    for law in (articles, articles[:1]):
        with pytest.raises(ValueError, match=rf"the {len(law)} articles answers every question"):
            CurriculumNegatives(law, asked[: len(law)], negatives_per_question=n)


def test_no_questions_are_refused():
    with pytest.raises(ValueError, match="no questions"):
        CurriculumNegatives([Article("a0", "Law", "1", (), "words")], [])
