"""What a reply itself says that its reference marks stand for."""

from dataclasses import replace

import pytest
from reply_cases import cases

from components.statutes import Article
from components.statutes.replies.quotations import check_reply

LAW = "Housing Code of Aldermere (invented)"
DEPOSIT = Article("h12", LAW, "12", (), "The deposit is returned within 365 days.", "en")
REPAIRS = Article("h14", LAW, "14", (), "The landlord keeps the dwelling fit to live in.", "en")
SOURCES = [replace(DEPOSIT, source_url="https://law.example/12"), REPAIRS]


def states(reply):
    return [e.state for e in check_reply(reply, SOURCES).citations if e.text[0] in "[¹²"]


@pytest.mark.parametrize(
    "reply", cases("a_mark_whose_source_is_another_is_not_found_wherever_it_stands")
)
def test_a_mark_whose_source_is_another_is_not_found_wherever_it_stands(reply):
    assert set(states(reply)) == {"not found"}


def test_each_entry_of_a_list_in_one_line_is_read():
    reply = (
        "It is so [1][2], and so [1]. Sources: [1] Housing Code, section 14 [2] Tax Code, art. 1"
    )
    assert states(reply) == ["not found"] * 5


@pytest.mark.parametrize("reply", cases("a_list_that_names_what_was_given_changes_nothing"))
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
