"""Proposed lay words: found from answered questions, and read by the index as they are."""

from __future__ import annotations

import pytest
from law_files import article, line, question, write

from components.statutes.lay_words import LayWords, phrases_by_said, read_lay_words
from training.lay_words import main

LAW = {
    "evict": "The landlord ends the tenancy by notice of termination.",
    "deposit": "The tenant has the security returned within a month.",
    "roof": "The landlord keeps the roof tight and the walls dry.",
    "wages": "Wages are paid on the last day of the month.",
}
ASKED = {
    "evict": "they threw us from the flat {}",
    "roof": "rain comes into the flat {}",
    "wages": "when comes pay {}",
    "deposit": "money {}",
}


@pytest.fixture
def given(tmp_path):
    articles = [article(id_, text=8 * text, language="en") for id_, text in LAW.items()]

    def flags(n, split="train"):
        questions = [
            question(f"{id_}{c}", text=text.format(c * 4), relevant=[id_], split=split)
            for id_, text in ASKED.items()
            for c in "abcdefgh"[:n]
        ]
        places = {
            "corpus": write(tmp_path / "articles.jsonl", *map(line, articles)),
            "questions": write(tmp_path / "q.jsonl", *map(line, questions)),
            "output": tmp_path / "proposed.tsv",
        }
        return [part for name, path in places.items() for part in (f"--{name}", str(path))]

    return flags


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
