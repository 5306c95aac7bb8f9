"""A picture in other words."""

import re
from dataclasses import fields
from datetime import date
from typing import Any
from xml.etree import ElementTree

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.neighbourhood import Neighbourhood, neighbourhood
from pipelines.tree_view.picture import described, draw_picture
from pipelines.tree_view.wording import ENGLISH, Wording


def cyrillic() -> Wording:
    """Every text as one Cyrillic letter and what is put in."""

    def rewritten(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(rewritten, value))
        return "ж" + " ".join(re.findall(r"\{\w+\}", value)) if isinstance(value, str) else value

    given = {each.name: rewritten(getattr(ENGLISH, each.name)) for each in fields(Wording)}
    return Wording(**{**given, "lang": "ru", "number": str})


def chinese_place() -> Neighbourhood:
    """An article among twenty, of which all say something in a picture."""
    law = [
        Article(
            f"条{n}", "民法典", f"第{n}条", ("第一编", f"第{min(n, 24) // 23}章"), f"依照第5条。{n}"
        )
        for n in range(1, 31)
    ]
    days = {"valid_from": date(2020, 1, 1), "valid_to": date(2030, 1, 1)}
    law[21] = Article("条22", "民法典", "第22条", ("第一编", "第0章"), "依照第1条。", "zh", **days)
    corpus = StatuteCorpus(law)
    return neighbourhood(corpus, corpus.position("条22"))


def test_nothing_english_is_left_in_a_picture_in_other_words():
    place = chinese_place()
    attention = Attention(0.2, 0.2, 0.2, 0.2, {each.id: 0.1 for each in place.cites}, {})
    drawn = draw_picture(place, attention, "注", cyrillic())
    picture = ElementTree.fromstring(drawn)
    style = picture.find("{http://www.w3.org/2000/svg}style")
    assert style is not None
    picture.remove(style)
    said = [text for text in picture.itertext() if text.strip()]
    assert len(said) > 30
    assert not [text for text in said if re.search(r"[A-Za-z]", text)]
    assert sum("ж" in text for text in said) > 15
    assert picture.get("lang") == "ru"


def test_what_is_heard_is_in_the_same_words():
    assert not re.search(r"[A-Za-z]", described(chinese_place(), None, "", cyrillic()))


def test_no_note_leaves_no_gap():
    place = chinese_place()
    with_note = ElementTree.fromstring(draw_picture(place, None, "注"))
    without = ElementTree.fromstring(draw_picture(place, None, ""))
    assert float(without.get("height", 0)) < float(with_note.get("height", 0))
    assert not described(place, None, "").endswith(" ")


def test_numbers_choose_the_form_of_a_noun():
    assert [ENGLISH.counted(n, ENGLISH.articles) for n in (0, 1, 2, 1200)] == [
        "0 articles",
        "1 article",
        "2 articles",
        "1,200 articles",
    ]
