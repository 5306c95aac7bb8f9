"""Where a reply quotes."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from components.statutes.replies.quotations import find_quotations


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ('It says "the deposit is returned" [1].', ["the deposit is returned"]),
        ("It says “the deposit is returned”.", ["the deposit is returned"]),
        ("Il dit : « le dépôt est rendu ».", ["le dépôt est rendu"]),
        ("Es heißt „die Kaution wird erstattet“.", ["die Kaution wird erstattet"]),
        ("Es heißt »die Kaution wird erstattet«.", ["die Kaution wird erstattet"]),
        ("法律规定「返还押金」。", ["返还押金"]),
        ("It says 'the deposit is returned'.", ["the deposit is returned"]),
        ("It says ‘the tenant’s deposit is returned’.", ["the tenant’s deposit is returned"]),
        ("The tenants' rights and the landlords' duties.", []),
        ("Don't pay: it isn't due.", []),
        ("The law says 'tis due to the tenants' union.", []),
        ("“He calls it the ‘deposit’ here”.", ["He calls it the ‘deposit’ here"]),
        ('"The deposit is returned [1]."', ["The deposit is returned"]),
        ('"The deposit is returned." [1]', ["The deposit is returned."]),
        # An apostrophe that opens nothing must not hide a quotation behind it.
        ('In the \'90s the law said "the deposit is kept".', ["the deposit is kept"]),
        ("The law: 'tis said \"the deposit is kept\" isn't it.", ["the deposit is kept"]),
        ("> It is returned\n> within a month. [1]", ["It is returned\nwithin a month."]),
        ("> It is returned\nwithin a month.\n\nPay.", ["It is returned\nwithin a month."]),
        ("- > It is returned.", ["It is returned."]),
        ("> > It is returned.", ["It is returned."]),
        # The writer's own words before and behind are no part of it.
        ("> **But only once:** It is returned.", ["It is returned."]),
        ("> It is returned.\n> - Not to foreigners. [1]", ["It is returned."]),
        ("> It is returned\n999) a month later", ["It is returned"]),
        # A list is quoted to its end, and its signs are in it.
        ("> It is:\n> - returned;\n> - kept.", ["It is:\n- returned;\n- kept."]),
        ("1. > It is\n> 2) returned", ["It is\n2) returned"]),
        ("> **Section 12.** It is returned.\n> — Housing Code, Section 12", ["It is returned."]),
        ('> "It is returned." [1]', ["It is returned."]),
        # What a block says in its own words is quoted with what it quotes.
        ('> All is lost. "It is returned" [1]', ['All is lost. "It is returned"']),
        ("```\nIt is returned.\n```", ["It is returned."]),
        ("```Never\nis it returned.\n```", ["Never\nis it returned."]),
        ("~~~ It is never\nreturned.\n~~~", ["It is never\nreturned."]),
        # A true quotation within does not vouch for a false one around it.
        ("« Il rend le « dépôt » dans un an »", ["Il rend le « dépôt » dans un an"]),
        ("‘He pays all, “it is returned”, and dies’", ["He pays all, “it is returned”, and dies"]),
        ("'It is the tenants' right to be paid' [1]", ["It is the tenants' right to be paid"]),
        ('""the tenant pays""', ["the tenant pays"]),
        ("``the tenant pays''", ["the tenant pays"]),
        ("‘ The tenant pays ’", ["The tenant pays"]),
        ("‘(1) The tenant pays’", ["(1) The tenant pays"]),
        ("'[T]he tenant pays'", ["[T]he tenant pays"]),
        ("›the tenant pays‹", ["the tenant pays"]),
        ("❝the tenant pays❞", ["the tenant pays"]),
        *(
            (f"It says:{a}the tenant pays{b} [1]", ["the tenant pays"])
            for a, b in ("''", "’’", "´´", "″″", "ʺʺ", "❛❜", "⟪⟫", "｢｣", "﹁﹂", "﹃﹄", "⹂”")
        ),
        *(
            (f"It says {a}the tenant pays{b} [1]", ["the tenant pays"])
            for a, b in ("‚'", "‛'", (",,", "''"), (",,", '"'), (",,", "“"), ("<<", ">>"))
        ),
        ("It says, ' the tenant pays ' [1]", ["the tenant pays"]),
        ("It says,'the tenants' roof' [1]", ["the tenants' roof"]),
        *(
            (f"It says {a}the tenant pays{b} [1]", ["the tenant pays"])
            for a, b in ("❮❯", "❯❮", "ˮˮ", "⌜⌟", "⌜⌝", "⌞⌟", "〔〕")
        ),
        # Four blanks after an empty line make a block, but not within a list.
        ("It says:\n\n    The tenant pays.\n\tAlways.\n\nSo.", ["The tenant pays.\nAlways."]),
        ("1. It says\n\n    the tenant pays.\n\n    And so on.", []),
        ("A tenant´s roof of 12″ x 14″, if 5 << 6 ' or,, well", []),
        ('A 6" pipe. It says "the tenant pays" [1].', ["the tenant pays"]),
        ("“the tenant\n\npays” [1]", ["the tenant", "pays"]),
    ],
)
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


@pytest.mark.parametrize("pattern", ["‚", "❛", "《“", "。«", "]「", ")‹"])
def test_the_search_for_closing_marks_grows_with_the_text_and_no_faster(pattern):
    class Counted(str):
        reads = 0

        def __getitem__(self, key):
            self.reads += 1
            return super().__getitem__(key)

    def reads(length):
        reply = Counted((pattern * length)[:length])
        quotations = find_quotations(reply)
        assert not any(each.closed for each in quotations)
        return reply.reads

    assert reads(4_000) < 6 * reads(1_000)  # the square would be 16
