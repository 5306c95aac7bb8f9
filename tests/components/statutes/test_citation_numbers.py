"""Printed numbers in one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.citations.patterns import (
    IN_FINAL_TITLE,
    LISTED_PARAGRAPH,
    ArticleNumber,
    canonical_core,
    chinese_integer,
    parse_number,
)


@pytest.mark.parametrize(
    ("printed", "core"),
    [
        ("1382", "1382"),
        ("L1221-1", "l1221-1"),
        ("L. 1221-1", "l1221-1"),
        ("R*3231-1", "r3231-1"),
        ("L2323-26-1 A", "l2323-26-1a"),
        ("203quater", "203quater"),
        ("203 bis", "203bis"),
        ("346-1/1", "346-1/1"),
        ("1er", "1"),
        ("art. 12", "12"),
        ("§ 823", "823"),
        ("Điều 12", "12"),
        ("15.11A.1", "15.11a.1"),
        ("第一千零七十九条", "1079"),
        ("第十七条之一", "17-1"),
        ("\u200e13.3.5", "13.3.5"),
        ("14\u201113", "14-13"),
        ("14\u22121", "14-1"),
        ("Article IV", "4"),
        ("CXLVIII", "148"),
        ("artículo 5", "5"),
        ("8-б", "8б"),
        ("4o. Bis", "4obis"),
    ],
)
def test_a_number_has_one_form(printed, core):
    assert parse_number(printed) == ArticleNumber(core)


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("PDPA s.2(1)", ArticleNumber("2", ("1",))),
        ("PDPA s.24(0)", ArticleNumber("24")),
        ("6.1.3.(a)", ArticleNumber("6.1.3", ("a",))),
        ("3.3.1(1)(b)", ArticleNumber("3.3.1", ("1", "b"))),
        ("Part 5.Chapter 4.36.(1)", ArticleNumber("36", ("1",))),
        ("PART 2.3.1.1.(1)", ArticleNumber("3.1.1", ("1",))),
        ("Schedule 1.Part 2.Chapter 18.74.(1)", ArticleNumber("74", ("1",), "sch 1")),
        ("APP2.A2.1.1.(2)", ArticleNumber("a2.1.1", ("2",))),
        ("8 SchlT", ArticleNumber("8", (), IN_FINAL_TITLE)),
        ("Art. 8 Tit. fin.", ArticleNumber("8", (), IN_FINAL_TITLE)),
        ("GEÇİCİ MADDE 3", ArticleNumber("3", (), "geçici")),
        ("25)", ArticleNumber("25", (), LISTED_PARAGRAPH)),
    ],
)
def test_levels_and_divisions_are_told_from_the_number(printed, number):
    assert parse_number(printed) == number


@pytest.mark.parametrize(
    "printed",
    [
        "1.2.1.Guidance.1.",
        "Annexe II à l'article R4312-6",
        "Annexe I",
        "Part 9",
        "",
        "Preamble",
        "第",
    ],
)
def test_what_nobody_can_cite_by_number_has_none(printed):
    assert parse_number(printed) is None


def numeral(number):
    """A number below 10,000 as Chinese law prints it."""
    digits, text, gap = "零一二三四五六七八九", "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if gap and text else "") + digits[digit] + name
        gap = digit == 0
    return text.removeprefix("一") if text.startswith("一十") else text


@given(st.integers(1, 9999))
def test_chinese_numerals_are_read_as_they_are_written(number):
    assert chinese_integer(numeral(number)) == number
    assert chinese_integer(str(number)) == number
    assert canonical_core(f"第{numeral(number)}条") == str(number)


@given(st.text(max_size=30))
def test_any_text_can_be_printed_as_a_number(printed):
    number = parse_number(printed)
    assert number is None or number.core
