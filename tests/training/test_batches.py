"""Which articles a step encodes, and who is whose negative: against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.statutes import Article, Question
from training.batches import epoch_order, first_steps, make_batch, question_ids, steps_in_epoch
from training.negatives.drawn import DrawnNegatives
from training.negatives.gold import Gold
from training.negatives.sampling import CurriculumNegatives

THOROUGH = settings(max_examples=150, deadline=None)
TEXTS = ["rent due", "Rent  due", "notice", "NOTICE", "repair", "wages", "leave"]


def words(text: str) -> str:
    return " ".join(text.casefold().split())


def law(texts) -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), (f"Part {n}",), text) for n, text in enumerate(texts)]


def asked(questions) -> list[Question]:
    return [
        Question(f"q{n}", text, tuple(f"a{position}" for position in relevant))
        for n, (text, relevant) in enumerate(questions)
    ]


def as_drawn(negatives) -> DrawnNegatives:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in negatives])])
    articles = np.array([n for each in negatives for n in each], dtype=np.int64)
    return DrawnNegatives(
        articles, starts, np.zeros(len(articles), np.int8), np.full(len(articles), -1, np.int8)
    )


@st.composite
def steps(draw: st.DrawFn):
    """A law and questions that repeat their words, drawn negatives, and some of the pairs."""
    articles = law(draw(st.lists(st.sampled_from(TEXTS), min_size=3, max_size=10)))
    positions = st.lists(st.integers(0, len(articles) - 1), min_size=1, max_size=3, unique=True)
    text = st.sampled_from(["Who pays?", "who  PAYS?", "Who evicts?", "Who repairs?"])
    questions = asked(draw(st.lists(st.tuples(text, positions.map(tuple)), min_size=1, max_size=5)))
    gold = Gold.of(articles, questions)
    negatives = []
    for excluded in gold.excluded:
        allowed = [n for n in range(len(articles)) if n not in excluded]
        negatives.append(
            draw(st.lists(st.sampled_from(allowed), max_size=3, unique=True)) if allowed else []
        )
    pairs = [(row, p) for row, own in enumerate(gold.positives) for p in own.tolist()]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=8, unique=True))
    return articles, questions, gold, negatives, np.array(chosen, dtype=np.int64)


def candidates_by_loops(articles, questions, negatives, pairs, in_batch) -> list[set[int]]:
    """Of each pair, the positions of its negatives."""
    listed = {p for _, p in pairs} | {n for question, _ in pairs for n in negatives[question]}
    found = []
    for question, _ in pairs:
        answers = {
            words(articles[int(article[1:])].text)
            for other in questions
            if words(other.text) == words(questions[question].text)
            for article in other.relevant
        }
        pool = listed if in_batch else set(negatives[question])
        found.append({n for n in pool if words(articles[n].text) not in answers})
    return found


@THOROUGH
@given(steps(), st.booleans())
def test_candidates_are_what_plain_loops_find(step, in_batch):
    articles, questions, gold, negatives, pairs = step
    batch = make_batch(pairs, as_drawn(negatives), gold, in_batch=in_batch)
    found = [set(batch.articles[row].tolist()) for row in batch.candidates]
    assert found == candidates_by_loops(articles, questions, negatives, pairs.tolist(), in_batch)


@THOROUGH
@given(steps(), st.booleans())
def test_no_answer_to_the_same_words_and_no_twin_of_one_is_ever_a_candidate(step, in_batch):
    articles, questions, gold, negatives, pairs = step
    batch = make_batch(pairs, as_drawn(negatives), gold, in_batch=in_batch)
    for (question, positive), row in zip(pairs.tolist(), batch.candidates, strict=True):
        same = [q for q in questions if words(q.text) == words(questions[question].text)]
        answers = {articles[int(a[1:])].text for q in same for a in q.relevant}
        assert f"a{positive}" in questions[question].relevant
        for candidate in batch.articles[row].tolist():
            assert words(articles[candidate].text) not in set(map(words, answers))


@THOROUGH
@given(steps())
def test_each_distinct_text_is_encoded_once_and_rows_point_back(step):
    _, _, gold, negatives, pairs = step
    batch = make_batch(pairs, as_drawn(negatives), gold, in_batch=True)
    listed = [p for _, p in pairs] + [n for q, _ in pairs.tolist() for n in negatives[q]]
    assert batch.articles.tolist() == sorted(set(listed))
    assert batch.questions.tolist() == sorted(set(pairs[:, 0].tolist()))
    assert batch.n_listed == len(listed)
    back = np.stack([batch.questions[batch.pairs[:, 0]], batch.articles[batch.pairs[:, 1]]], 1)
    assert back.tolist() == pairs.tolist()


def test_without_in_batch_only_a_question_s_own_negatives_count():
    articles = law(["a", "b", "c", "d", "e"])
    gold = Gold.of(articles, asked([("one", (0,)), ("two", (1,))]))
    batch = make_batch(np.array([[0, 0], [1, 1]]), as_drawn([[2, 3], [4]]), gold, in_batch=False)
    assert [batch.articles[row].tolist() for row in batch.candidates] == [[2, 3], [4]]
    batch = make_batch(np.array([[0, 0], [1, 1]]), as_drawn([[2, 3], [4]]), gold, in_batch=True)
    assert [batch.articles[row].tolist() for row in batch.candidates] == [
        [1, 2, 3, 4],
        [0, 2, 3, 4],
    ]


def test_a_real_draw_gives_no_wrong_negative(real_data):
    """The twins and repeated questions that real law has, over a whole epoch."""
    from training.data import TrainingData

    folder = real_data("pdpa_en")
    data = TrainingData.read(str(folder), str(folder), dev_share=0.2)
    negatives = CurriculumNegatives(data.corpus, data.train, views=("tree", "sequence"))
    order = epoch_order(len(data.pairs), seed=0, epoch=0)
    drawn = negatives.draw(0, 0.0)
    for start in range(0, len(order), 24):
        pairs = data.pairs[order[start : start + 24]]
        batch = make_batch(pairs, drawn, negatives.gold, in_batch=True)
        for (question, _), row in zip(pairs.tolist(), batch.candidates, strict=True):
            relevant = {
                a
                for q in data.train
                if words(q.text) == words(data.train[question].text)
                for a in q.relevant
            }
            texts = {words(data.corpus[data.corpus.position(a)].text) for a in relevant}
            for candidate in batch.articles[row].tolist():
                assert words(data.corpus[candidate].text) not in texts


@given(st.integers(1, 60), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_holds_every_pair_once_and_another_epoch_in_another_order(n_pairs, seed, epoch):
    order = epoch_order(n_pairs, seed=seed, epoch=epoch)
    assert sorted(order.tolist()) == list(range(n_pairs))
    assert np.array_equal(order, epoch_order(n_pairs, seed=seed, epoch=epoch))
    if n_pairs > 20:
        assert not np.array_equal(order, epoch_order(n_pairs, seed=seed, epoch=epoch + 1))
        assert not np.array_equal(order, epoch_order(n_pairs, seed=seed + 1, epoch=epoch))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 9))
def test_first_steps_are_the_batches_that_questions_first_stand_in(of_pairs, batch_size, seed):
    n_questions = max(of_pairs) + 1
    of_pairs = [*of_pairs, *range(n_questions)]
    pairs = np.array([[question, 0] for question in of_pairs])
    order = epoch_order(len(pairs), seed=seed, epoch=0)
    found = first_steps(pairs, order, batch_size, n_questions)
    steps_of = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    assert len(steps_of) == steps_in_epoch(len(pairs), batch_size)
    for question in range(n_questions):
        expected = next(
            n for n, rows in enumerate(steps_of) if question in [of_pairs[row] for row in rows]
        )
        assert found[question] == expected


@pytest.mark.parametrize(("n_pairs", "steps"), [(1, 1), (24, 1), (25, 2), (48, 2)])
def test_the_last_batch_of_an_epoch_may_be_short(n_pairs, steps):
    assert steps_in_epoch(n_pairs, 24) == steps


def test_a_batch_names_its_questions():
    gold = Gold.of(law(["a", "b", "c"]), asked([("one", (0,)), ("two", (1,)), ("three", (2,))]))
    batch = make_batch(np.array([[2, 2], [0, 0]]), as_drawn([[], [], []]), gold, in_batch=True)
    assert question_ids(batch, gold) == ["q0", "q2"]
