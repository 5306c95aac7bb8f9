"""Proposed lay words: found from answered questions, and read by the index as they are."""

from __future__ import annotations

import json

import pytest

from components.statutes.lay_words import LayWords, phrases_by_said, read_lay_words
from training.lay_words import main

LAW = {
    "evict": "The landlord ends the tenancy by notice of termination.",
    "deposit": "The tenant has the security returned within a month.",
    "roof": "The landlord keeps the roof tight and the walls dry.",
    "wages": "Wages are paid on the last day of the month.",
}
ASKED = {"evict": "they threw us from the flat {}", "roof": "rain comes into the flat {}"}


def lines(path, rows):
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def given(tmp_path):
    articles = [
        {
            "id": id_,
            "law": "Code",
            "number": id_,
            "headings": [],
            "text": 8 * text,
            "language": "en",
        }
        for id_, text in LAW.items()
    ]

    def write(n, split="train"):
        questions = [
            {"id": f"{id_}{place}", "text": text.format("abcdefgh"[place] * 4), "relevant": [id_]}
            for id_, text in (ASKED | {"wages": "when comes pay {}", "deposit": "money {}"}).items()
            for place in range(n)
        ]
        return [
            *("--corpus", lines(tmp_path / "articles.jsonl", articles)),
            *(
                "--questions",
                lines(tmp_path / "q.jsonl", [{**q, "split": split} for q in questions]),
            ),
            *("--output", str(tmp_path / "proposed.tsv")),
        ]

    return write


def test_words_that_predict_an_article_get_its_typical_words(given, tmp_path):
    assert main(given(8)) == 0
    entries = read_lay_words(tmp_path / "proposed.tsv", ["en"])
    said = {each.said[0]: set(each.law) for each in entries}
    assert said["threw"] & {"tenancy", "termination", "notice"}
    assert said["rain"] & {"roof", "walls", "dry", "tight"}
    assert not said["threw"] & said["rain"]
    words = LayWords(entries, ["en"], lambda term: True)
    assert set(phrases_by_said(words.expansions("He threw me out"))) == {"threw"}
    # An output is not overwritten.
    assert main(given(8)) == 2


@pytest.mark.parametrize(("n", "split"), [(4, "train"), (8, "dev")])
def test_too_few_questions_propose_nothing(given, tmp_path, capsys, n, split):
    assert main(given(n, split)) == 1
    assert "no word predicts" in capsys.readouterr().err
    assert not (tmp_path / "proposed.tsv").exists()
