"""Where a reply quotes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.replies.quotations import find_quotations


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ('It says "the deposit is returned" [1].', ["the deposit is returned"]),
        ("It says “the deposit is returned”.", ["the deposit is returned"]),
        ('It says “the deposit is returned".', ["the deposit is returned"]),
        ("Il dit : « le dépôt est rendu ».", ["le dépôt est rendu"]),
        ("Es heißt „die Kaution wird erstattet“.", ["die Kaution wird erstattet"]),
        ("Es heißt »die Kaution wird erstattet«.", ["die Kaution wird erstattet"]),
        ("法律规定「返还押金」。", ["返还押金"]),
        ("It says 'the deposit is returned'.", ["the deposit is returned"]),
        ("It says ‘the tenant’s deposit is returned’.", ["the tenant’s deposit is returned"]),
        ("The tenants' rights and the landlords' duties.", []),
        ("Don't pay: it isn't due.", []),
        ("“He calls it the ‘deposit’ here”.", ["He calls it the ‘deposit’ here"]),
        ('"One" and "two".', ["One", "two"]),
        ('"The deposit is returned [1]."', ["The deposit is returned"]),
        ('"The deposit is returned." [1]', ["The deposit is returned."]),
        ('"" and “ ”', []),
        # An apostrophe that opens nothing must not hide a quotation behind it.
        ('In the \'90s the law said "the deposit is kept".', ["the deposit is kept"]),
        ("The law: 'tis said \"the deposit is kept\" isn't it.", ["the deposit is kept"]),
        (
            "> The deposit is returned\n> within a month. [1]",
            ["The deposit is returned\nwithin a month."],
        ),
        ('> It says "the deposit is returned".', ["the deposit is returned"]),
    ],
)
def test_what_is_quoted(reply: str, quoted: list[str]) -> None:
    assert [each.text for each in find_quotations(reply)] == quoted


def test_a_quotation_that_is_never_closed_goes_to_the_paragraphs_end() -> None:
    first, second = find_quotations('He said "the deposit\nis kept.\n\nShe said "no".')
    assert (first.text, first.closed) == ("the deposit\nis kept.", False)
    assert (second.text, second.closed) == ("no", True)


def test_spans_hold_the_marks() -> None:
    reply = 'It says "the deposit is returned" [1].'
    (quotation,) = find_quotations(reply)
    assert reply[quotation.start : quotation.end] == '"the deposit is returned"'


@given(st.text(st.sampled_from("ab '\"“”‘’«»\n>[1].")))
def test_spans_stand_in_order_and_apart(reply: str) -> None:
    spans = [(each.start, each.end) for each in find_quotations(reply)]
    assert all(0 <= start < end <= len(reply) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@given(st.text(st.sampled_from("ab ,.’'"), max_size=20), st.text(st.sampled_from("ab ,.’'")))
def test_no_apostrophe_hides_a_double_quotation(before: str, inside: str) -> None:
    """Every word between double marks is in some quotation, whatever stands around it."""
    reply = f'{before} "x{inside}y" {before}'
    start = reply.index('"x')
    found = find_quotations(reply)
    assert any(each.start <= start and start + len(inside) + 4 <= each.end for each in found)
