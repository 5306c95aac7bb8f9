"""What a reply itself says that its reference marks stand for."""

from dataclasses import replace

import pytest

from components.statutes import Article
from components.statutes.replies.checking import check_reply

LAW = "Housing Code of Aldermere (invented)"
DEPOSIT = Article("h12", LAW, "12", (), "The deposit is returned within 365 days.", "en")
REPAIRS = Article("h14", LAW, "14", (), "The landlord keeps the dwelling fit to live in.", "en")
SOURCES = [replace(DEPOSIT, source_url="https://law.example/12"), REPAIRS]


def states(reply):
    return [e.state for e in check_reply(reply, SOURCES).citations if e.text[0] in "[¹²"]


@pytest.mark.parametrize(
    "reply",
    [
        "It is so [1].\n\n[^1]: Criminal Code, section 99",
        "It is so [1].\n\n[1]: Housing Code, section 14",
        "It is so [1].\n\n[1]: https://evil.example",
        "It is so [1](http://evil.example).",
        "It is so [1] (https://evil.example).",
        "It is so [1, 1].\n\n[1] Housing Code, section 14",
        "It is so [1].\n\n- [1] Tax Code, section 12",
        "It is so ¹.\n\n¹ Housing Code, section 14",
        "[1] – Tax Code, section 12. It is so.",
        "It is so [1].\n\n## Sources\n\n[1] section 14",
        "It is so [1].\n\n**References:**\n1. Housing Code, 14",
        "It is so [1]. Source: [1] Housing Code, section 14",
        "Es ist so [1].\n\nQuellen: 1. Tax Code, section 12; 2. Housing Code, section 14",
    ],
)
def test_a_mark_whose_source_is_another_is_not_found_wherever_it_stands(reply):
    assert set(states(reply)) == {"not found"}


def test_each_entry_of_a_list_in_one_line_is_read():
    reply = (
        "It is so [1][2], and so [1]. Sources: [1] Housing Code, section 14 [2] Tax Code, art. 1"
    )
    assert states(reply) == ["not found"] * 5


@pytest.mark.parametrize(
    "reply",
    [
        "It is so [1].\n\n[^1]: Housing Code, section 12",
        "It is so [1].\n\n[1]: https://law.example/12",
        "It is so [1](https://law.example/12).",
        "It is so [1](#section-12).",
        f"It is so [1], and so [2].\n\nSources:\n\n- [1] {LAW}, 12\n- [2] {LAW} > Book I > 14",
        "It is so [1] and so [2].\n\nSources:\n1. Section 12\n2. Section 14 of the Housing Code",
        "[1] The landlord pays.\n[2] The tenant lives there.",
        "[1] Section 12 of the Housing Code refers to section 14 of the Housing Code.",
        "It is so [1]. Sources say that the tenant [2] pays.",
    ],
)
def test_a_list_that_names_what_was_given_changes_nothing(reply):
    assert set(states(reply)) == {"verified"}


def test_a_source_that_is_not_understood_leaves_a_doubt():
    assert states("It is so [1], not so [2].\n\n[1]: the rule on deposits") == [
        "not checked",
        "verified",
        "not checked",
    ]


def test_a_quotation_cannot_be_verified_by_a_mark_for_another_source():
    reply = 'It is "returned within 365 days" [1].\n\n[1]: Tax Code, section 12'
    assert [each.state for each in check_reply(reply, SOURCES).quotations] == ["not checked"]
