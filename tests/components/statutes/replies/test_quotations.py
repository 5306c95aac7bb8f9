"""Where a reply quotes."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reply_cases import cases

from components.statutes.replies.quotations import find_quotations


@pytest.mark.parametrize(("reply", "quoted"), cases("what_is_quoted"))
def test_what_is_quoted(reply, quoted):
    assert [each.text for each in find_quotations(reply)] == quoted


def test_a_quotation_that_is_never_closed_goes_to_the_paragraphs_end():
    first, second = find_quotations('He said "the deposit\nis kept.\n\nShe said "no".')
    assert (first.text, first.closed) == ("the deposit\nis kept.", False)
    assert (second.text, second.closed) == ("no", True)


def test_spans_hold_the_marks():
    reply = 'It says "the deposit is returned" [1].'
    (quotation,) = find_quotations(reply)
    assert reply[quotation.start : quotation.end] == '"the deposit is returned"'


@given(st.text(st.sampled_from("ab '\"“”‘’«»\n>[1].")))
def test_spans_stand_in_order_and_apart(reply):
    spans = [(each.start, each.end) for each in find_quotations(reply)]
    assert all(0 <= start < end <= len(reply) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_what_is_never_opened_or_never_closed_is_handed_out_as_that():
    for reply in ("the tenant pays” [1]", "‘the tenant pays [1]", '"the tenant pays [1]'):
        (quotation,) = find_quotations(reply)
        assert (quotation.text, quotation.closed) == ("the tenant pays", False)


@given(st.text(st.sampled_from("ab ,.’'"), max_size=20), st.text(st.sampled_from("ab ,.’'")))
def test_no_apostrophe_hides_a_double_quotation(before, inside):
    """Every letter between double marks is in some quotation, whatever stands around it."""
    reply = f'{before} "x{inside}y" {before}'
    start = reply.index('"x')
    found = find_quotations(reply)
    for place in range(start + 1, start + len(inside) + 3):
        inside_one = any(each.start <= place < each.end for each in found)
        assert inside_one or not reply[place].isalnum()


@example("a ” ”")
@given(st.text(st.sampled_from("ab .\n“”「」❝❞")))
def test_no_directed_mark_goes_unheard(reply):
    found = find_quotations(reply)
    for place, character in enumerate(reply):
        if character in "“「❝":
            (words,) = re.findall(r"^[^“”「」❝❞\n]*", reply[place + 1 :])
        elif character in "”」❞":
            words = re.findall(r"[^“”「」❝❞\n]*$", reply[:place])[0]
        else:
            continue
        # What has no words quotes none.
        heard = any(each.start <= place < each.end for each in found)
        assert heard or not re.search(r"\w", words)
