"""A question in another language than the law's is told apart, and no other is."""

import pytest

from components.statutes import read_questions
from components.statutes.question_language import in_another_language


@pytest.mark.parametrize(
    ("question", "tags"),
    [
        ("My landlord keeps my deposit.", ["fr"]),
        ("My landlord keeps my deposit.", ["fr-BE", "nl", "de"]),
        ("My landlord keeps my deposit.", ["zh"]),
        ("Mon propriétaire garde ma caution.", ["en"]),
        ("MON PROPRIÉTAIRE GARDE MA CAUTION", ["en-GB"]),
        ("Wie lange ist die Kündigungsfrist?", ["en"]),
        ("Hoe lang mag hij mijn waarborg houden?", ["fr"]),
        ("¿Por qué no me devuelven la fianza?", ["en"]),
        ("Tiền đặt cọc của tôi không được trả lại", ["en"]),
        ("房东不退押金", ["en", "fr"]),
    ],
)
def test_a_question_in_another_language(question: str, tags: list[str]) -> None:
    assert in_another_language(question, tags)


@pytest.mark.parametrize(
    ("question", "tags"),
    [
        ("My landlord keeps my deposit.", ["en"]),
        ("My landlord keeps my deposit.", ["fr", "en"]),
        # What is not known, or too little, is no ground to say anything.
        ("My landlord keeps my deposit.", ["fr", None]),
        ("My landlord keeps my deposit.", ["sw"]),
        ("My landlord keeps my deposit.", []),
        ("deposit", ["fr"]),
        ("landlord deposit notice", ["fr"]),
        ("What deposit?", ["fr"]),
        ("Kündigung Wohnung Frist", ["en"]),
        # Words of both: a name, a borrowed term.
        ("Is there a force majeure de plein droit in my lease?", ["fr"]),
        ("Que vaut un « trust » of the law of England ?", ["en"]),
        ("房东不退押金", ["zh-CN"]),
        ("", ["en"]),
    ],
)
def test_a_question_of_which_nothing_is_said(question: str, tags: list[str]) -> None:
    assert not in_another_language(question, tags)


def test_the_questions_of_the_demo_are_in_english() -> None:
    questions = [question.text for question in read_questions("aldermere")]
    assert not any(in_another_language(question, ["en"]) for question in questions)
    told = sum(in_another_language(question, ["fr"]) for question in questions)
    assert told / len(questions) > 0.9
