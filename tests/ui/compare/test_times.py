"""The table of times: every part of both pipelines, what is left over, and all of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipelines.comparing import Comparison, Found, compare
from ui.compare.times import times


def rows(markup: str) -> list[list[str]]:
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", markup)
    ]


def test_every_part_has_its_time_on_both_sides(comparison: Comparison) -> None:
    absent = "–Not a part of this pipeline"
    assert rows(times(comparison, "en")) == [
        ["Stage", "Left: lexical", "Right: hybrid"],
        ["BM25", "1.2", "1.0"],
        ["embedder", absent, "10.0"],
        ["Dense", absent, "2.0"],
        ["Fusion", "0.5", "0.8"],
        ["The rest: copying, scheduling", "2.0", "2.0"],
        ["In all", "3.8", "15.8"],
    ]


def test_the_other_way_round_the_order_is_the_same(comparison: Comparison) -> None:
    turned = compare(comparison.right, comparison.left)
    names = [row[0] for row in rows(times(turned, "en"))]
    assert names == [row[0] for row in rows(times(comparison, "en"))]


def test_a_part_stands_where_its_own_pipeline_has_it(found: Callable[..., Found]) -> None:
    left = found("dense", [], laps={"citation": 1, "embedder": 1, "dense": 1, "fused": 1})
    right = found("lexical", [], laps={"bm25": 1, "citation": 1, "fused": 1})
    names = [row[0] for row in rows(times(compare(left, right), "en"))]
    assert names[1:-2] == ["BM25", "Citation", "embedder", "Dense", "Fusion"]


def test_the_longest_bar_is_the_longest_time(comparison: Comparison) -> None:
    widths = re.findall(r'style="width:(\d+)%"', times(comparison, "en"))
    assert [int(width) for width in widths] == [12, 10, 100, 20, 5, 8, 20, 20]


def test_what_is_left_over_may_be_the_longest(found: Callable[..., Found]) -> None:
    side = found("a", [], laps={"bm25": 1.0})
    widths = re.findall(r'style="width:(\d+)%"', times(compare(side, side), "en"))
    assert widths == ["50", "50", "100", "100"]


def test_no_time_at_all_is_a_table_too(found: Callable[..., Found]) -> None:
    side = Found("a", [], None, [], [], 0.0)
    assert rows(times(compare(side, side), "en"))[-1] == ["In all", "0.0", "0.0"]


def test_heads_are_announced_and_figures_are_in_the_language(comparison: Comparison) -> None:
    markup = times(comparison, "fr")
    assert "<caption>Durée de chaque étape" in markup
    assert markup.count('scope="col"') == 3
    assert markup.count('scope="row"') == 6
    assert rows(markup)[1] == ["BM25", "1,2", "1,0"]
