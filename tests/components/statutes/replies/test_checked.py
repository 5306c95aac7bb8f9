"""A checked reply as plain values, and back."""

import json

from components.statutes.replies.checked import (
    CheckedCitation,
    CheckedQuotation,
    CheckedReply,
    CheckedStatement,
)

REPLY = CheckedReply(
    'It is "kept" [1].',
    (
        CheckedStatement(
            0,
            17,
            'It is "kept" [1].',
            True,
            False,
            (CheckedCitation(13, 16, "[1]", "verified", ("h12", "h13")),),
            (
                CheckedQuotation(6, 12, "kept", "verified", "h12", (4, 8)),
                CheckedQuotation(6, 12, "kept", "not checked", why="no article is cited for it"),
            ),
        ),
        CheckedStatement(0, 0, "", False, True, (), ()),
    ),
)


def test_a_reply_goes_through_json_and_comes_back_the_same():
    plain = REPLY.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert CheckedReply.from_dict(plain) == REPLY
