"""Which places of the fused lists are drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from training.negatives.bucket_draws import BucketDraws
from training.negatives.gold import Gold
from training.negatives.options import NegativesOptions

OPTIONS = NegativesOptions(
    views=("tree",),
    negatives_per_question=8,
    buckets=3,
    schedule="curriculum",
    share_of="negatives",
    candidates=None,
    ties="mid_rank",
    k=60,
    cross_law="farther",
    bm25_k1=1.5,
    bm25_b=0.75,
    run=None,
    permute_tree=False,
    text_rule="headings_text",
    seed=0,
)


def gold(n_questions: int = 50, n_articles: int = 101) -> Gold:
    ids = tuple(f"q{n}" for n in range(n_questions))
    own = tuple(np.arange(1 + n % 3) for n in range(n_questions))
    return Gold(ids, tuple(f"a{n}" for n in range(n_articles)), own, own)


def test_places_lie_in_their_buckets_and_come_once():
    draws = BucketDraws(OPTIONS, gold())
    phases = draws.phases(np.linspace(0, 0.999, 50))
    counts = draws.counts(4, phases)
    for row, places in enumerate(draws.places(4, phases)):
        assert len(set(places.tolist())) == 8
        buckets = draws.buckets_at(np.full(8, row), places)
        assert np.bincount(buckets, minlength=3).tolist() == counts[row].tolist()


def test_place_0_is_the_hardest_bucket_and_the_last_place_the_easiest():
    draws = BucketDraws(OPTIONS, gold(1, 10))
    assert draws.buckets_at(np.zeros(9, int), np.arange(9)).tolist() == [2, 2, 2, 1, 1, 1, 0, 0, 0]


def test_an_epoch_in_which_a_phase_ends_has_the_right_shares_on_both_sides():
    draws = BucketDraws(OPTIONS, gold())
    # The first 20 questions are met in the first phase, 30 in the second.
    progress = np.where(np.arange(50) < 20, 0.33, 0.34)
    counts = draws.counts(0, draws.phases(progress))
    assert counts[:20].sum(axis=0).tolist() == [112, 32, 16]
    assert counts[20:].sum(axis=0).tolist() == [36, 168, 36]


def test_every_place_of_a_bucket_is_drawn_alike():
    draws = BucketDraws(replace(OPTIONS, schedule="constant", buckets=1), gold(400, 41))
    drawn = Counter(np.concatenate(draws.places(0, draws.phases(0.5))).tolist())
    # 400 questions x 8 of 38 to 40 places: 80 to 84 each; the deviation is below 9.
    assert set(range(38)) <= set(drawn)
    assert all(45 < drawn[place] < 125 for place in range(38))


def test_of_candidates_only_the_hardest_are_cut_into_buckets_and_drawn():
    draws = BucketDraws(replace(OPTIONS, candidates=30), gold())
    phases = draws.phases(np.linspace(0, 0.999, 50))
    counts, drawn = draws.counts(4, phases), draws.places(4, phases)
    for row, places in enumerate(drawn):
        by_hand = [np.count_nonzero((places // 10) == third) for third in (2, 1, 0)]
        assert by_hand == counts[row].tolist()
        assert draws.buckets_at(np.full(8, row), places).tolist() == (2 - places // 10).tolist()
    assert set(np.concatenate(drawn).tolist()) == set(range(30))


def test_candidates_beyond_a_list_are_the_whole_of_it():
    questions = gold(6, 20)
    phases = BucketDraws(OPTIONS, questions).phases(0.5)
    whole, given = (
        BucketDraws(replace(OPTIONS, candidates=candidates), questions).places(0, phases)
        for candidates in (None, 19)
    )
    assert [each.tolist() for each in whole] == [each.tolist() for each in given]


def test_fixed_takes_the_first_places_in_every_epoch():
    draws = BucketDraws(replace(OPTIONS, schedule="fixed"), gold(2))
    for epoch, progress in ((0, 0.0), (3, 0.9)):
        places = draws.places(epoch, draws.phases(progress))
        assert [each.tolist() for each in places] == [list(range(8))] * 2


def test_a_questions_places_depend_on_seed_epoch_and_question_alone():
    options = replace(OPTIONS, buckets=1)

    def places(seed: int, epoch: int, n_questions: int, row: int) -> list[int]:
        draws = BucketDraws(replace(options, seed=seed), gold(n_questions))
        return draws.places(epoch, draws.phases(0.0))[row].tolist()

    assert places(0, 0, 50, 7) == places(0, 0, 8, 7)
    others = [places(1, 0, 50, 7), places(0, 1, 50, 7), places(0, 0, 50, 10)]
    assert places(0, 0, 50, 7) not in others


def test_percentages_of_buckets_ignore_the_number_of_negatives():
    options = replace(OPTIONS, share_of="bucket", negatives_per_question=1)
    draws = BucketDraws(options, gold(4, 3003))
    lengths = [len(each) for each in draws.places(0, draws.phases(0.0))]
    # About 1,000 articles a bucket: .7% + .2% + .1% of it
    assert sum(lengths) == 40
    assert set(lengths) <= {9, 10, 11}


@pytest.mark.parametrize("progress", [1.0, -0.1, float("nan"), np.zeros(3), np.zeros((50, 1))])
def test_progress_out_of_range_or_of_another_number_is_refused(progress):
    with pytest.raises(ValueError, match="progress must be"):
        BucketDraws(OPTIONS, gold()).phases(progress)
