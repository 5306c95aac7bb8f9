"""Ranges of articles that are printed as one article's number."""

import pytest

from components.statutes.citations.patterns import number_order, printed_range


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        ("§§ 15 bis 20", ("15", "20")),
        ("(XXXX) §§ 195 bis 198", ("195", "198")),
        ("§§ 114 und 115", ("114", "115")),
        ("§§ 42 und 42a", ("42", "42a")),
        ("Art. 74a und 75", ("74a", "75")),
        ("50 und 51", ("50", "51")),
        ("150-158", ("150", "158")),
        ("150–158", ("150", "158")),
        ("28d–28f", ("28d", "28f")),
        ("Art. 10-12", ("10", "12")),
        ("§§ 10-12", ("10", "12")),
        ("Arts. 1912 a 1920.", ("1912", "1920")),
        ("127 a 130", ("127", "130")),
        ("Articles 5 to 8", ("5", "8")),
        ("[§§ 301 to 306", ("301", "306")),
        ("articles 5 à 8", ("5", "8")),
        ("第三十八条から第八十四条まで", ("38", "84")),
        ("第十条至第十二条", ("10", "12")),
        ("第38條至第40條", ("38", "40")),
        ("제3조부터 제5조까지", ("3", "5")),
        ("§§ 3-2 til 3-11", ("3-2", "3-11")),
        ("§ 21 až 23", ("21", "23")),
        ("§ 21 bis § 23a", ("21", "23a")),
        ("7–9 §", ("7", "9")),
        ("7-9. §", ("7", "9")),
        ("§§ 30, 31", ("30", "31")),
        ("第八条及び第九条", ("8", "9")),
        ("§ 1-4", None),
        ("§§ 5, 9", None),
        ("Article 10-12", None),
        ("L150-158", None),
        ("88-1", None),
        ("12a", None),
        ("第三条の二", None),
        ("§§ 5 und 9", None),
        ("20 bis", None),
        ("12 a", None),
        ("Art. 8 bis", None),
        ("§§ 9 bis 7", None),
        ("1.2.3", None),
    ],
)
def test_a_printed_range_has_a_first_and_a_last_number(printed, numbers):
    assert printed_range(printed) == numbers


def test_numbers_are_ordered_by_their_digits_then_by_their_letters():
    assert sorted(["10b", "11", "9", "10", "10a"], key=number_order) == [
        *("9", "10", "10a", "10b", "11")
    ]
    assert number_order("3-2") < number_order("3-11")
