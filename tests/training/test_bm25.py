"""training.bm25_table: every variant of BM25 against rank-bm25 itself."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import Article, Question
from components.statutes.significance import bootstrap_interval
from training.bm25_table import VARIANTS, CountedLaw, Variant, main
from training.command_line import DONE, WRONG_USE

WORDS = ["rent", "notice", "repair", "court", "wage", "seller", "1382"]


def law(texts: list[str], language: str = "en") -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), (), text, language) for n, text in enumerate(texts)]


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a0",)) for n, text in enumerate(texts)]


def counted(articles: list[Article], questions: list[Question]) -> CountedLaw:
    return CountedLaw(articles, questions, terms="lower_cased", text_rule="text")


def check(variant: Variant, articles: list[str], questions: list[str], depth: int) -> None:
    """Rankings go down in the oracle's scores and hold the best of what it does not score 0."""
    documents = [text.split() for text in articles]
    oracle = variant.kind(documents, k1=variant.k1, b=variant.b)
    # BM25Plus lifts every article by the same; less that, only what shares a word has a score.
    plain = variant.kind(documents, k1=variant.k1, b=variant.b)
    plain.delta = 0
    found = counted(law(articles), asked(questions)).rankings(variant, depth)
    for question, ranking in zip(questions, found, strict=True):
        scores = oracle.get_scores(question.split())
        known = np.flatnonzero(plain.get_scores(question.split()))
        assert set(ranking.tolist()) <= set(known.tolist())
        assert len(set(ranking.tolist())) == len(ranking) == min(depth, len(known))
        best = np.sort(scores[known])[::-1][:depth]
        np.testing.assert_allclose(scores[ranking], best, rtol=1e-9, atol=1e-9)


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@given(
    st.lists(texts, min_size=1, max_size=9),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from(VARIANTS),
    st.sampled_from([1, 3, 90]),
)
def test_rankings_are_rank_bm25s(passages, sought, variant, depth):
    check(variant, passages, sought, depth)


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[-1]])
def test_equal_scores_stand_in_the_order_of_the_law(variant):
    articles = law(["wage"] + ["rent"] * 60 + ["seller"] * 100)
    ranking = counted(articles, asked(["rent wage"])).rankings(variant, 40)[0]
    assert ranking.tolist() == list(range(40))


def test_words_are_lower_cased_and_stand_as_they_are():
    articles = law(["The RENTS.", "rent", unicodedata.normalize("NFD", "Má")], "en")
    found = counted(articles, asked(["rents", "Rent", "má", "ma"])).rankings(VARIANTS[-1], 90)
    assert [ranking.tolist() for ranking in found] == [[0], [1], [2], []]


def test_articles_without_any_word_are_refused():
    with pytest.raises(ValueError, match="no article of the corpus has a word"):
        counted(law(["§ --"]), asked(["rent"]))


# The command


def flags(law: Path, **fields: Any) -> list[str]:
    values = {"corpus": law / "articles.jsonl", "questions": law / "questions.jsonl", **fields}
    return [part for name, value in values.items() for part in (f"--{name}", f"{value}")]


@pytest.fixture
def written(write_law: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """`written(texts, questions)`: a law of these texts; questions as (words, relevant, split)."""

    def law(texts: list[str], questions: list[tuple[str, list[str], str]]) -> Path:
        articles = [
            {"id": f"a{n}", "law": "L", "number": f"{n}", "headings": [], "text": text}
            for n, text in enumerate(texts)
        ]
        asked = [
            {"id": f"q{n}", "text": words, "relevant": relevant, "split": split}
            for n, (words, relevant, split) in enumerate(questions)
        ]
        return write_law(tmp_path / "written", articles, asked)

    return law


def test_the_table_and_the_file_say_the_same(written, tmp_path, capsys):
    # "rent" finds a0, then a1; nothing is found for "custody", and test questions do not count.
    law = written(
        ["rent rent", "rent and wage", "the wage of sellers", "court", "law"],
        [
            ("rent", ["a1"], "dev"),
            ("court", ["a3"], "dev"),
            ("custody", ["a0"], "dev"),
            ("wage", ["a0"], "test"),
        ],
    )
    output = tmp_path / "new" / "table.json"
    assert main(flags(law, output=output)) == DONE
    printed = capsys.readouterr().out
    kept = json.loads(output.read_text(encoding="utf-8"))
    assert (kept["n_questions"], kept["n_articles"], kept["split"]) == (3, 5, "dev")
    assert len(kept["rows"]) == 11
    okapi = kept["rows"][0]
    assert okapi["Exist@90"] == {
        "mean": pytest.approx(2 / 3),
        "interval": list(bootstrap_interval([1.0, 1.0, 0.0])),
    }
    assert okapi["MRR@10"]["mean"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    low, high = okapi["MRR@10"]["interval"]
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert table[0] == "| BM25 | k1 | b | Exist@90 | MRR@10 |"
    exist, mrr = okapi["Exist@90"], f"0.500 [{low:.3f}, {high:.3f}]"
    assert table[2] == (
        f"| BM25Okapi | 1.5 | 0.75 | 0.667 [{exist['interval'][0]:.3f}, "
        f"{exist['interval'][1]:.3f}] | {mrr} |"
    )
    assert table[4].startswith("| BM25Plus | 0.8 | 0 |") and len(table) == 13
    assert len({line.count("|") for line in table}) == 1
    assert "3 questions of the split 'dev', 5 articles, lower-cased words" in printed


def test_a_grid_is_a_table_a_file_and_a_heat_map(written, tmp_path, capsys):
    # Without regard to length, 200 articles with "rent" twice hide the one with it once.
    texts = [*(["rent rent " + "wage " * 40] * 210), "rent", *(["court"] * 300)]
    law = written(texts, [("rent", ["a210"], "dev")])
    assert main([*flags(law), "--grid", "true", "--output", str(tmp_path / "heat")]) == DONE
    printed = capsys.readouterr().out
    kept = json.loads((tmp_path / "heat").read_text(encoding="utf-8"))
    found = {(row["k1"], row["b"]): row["R@200"]["mean"] for row in kept["rows"]}
    assert len(found) == 8 * 11
    assert found[1.5, 0.0] == 0 and found[1.5, 0.7] == 1
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 8 and {line.count("|") for line in table} == {13}
    assert "**1.000**" in printed
    assert {file.name for file in tmp_path.glob("heat*")} == {"heat", "heat.png", "heat.svg"}


def test_vietnamese_words_are_whole():
    pytest.importorskip("pyvi", reason="pyvi is in the extra `vi`")
    articles = law(["Hợp đồng lao động", "đồng hồ", "lao xuống"], "vi-VN")
    found = counted(articles, asked(["hợp đồng", "lao động"])).rankings(VARIANTS[1], 90)
    assert [ranking.tolist() for ranking in found] == [[0], [0]]


def test_a_split_that_is_not_there_is_named(small_law, capsys):
    assert main(flags(small_law, split="test")) == WRONG_USE
    said = capsys.readouterr().err
    assert "no answerable question of the split 'test'" in said
    assert "dev, train" in said
