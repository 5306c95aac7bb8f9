"""Learned fusion: its features against slow loops, its files, and what it refuses."""

from __future__ import annotations

import builtins
import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_distance import tree_distances

from components.models.folder import ModelError
from components.models.learned_fusion import (
    CANDIDATES,
    SCORE_FEATURES,
    STRUCTURE_FEATURES,
    Example,
    LearnedFusion,
    feature_names,
    features,
    learned_fusion_of,
)
from components.statutes.article import Article
from components.statutes.fusion import (
    DIVISION,
    LawArrays,
    RankedList,
    division_texts,
    fused_by_rank,
    fused_scores,
    weights_for,
)
from components.statutes.tree import LegislativeTree

MODEL = "0" * 64
WEIGHTS = {"bm25": 1.0, DIVISION: 0.35, "dense": 0.5}

# Two laws whose articles need not stand together, divisions up to three deep.
PLACES = st.lists(
    st.tuples(st.sampled_from("AB"), st.lists(st.sampled_from("xyz"), max_size=3)),
    min_size=1,
    max_size=25,
)


@st.composite
def laws_with_lists(draw: st.DrawFn) -> tuple[list[Article], dict[str, RankedList], Any]:
    places = draw(PLACES)
    articles = [
        Article(f"a{n}", law, str(n), tuple(headings), "w" * n)
        for n, (law, headings) in enumerate(places)
    ]
    row = st.sampled_from(range(len(places)))
    lists = {}
    for name in ("bm25", "dense"):
        found = draw(st.lists(row, unique=True))
        scores = draw(st.lists(st.integers(-3, 9), min_size=len(found), max_size=len(found)))
        ranked = np.array(sorted(scores, reverse=True), dtype=np.float32)
        lists[name] = RankedList.of(np.array(found, dtype=np.int64), ranked)
    candidates = np.array(draw(st.lists(row, min_size=1, unique=True)), dtype=np.int64)
    return articles, lists, candidates


def arrays(articles: Sequence[Article]) -> LawArrays:
    return LawArrays((each.law, each.headings, len(each.text)) for each in articles)


def slow_features(
    articles: Sequence[Article], lists: dict[str, RankedList], row: int, question: str, cover: float
) -> dict[str, float]:
    """The columns of one candidate, from the tree and plain loops."""
    tree = LegislativeTree(articles)

    def division(a: int) -> int:
        return tree.path(a)[-2]

    def parent(a: int) -> int:
        return tree.path(a)[-3] if len(tree.path(a)) > 2 else division(a)

    def law(a: int) -> int:
        return tree.path(a)[0]

    def best(scores: dict[int, float], others: list[int | None]) -> float:
        known = [scores[each] for each in others if each in scores]
        return max(known, default=math.nan)

    def step(a: int | None, way: str) -> int | None:
        return None if a is None else getattr(tree, way)(a)

    own_law = [a for a in range(len(articles)) if law(a) == law(row)]
    columns: dict[str, float] = {}
    for name, found in lists.items():
        order = found.rows.tolist()
        scores = dict(zip(order, found.scores.tolist(), strict=True))
        score = scores.get(row, math.nan)
        top = found.scores[0] if order else math.nan
        near = [step(row, "previous"), step(row, "next")]
        second = [step(near[0], "previous"), step(near[1], "next")]
        by = {
            "score": score,
            "log_rank": math.log(order.index(row) + 1) if row in order else math.nan,
            "share": score / top if top > 0 else math.nan,
            "gap": top - score,
            "best_in_division": best(scores, [a for a in order if division(a) == division(row)]),
            "best_in_parent": best(scores, [a for a in order if parent(a) == parent(row)]),
            "best_in_law": best(scores, [a for a in order if law(a) == law(row)]),
            "best_neighbour": best(scores, near),
            "best_second": best(scores, second),
            "among_first_in_division": sum(division(a) == division(row) for a in order[:50]),
            "among_first_in_law": sum(law(a) == law(row) for a in order[:50]),
        }
        if order:
            first = order[0]
            by["tree_distance"] = tree_distances(tree, [first])[0, row]
            by["sequence_distance"] = (
                abs(own_law.index(row) - own_law.index(first))
                if first in own_law
                else len(articles)
            )
        else:
            by = dict.fromkeys((*SCORE_FEATURES, *STRUCTURE_FEATURES), math.nan)
        columns |= {f"{name}.{each}": value for each, value in by.items()}
    return columns | {
        "depth": len(articles[row].headings) + 1,
        "siblings": len(tree.siblings(row)),
        "length": math.log1p(len(articles[row].text)),
        "question_length": math.log1p(len(question)),
        "coverage": cover,
    }


@settings(max_examples=60)
@given(laws_with_lists())
def test_features_equal_slow_loops(drawn: Any) -> None:
    articles, lists, candidates = drawn
    table = features(arrays(articles), lists, candidates, question="what?", coverage=0.25)
    names = feature_names(list(lists))
    assert table.shape == (len(candidates), len(names))
    for row, values in zip(candidates.tolist(), table, strict=True):
        expected = slow_features(articles, lists, row, "what?", 0.25)
        assert list(expected) == names
        np.testing.assert_allclose(values, list(expected.values()), rtol=1e-5, err_msg=f"{names}")


def test_divisions_that_repeat_the_list_by_words_are_not_searched():
    places = [("Flat", (f"Art {n}",)) for n in range(9)]
    places += [("Flat", ("Art 9",))] * 2 + [("Deep", ("A",))] * 3 + [("Deep", ("B",))]
    law = LawArrays((name, headings, 1) for name, headings in places)
    searched = np.isin(law.division, law.narrow_divisions)
    assert searched.tolist() == [False] * 9 + [True] * 6


@given(PLACES, st.data())
def test_divisions_are_spread_over_their_articles(places: Any, data: st.DataObject) -> None:
    law = arrays([Article("", name, "", tuple(h), "") for name, h in places])
    divisions = st.sampled_from(sorted(set(law.division.tolist())))
    found = np.array(data.draw(st.lists(divisions, unique=True)), dtype=np.int64)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(law), max_size=len(law))))
    scores = np.linspace(2, 1, len(found))
    spread = law.spread(found, scores, allowed)
    expected = [
        (row, rank)
        for rank, division in enumerate(found.tolist(), start=1)
        for row in range(len(law))
        if law.division[row] == division and allowed[row]
    ]
    assert list(zip(spread.rows.tolist(), spread.ranks.tolist(), strict=True)) == expected
    np.testing.assert_allclose(spread.scores, [scores[rank - 1] for _, rank in expected])


@given(laws_with_lists())
def test_fusing_by_rank_is_rank_fusion_of_ids(drawn: Any) -> None:
    articles, lists, _ = drawn
    weights = {"bm25": 1.0, "dense": 0.5}
    rows, scores = fused_by_rank(lists, weights, len(articles))
    expected = fused_scores([each.rows.tolist() for each in lists.values()], list(weights.values()))
    assert dict(zip(rows.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected)
    ordered = sorted(expected, key=lambda row: (-expected[row], row))
    assert rows.tolist() == ordered


def test_lists_by_words_count_less_where_little_is_covered() -> None:
    assert weights_for(WEIGHTS, 1.0) == WEIGHTS
    assert weights_for(WEIGHTS, 0.25) == {"bm25": 0.5, DIVISION: 0.175, "dense": 0.5}


def test_a_division_reads_as_its_headings_and_its_articles() -> None:
    places = [("Code", ["Book I", "Chapter 1"]), ("Code", []), ("Code", ["Book I", "Chapter 1"])]
    texts = ["One.", "Alone.", "Two."]
    law = LawArrays((name, headings, 0) for name, headings in places)
    articles = [(h, text, "en") for (_, h), text in zip(places, texts, strict=True)]
    found = {text: number for number, text, _ in division_texts(law, articles)}
    assert found.keys() == {"Book I Chapter 1 One. Two.", "Alone."}
    together, alone = found["Book I Chapter 1 One. Two."], found["Alone."]
    assert law.division.tolist() == [together, alone, together]


# The ranker


def examples(n: int = 60, seed: int = 0) -> list[Example]:
    """Questions whose answer is the candidate with the highest value in one column."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        table = rng.random((20, len(feature_names(list(WEIGHTS))))).astype(np.float32)
        table[rng.random(table.shape) < 0.1] = np.nan
        table[:, 3] = rng.random(20)
        made.append(Example(table, table[:, 3] >= np.sort(table[:, 3])[-2]))
    return made


@pytest.fixture(scope="module")
def fusion() -> LearnedFusion:
    return LearnedFusion.learn(examples(), WEIGHTS, seed=1)


@pytest.fixture
def saved(fusion: LearnedFusion, tmp_path: Path) -> Path:
    fusion.save(tmp_path, MODEL)
    return tmp_path


def test_it_learns_what_tells_the_answers(fusion: LearnedFusion) -> None:
    held_out = examples(30, seed=9)
    first = [each.relevant[np.argmax(fusion.scores(each.table))] for each in held_out]
    assert np.mean(first) > 0.8


def test_learning_is_deterministic(tmp_path: Path) -> None:
    written = []
    for n, seed in enumerate((1, 1, 2)):
        (tmp_path / str(n)).mkdir()
        LearnedFusion.learn(examples(), WEIGHTS, seed=seed).save(tmp_path / str(n), MODEL)
        written.append((tmp_path / str(n) / "booster.txt").read_bytes())
    assert written[0] == written[1] != written[2]


def test_a_saved_fusion_gives_the_same_scores(fusion: LearnedFusion, saved: Path) -> None:
    loaded = LearnedFusion.load(saved, lists=[*WEIGHTS, "graph"], model=MODEL)
    assert loaded.lists == fusion.lists and loaded.weights == fusion.weights
    for each in examples(5, seed=3):
        assert loaded.scores(each.table).tolist() == fusion.scores(each.table).tolist()


@given(laws_with_lists())
def test_candidates_are_ranked_by_their_scores(fusion: LearnedFusion, drawn: Any) -> None:
    articles, lists, candidates = drawn
    law = arrays(articles)
    given_lists = {"dense": lists["dense"], DIVISION: lists["bm25"], "bm25": lists["bm25"]}
    rows, scores = fusion.ranked(law, given_lists, candidates, question="?", coverage=1.0)
    own = {name: given_lists[name] for name in WEIGHTS}
    table = features(law, own, candidates, question="?", coverage=1.0)
    by_row = dict(zip(candidates.tolist(), fusion.scores(table).tolist(), strict=True))
    assert {row: by_row[row] for row in rows.tolist()} == by_row
    assert scores.tolist() == sorted(by_row.values(), reverse=True)


def test_no_candidate_and_too_many(fusion: LearnedFusion) -> None:
    law = LawArrays(("Code", [], 10) for _ in range(CANDIDATES + 5))
    lists = dict.fromkeys(WEIGHTS, RankedList.of(np.empty(0), np.empty(0)))
    asked: dict[str, Any] = {"question": "?", "coverage": 0.0}
    assert len(fusion.ranked(law, lists, np.empty(0, np.int64), **asked)[0]) == 0
    assert len(fusion.ranked(law, lists, np.arange(len(law)), **asked)[0]) == CANDIDATES


def rewritten(folder: Path, **fields: Any) -> None:
    place = folder / "fusion.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), **fields}))


def refused(folder: Path, named: str) -> None:
    with pytest.raises(ModelError, match=named):
        LearnedFusion.load(folder, lists=list(WEIGHTS), model=MODEL)


NAMES = feature_names(list(WEIGHTS))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"features": [each for each in NAMES if each != "dense.gap"]}, "dense.gap"),
        ({"features": [*NAMES, "height"]}, "height"),
        ({"lists": ["bm25", "graph"], "features": feature_names(["bm25", "graph"])}, "'graph'"),
        ({"weights": {"bm25": 1.0, "dense": 1.0}}, DIVISION),
        ({"model": "f" * 64}, "another model"),
        ({"format": 2}, "format"),
        ({"owner": "me"}, "owner"),
        ({"booster_sha256": "0" * 64}, "booster.txt"),
        (
            {
                "lists": ["dense", DIVISION, "bm25"],
                "features": feature_names(["dense", DIVISION, "bm25"]),
            },
            "columns are not the expected",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    saved: Path, fields: dict[str, Any], named: str
) -> None:
    rewritten(saved, **fields)
    refused(saved, named)


def test_a_corrupt_or_missing_booster_is_refused_before_lightgbm_reads_it(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightgbm.Booster", lambda **_: pytest.fail("was read"))
    text = (saved / "booster.txt").read_bytes()
    (saved / "booster.txt").write_bytes(text[:-40])
    refused(saved, r"booster\.txt")
    (saved / "booster.txt").unlink()
    refused(saved, r"booster\.txt")


def resized(text: str) -> str:
    """The text with `tree_sizes` corrected."""
    starts = [each.start() for each in re.finditer(r"^(Tree=|end of trees)", text, re.MULTILINE)]
    sizes = [str(end - start) for start, end in pairwise(starts)]
    return with_line("tree_sizes", lambda _: sizes)(text)


def with_line(name: str, changed: Callable[[list[str]], list[Any]]) -> Callable[[str], str]:
    """The text with other values in the first line of a name."""

    def change(text: str) -> str:
        line = re.search(rf"^{name}=(.*)$", text, re.MULTILINE)
        assert line
        values = " ".join(map(str, changed(line[1].split())))
        return text[: line.start(1)] + values + text[line.end(1) :]

    return change


CRAFTED: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "no booster": lambda _: "no booster",
    "a shorter tree": with_line("tree_sizes", lambda sizes: [int(sizes[0]) - 1, *sizes[1:]]),
    "fewer trees": with_line("tree_sizes", lambda sizes: sizes[:-1]),
    "a circle": with_line("left_child", lambda nodes: [0, *nodes[1:]]),
    "no such node": with_line("right_child", lambda nodes: [*nodes[:-1], 99]),
    "no such leaf": with_line("right_child", lambda nodes: [*nodes[:-1], -99]),
    "no such column": with_line("split_feature", lambda columns: [9_999, *columns[1:]]),
    "a leaf too few": with_line("leaf_value", lambda leaves: leaves[:-1]),
    "categories": with_line("num_cat", lambda _: [1]),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_trees_that_lead_nowhere_are_refused(saved: Path, name: str) -> None:
    text = (saved / "booster.txt").read_text()
    assert resized(text) == text
    changed = CRAFTED[name](text)
    if "tree" not in name and "Tree=" in changed:
        changed = resized(changed)
    (saved / "booster.txt").write_text(changed)
    rewritten(saved, booster_sha256=hashlib.sha256(changed.encode()).hexdigest())
    refused(saved, r"booster\.txt")


def test_too_few_questions_are_refused() -> None:
    none = Example(examples(1)[0].table, np.zeros(20, dtype=bool))
    with pytest.raises(ModelError, match="answers them: 1"):
        LearnedFusion.learn([examples(1)[0], none], WEIGHTS)


def test_without_openmp_the_package_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def failing(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file: No such file or directory")
        return imported(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", failing)
    with pytest.raises(ModelError, match="libgomp1") as refusal:
        LearnedFusion.load(saved, lists=list(WEIGHTS), model=MODEL)
    assert "\n" not in str(refusal.value)


def test_a_model_without_a_fusion_has_none(minilm: str) -> None:
    assert learned_fusion_of(minilm, lists=list(WEIGHTS), model=MODEL) is None
