"""What may be asked, and what becomes of its characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import MAX_QUESTION_CHARS, QuestionError, clean_question


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", "\u200b\ufeff", "\x00\x1b", "\u200d"])
def test_a_blank_question_is_refused(blank):
    with pytest.raises(QuestionError, match="is empty"):
        clean_question(blank)


@pytest.mark.parametrize("wrong", [None, 7, ["a"], b"a"])
def test_what_is_no_text_is_refused_by_its_type(wrong):
    with pytest.raises(QuestionError, match=type(wrong).__name__):
        clean_question(wrong)


def test_too_long_a_question_is_refused_with_both_numbers():
    assert len(clean_question("a" * MAX_QUESTION_CHARS)) == MAX_QUESTION_CHARS
    with pytest.raises(QuestionError, match=r"10,001 characters; at most 10,000"):
        clean_question("a" * (MAX_QUESTION_CHARS + 1))
    with pytest.raises(QuestionError, match="20,000,000"):
        clean_question("a" * 20_000_000)


def test_control_and_format_characters_become_spaces():
    assert clean_question("may\x00my\nlandlord\u200benter\x1b?") == "may my landlord enter ?"
    assert clean_question("\ufeffMay I leave?\u202e") == "May I leave?"


def test_half_a_surrogate_pair_becomes_a_space():
    assert clean_question("a\ud83db") == "a b"


def test_soft_hyphens_vanish_inside_a_word():
    assert clean_question("land\u00adlord") == "landlord"


def test_joiners_stay_inside_words():
    assert clean_question("می\u200cخواهم") == "می\u200cخواهم"


def test_text_is_composed_to_nfc():
    assert clean_question("re\u0301pudiation") == "répudiation"


@pytest.mark.parametrize("script", ["宪法第一条", "Điều 12 khoản 2", "سؤال", "вопрос", "🏠?"])
def test_other_scripts_pass_unchanged(script):
    assert clean_question(script) == script


@given(st.text(alphabet=st.characters(), max_size=60))
def test_cleaning_is_idempotent_and_leaves_nothing_unwritable(text):
    try:
        cleaned = clean_question(text)
    except QuestionError:
        return
    assert clean_question(cleaned) == cleaned
    cleaned.encode("utf-8")
    assert cleaned == cleaned.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in cleaned)
