"""What may be asked, how its characters are cleaned, and its language."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statute_tables import TABLES

from components.statutes import MAX_QUESTION_CHARS, QuestionError, clean_question
from components.statutes.lexical import in_another_language


@pytest.mark.parametrize(
    "wrong",
    [*("", "   ", "\n\t", "\u200b\ufeff", "\x00\x1b", "\u200d"), None, 7, ["a"], b"a"],
    ids=repr,
)
def test_blank_questions_and_other_types_are_refused(wrong):
    with pytest.raises(QuestionError):
        clean_question(wrong)


def test_questions_have_a_maximum_length():
    assert len(clean_question("a" * MAX_QUESTION_CHARS)) == MAX_QUESTION_CHARS
    for length in (MAX_QUESTION_CHARS + 1, 20_000_000):
        with pytest.raises(QuestionError, match=f"{length:,}"):
            clean_question("a" * length)


@pytest.mark.parametrize(("text", "cleaned"), TABLES["cleaned characters"])
def test_characters_are_cleaned_and_scripts_kept(text, cleaned):
    assert clean_question(text) == cleaned


@given(st.text(alphabet=st.characters(), max_size=60))
def test_cleaning_is_idempotent_and_the_result_can_be_encoded(text):
    try:
        cleaned = clean_question(text)
    except QuestionError:
        return
    assert clean_question(cleaned) == cleaned == cleaned.strip()
    cleaned.encode("utf-8")
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in cleaned)


@pytest.mark.parametrize(("question", "tags", "another"), TABLES["questions in another language"])
def test_a_question_in_another_language_than_the_law_is_detected(question, tags, another):
    assert in_another_language(question, tags) is another
