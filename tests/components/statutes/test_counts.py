"""One law is no laws."""

from __future__ import annotations

from components.statutes.counts import articles_of_laws


def test_numbers_agree_with_their_nouns() -> None:
    assert articles_of_laws(315, 1) == "315 articles of 1 law"
    assert articles_of_laws(1, 1) == "1 article of 1 law"
    assert articles_of_laws(13_012, 40) == "13,012 articles of 40 laws"
