import re
from dataclasses import fields
from typing import Any

import pytest

from ui.texts import article, law, picture, refusals

ALL = [law.TEXTS, article.TEXTS, refusals.TEXTS, picture.TEXTS]


@pytest.mark.parametrize("texts", ALL, ids=["law", "article", "refusals", "picture"])
def test_both_languages_put_the_same_in(texts: Any):
    def put_in(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(put_in, value))
        return sorted(re.findall(r"\{\w+\}", value)) if isinstance(value, str) else None

    for each in fields(texts["en"]):
        one, other = (getattr(texts[language], each.name) for language in ("en", "fr"))
        assert put_in(one) == put_in(other), each.name


@pytest.mark.parametrize("texts", ALL, ids=["law", "article", "refusals", "picture"])
def test_french_has_its_spaces(texts: Any):
    for each in fields(texts["fr"]):
        value = getattr(texts["fr"], each.name)
        for text in value if isinstance(value, tuple) else [value]:
            if isinstance(text, str):
                assert not re.search(r"(?<!\u00a0)[;:?!»](?:\s|$)|«(?!\u00a0)", text), each.name


def test_french_counts_none_as_one():
    words = picture.TEXTS["fr"]
    assert [words.counted(n, words.articles) for n in (0, 1, 2)] == [
        "0 article",
        "1 article",
        "2 articles",
    ]
