"""Fitting words into lines by estimated widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.tree_view.lettering import fitted, text_width

FRENCH = "Chapitre Ier : Dispositions générales relatives à l'adoption  et à ses effets"
CHINESE = "检疫传染病疫情发生后，疫区所在地的省、自治区、直辖市人民政府卫生行政部门应当通报疫情。"


def test_short_text_is_one_line_as_it_stands() -> None:
    assert fitted("Book I. Persons", 300, 14) == ["Book I. Persons"]
    assert fitted("  ", 300, 14) == []


def test_lines_break_at_spaces_and_nothing_is_lost() -> None:
    lines = fitted(FRENCH, 200, 14, lines=9)
    assert " ".join(lines) == " ".join(FRENCH.split())
    assert len(lines) > 1


def test_what_does_not_fit_is_left_out_with_a_mark() -> None:
    (line,) = fitted(FRENCH, 200, 14)
    assert line.endswith("…")
    assert FRENCH.startswith(line[:-1])
    assert line[:-1].split()[-1] in FRENCH.split()  # no half word


def test_chinese_breaks_anywhere_but_before_a_closing_mark() -> None:
    lines = fitted(CHINESE, 150, 14, lines=20)
    assert "".join(lines) == CHINESE
    assert not any(line[0] in "，、。" for line in lines)
    assert min(len(line) for line in lines[:-1]) >= 9  # of ten that fit


def test_a_word_broader_than_the_line_is_cut() -> None:
    number = "APP2.A2.1.12.Guidance.TransferOfGeneralMarketRisk"
    assert "".join(fitted(number, 90, 14, lines=20)) == number


@pytest.mark.parametrize("size", [10, 20])
def test_width_grows_with_size_weight_and_breadth(size: float) -> None:
    assert text_width("mm", size) > text_width("ii", size)
    assert text_width("a", size, bold=True) > text_width("a", size)
    assert text_width("é", size) == text_width("e\u0301", size) == text_width("e", size)
    assert text_width("法律", size) == 2 * size


@given(st.text(max_size=80), st.floats(20, 400), st.integers(1, 4))
def test_lines_keep_within_their_room_and_number(text: str, room: float, lines: int) -> None:
    found = fitted(text, room, 12, lines=lines)
    assert len(found) <= lines
    assert all(found)
    # A single character is the least that a line can hold; a closing mark may hang over.
    assert all(text_width(line, 12) <= room + 24 for line in found)
