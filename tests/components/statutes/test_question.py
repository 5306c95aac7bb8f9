"""What may be asked, how its characters are cleaned, and its language."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import MAX_QUESTION_CHARS, QuestionError, clean_question, read_questions
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


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("may\x00my\nland\u200blord enter\x1b?", "may my landlord enter ?"),
        ("\ufeffMay I\u200e leave?\u202e", "May I leave?"),
        ("my land-\nlord and my depo-  \r\n sit", "my landlord and my deposit"),
        (
            "Miet\u00ad\nkaution, Haupt-\nund Neben\u00adkosten",
            "Mietkaution, Haupt- und Nebenkosten",
        ),
        ("a\ud83db", "a b"),  # half a surrogate pair
        ("land\u00adlord", "landlord"),  # a soft hyphen
        ("می\u200cخواهم", "می\u200cخواهم"),  # a joiner inside a word
        ("re\u0301pudiation", "répudiation"),
        *((same, same) for same in ("宪法第一条", "Điều 12 khoản 2", "سؤال", "вопрос", "🏠?")),
    ],
)
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


@pytest.mark.parametrize(
    ("question", "tags", "another"),
    [
        ("My landlord keeps my deposit.", ["fr"], True),
        ("My landlord keeps my deposit.", ["fr-BE", "nl", "de"], True),
        ("My landlord keeps my deposit.", ["zh"], True),
        ("MON PROPRIÉTAIRE GARDE MA CAUTION", ["en-GB"], True),
        ("Wie lange ist die Kündigungsfrist?", ["en"], True),
        ("Hoe lang mag hij mijn waarborg houden?", ["fr"], True),
        ("¿Por qué no me devuelven la fianza?", ["en"], True),
        ("Tiền đặt cọc của tôi không được trả lại", ["en"], True),
        ("房东不退押金", ["en", "fr"], True),
        ("My landlord keeps my deposit.", ["fr", "en"], False),
        ("房东不退押金", ["zh-CN"], False),
        # An unknown language of the law, or too little text: no warning.
        ("My landlord keeps my deposit.", ["fr", None], False),
        ("My landlord keeps my deposit.", ["tlh"], False),
        ("My landlord keeps my deposit.", ["sw"], True),
        ("房东不退押金", ["ja"], False),
        ("O senhorio não devolve a minha caução", ["pt"], False),
        ("My landlord keeps my deposit.", [], False),
        ("landlord deposit notice", ["fr"], False),
        ("What deposit?", ["fr"], False),
        ("Kündigung Wohnung Frist", ["en"], False),
        ("", ["en"], False),
        # Words of both languages: a name, a borrowed term.
        ("Is there a force majeure de plein droit in my lease?", ["fr"], False),
        ("Que vaut un « trust » of the law of England ?", ["en"], False),
    ],
)
def test_a_question_in_another_language_than_the_law_is_detected(question, tags, another):
    assert in_another_language(question, tags) is another


def test_the_demo_questions_are_detected_as_english():
    # Those without an answer have nonsense among them.
    questions = [question.text for question in read_questions("aldermere") if question.answerable]
    assert not any(in_another_language(question, ["en"]) for question in questions)
    # A few words, or words without their spaces and letters, are too little to tell.
    long = [question for question in questions if len(question.split()) >= 20]
    found = sum(in_another_language(question, ["fr"]) for question in long)
    assert found / len(long) > 0.9
