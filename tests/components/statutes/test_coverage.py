from __future__ import annotations

import pytest

from components.statutes.coverage import coverage, trust


@pytest.mark.parametrize(
    ("question", "text", "language", "share"),
    [
        # deposit and landlord of landlord, keep and deposit; stems, and nothing of stop words
        ("My landlord keeps my deposit", "Landlords return deposits.", "en", 2 / 3),
        ("the deposit deposit DEPOSIT", "Deposits.", "en", 1.0),
        ("Le dépôt de garantie", "depot", "fr", 1 / 2),
        ("article 1382-1", "Voyez l'article 1382.", "fr", 1 / 2),
        ("deposit", "The rent is paid.", "en", 0.0),
        ("deposit", "", "en", 0.0),
        ("of the and", "of the and", "en", 0.0),
        # In another language's rules "deposits" is another word.
        ("deposits", "deposit", None, 0.0),
    ],
)
def test_the_share_of_a_questions_terms_by_hand(
    question: str, text: str, language: str | None, share: float
) -> None:
    assert coverage(question, text, language) == pytest.approx(share)


def test_a_list_is_trusted_in_proportion_and_never_beyond_its_weight() -> None:
    assert [trust(each, 0.6) for each in (0.0, 0.3, 0.6, 0.9, 1.0)] == [0.0, 0.5, 1.0, 1.0, 1.0]
