"""What counts as the same text."""

import pytest

from components.statutes.twins import normalised


@pytest.mark.parametrize(
    "other",
    ["The landlord shall pay.", "the  LANDLORD\n shall pay.", " Ｔhe landlord\u00a0shall pay. "],
)
def test_case_white_space_and_compatibility_characters_do_not_count(other: str) -> None:
    assert normalised(other) == normalised("The landlord shall pay.")


@pytest.mark.parametrize("other", ["The landlord shall pay", "The landlords shall pay.", ""])
def test_other_words_and_marks_count(other: str) -> None:
    assert normalised(other) != normalised("The landlord shall pay.")
