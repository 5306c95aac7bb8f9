"""Comparing: which pipelines a store can serve, what the desk takes, what the page shows."""

import html
import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlencode

import pytest
from indexed import indexed
from law_files import article

from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import FOLDER
from pipelines.evaluation import Comparison, ComponentTime, PipelineResult, StageRanking, compare
from ui.compare import Compared, compared_html
from ui.compare import comparison as render_comparison


def found(
    pipeline: str,
    ids: list[str],
    stages: Mapping[str, Mapping[str, int]] | None = None,
    times: Mapping[str, float] | None = None,
    cut: int | None = None,
) -> PipelineResult:
    """What a pipeline found, made by hand."""
    told = [StageRanking(name, ranks, None) for name, ranks in (stages or {}).items()]
    timed = [ComponentTime(name, ms) for name, ms in (times or {}).items()]
    took = sum(time.ms for time in timed) + 2.0
    articles = [article(id_, number=id_, language="en") for id_ in ids]
    return PipelineResult(pipeline, articles, cut, told, timed, took)


@pytest.fixture(scope="session")
def comparison() -> Comparison:
    """Lexical and hybrid: 1 rises, 2 falls, 3 stays, 4 goes and 5 comes."""
    bm25 = {"2": 1, "1": 2, "3": 3, "4": 4}
    left = found("lexical", ["2", "1", "3", "4"], {"bm25": bm25}, {"bm25": 1.25, "fused": 0.5})
    stages = {"bm25": bm25, "dense": {"5": 1, "1": 2, "3": 40}}
    times = {"bm25": 1.0, "embedder": 10.0, "dense": 2.0, "fused": 0.75}
    return compare(left, found("hybrid", ["1", "2", "3", "5"], stages, times))


def test_a_file_of_ones_own_is_compared(tmp_path):
    store = indexed(tmp_path, [article(text="A deposit is owed.", language="en")])
    mine = tmp_path / "hybrid.yaml"
    mine.write_text((FOLDER / "lexical.yaml").read_text())
    compared = Compared(StatuteDocumentStore(str(store)), own=str(mine))
    # This store cannot serve "dense".
    assert compared.names == ("lexical", "hybrid", "hybrid.yaml")
    assert compared.defaults == ("lexical", "hybrid")
    both = compared.compare("deposit", "lexical", "hybrid.yaml")
    assert (both.left.pipeline, both.right.pipeline) == ("lexical", "hybrid.yaml")


NAMES = ("lexical", "dense", "hybrid")


class Compare:
    def __init__(self, comparison: Comparison) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.comparison = comparison

    def __call__(self, question: str, left: str, right: str) -> Comparison:
        self.asked.append((question, left, right))
        return self.comparison


def test_a_question_is_cleaned_asked_and_its_result_announced(comparison):
    compare = Compare(comparison)
    answered = partial(compared_html, compare, NAMES, "en", dict)

    def ask(question: str, left: str, right: str) -> tuple[str, str]:
        return answered(urlencode({"q": question, "left": left, "right": right}))

    status, results = ask("  my\x00 deposit\n ", "lexical", "hybrid")
    assert compare.asked == [("my  deposit", "lexical", "hybrid")]
    assert "3 of the first 4 in common" in status
    assert "3 of the first 4 in common" in results
    for link in (None, 1.5, ["a"], "", "q", "q=+%0A", "left=lexical&right=hybrid"):
        status, results = answered(link)
        assert "Enter a question or an article number." in status
        assert results == ""
    for name in ("", "x" * 10**6, "../hybrid"):
        for sides in ((name, "hybrid"), ("hybrid", name), (name, name)):
            status, results = ask("deposit", *sides)
            assert "This page is out of date." in status
            assert results == ""
    assert len(compare.asked) == 1


def lists(markup: str) -> list[list[str]]:
    """The text of each article, on the left and on the right."""
    sides = re.findall(r"<section.*?</section>", markup)
    return [
        [words(item) for item in re.findall(r'<li class="\w+">(.*?)</div></li>', side)]
        for side in sides
    ]


def words(markup: str) -> str:
    spaced = re.sub(r"</p>|</li>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", spaced)).split())


def test_each_article_says_how_it_moved_and_what_each_stage_did(comparison):
    left, right = lists(render_comparison("deposit", comparison, "en"))
    assert left == [
        "Place 1 Article 2 Housing Code Down 1, to place 2 on the right"
        " BM25: place 1 on both sides Dense, on the right only: not found",
        "Place 2 Article 1 Housing Code Up 1, to place 1 on the right"
        " BM25: place 2 on both sides Dense, on the right only: place 2",
        "Place 3 Article 3 Housing Code Same place on the right"
        " BM25: place 3 on both sides Dense, on the right only: place 40",
        "Place 4 Article 4 Housing Code Dropped out (not found on the right)"
        " BM25: place 4 on both sides Dense, on the right only: not found",
    ]
    assert right[0].startswith("Place 1 Article 1 Housing Code Up 1, from place 2 on the left")
    assert right[1].startswith("Place 2 Article 2 Housing Code Down 1, from place 1 on the left")
    assert right[2].startswith("Place 3 Article 3 Housing Code Same place on the left")
    assert right[3] == (
        "Place 4 Article 5 Housing Code New (not found on the left)"
        " BM25: not found on both sides Dense, on the right only: place 1"
    )


def test_places_below_the_lists_and_their_ends_are_reported():
    ids = [str(number) for number in range(1, 13)]
    left = found("lexical", ids)
    right = found("hybrid", ["12", *ids[:8], "20", "10"], cut=11)
    shown = lists(render_comparison("x", compare(left, right), "en"))
    assert "Dropped out (place 11 on the right)" in shown[0][9]
    assert "Dropped out (not in the first 11 on the right)" in shown[0][8]
    assert "New (place 12 on the left)" in shown[1][0]
    assert "New (not found on the left)" in shown[1][9]


def rows(markup: str) -> list[list[str]]:
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", markup)
    ]


def test_every_part_has_its_time_on_both_sides(comparison):
    absent = "–Not part of this pipeline"
    assert rows(render_comparison("x", comparison, "en")) == [
        ["Stage", "Left: lexical", "Right: hybrid"],
        ["BM25", "1.2", "1.0"],
        ["embedder", absent, "10.0"],
        ["Dense", absent, "2.0"],
        ["Fusion", "0.5", "0.8"],
        ["Everything else", "2.0", "2.0"],
        ["Total", "3.8", "15.8"],
    ]
