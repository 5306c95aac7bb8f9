"""The sentences of a reply and of an article."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.replies.text import article_sentences, says_something, sentence_spans


@pytest.mark.parametrize(
    "sentences",
    [
        ["The deposit is returned.", "It bears interest."],
        ["The deposit is returned. [1]", "It bears interest [2]."],
        ["The deposit is returned.[1][2]", "It bears interest! [1, 2]", "Does it?"],
        ["Under s. 5 and art. 12 it is due.", "Pay."],
        ["The rate is 1.5 per cent, e.g. Monthly, cf. Mr. Smith.", "Pay."],
        ["The answer is no.", "The landlord pays."],
        ["L. 1221-1 of the code applies.", "It binds."],
        ["He said it. and went.", "She stayed."],
        ["押金应当返还。", "逾期支付利息。[1]"],
        ["It says “Return it. Now.” [1]", "Pay."],
    ],
)
def test_sentences(sentences):
    space = "" if sentences[0].endswith("。") else " "
    reply = space.join(sentences)
    whole = [(reply.index("“"), reply.index("”") + 1)] if "“" in reply else []
    assert [reply[start:end] for start, end in sentence_spans(reply, whole)] == sentences


def test_a_line_ends_a_sentence_but_behind_a_colon_and_a_lists_number_ends_none():
    reply = "Two things:\n1. Return the deposit.\n2. Pay interest."
    spans = sentence_spans(reply)
    assert [reply[start:end] for start, end in spans] == [
        "Two things:\n1. Return the deposit.",
        "2. Pay interest.",
    ]


def test_a_sentence_of_citations_belongs_to_the_one_before():
    reply = "It is returned. (Section 12 of the Housing Code)\n\n[1]\n\nPay."
    start = reply.index("Section")
    mark = reply.index("[1]")
    spans = sentence_spans(reply, (), [(start, start + 10), (mark, mark + 3)])
    assert [reply[first:last] for first, last in spans] == [reply[: mark + 3], "Pay."]


@given(st.text(st.sampled_from('ab1 .?!\n[]"”。A')))
def test_every_word_is_in_one_sentence(reply):
    spans = sentence_spans(reply)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(reply[start:end] for start, end in spans).replace(" ", "").replace("\n", "") == (
        "".join(reply.split())
    )


@pytest.mark.parametrize(
    ("sentence", "behind", "says"),
    [
        ("The deposit is returned.", "", True),
        ("| Notice | three months |", "", True),
        ("# The tenant must pay within 30 days", "", True),
        ("## Rent is due on the first day.", "", True),
        ("# Le locataire doit payer", "", True),
        ("# Deposit:\nIt is returned within thirty days", "", True),
        ("# Deposits", "", False),
        ("## What must the tenant pay?", "", False),
        ("The Code says:", "\nIt is returned.", False),
        ("The tenant pays for everything:", "\n\n", True),
        ("| Subject | Term |", "\n|---|---|\n| Notice | three months |", False),
        ("Terms:\n| Subject | Term |", "\n| :--- | ---: |\n", False),
        ("|---|---|", "", False),
        ("***", "", False),
        ("12.", "", False),
    ],
)
def test_headings_rules_and_heads_of_tables_say_nothing(sentence, behind, says):
    assert says_something(sentence, behind) is says


@pytest.mark.parametrize(
    ("language", "marked"),  # with a | behind each sentence, two behind a paragraph
    [
        ("en", "One.| Two.||\nThree\nruns on.| Four.||\nFive."),
        ("en", "(1) One.| Two.|\nThree.||\n(2) Four.|| (3) Five."),
        ("en", "(1) One must:\n(a) two;\n(b) three.|\nFour.||\n(2) Five."),
        ("en", "One —\n(i) two;\n(ii) three —\n(A) four. Five;\nunless six.||\nSeven."),
        ("en", "Under art. 5, cf. Mr. Smith, he must\n(a) pay; and\n(b) go.||\nThree."),
        ("en", "One heading|\nTwo.||\n\nThree without a stop||\n\nFour."),
        ("fr", "§ 1er. Un.| Deux.||\n\n§2. Trois :\n 1. quatre;\n 2. cinq.||\n§3. Six."),
        ("fr", "Un :\n\n1° Deux. Trois ;\n\n2° Quatre.||\n\nCinq."),
        ("zh", "甲应当：\n（一）乙；\n（二）丙。||\n丁。|戊。"),
    ],
)
def test_the_sentences_of_an_article_and_their_paragraphs(language, marked):
    article = marked.replace("|", "")
    found = {}
    for each in article_sentences(article, language):
        found.setdefault(each.paragraph, []).append(article[each.start : each.end])
    assert list(found.values()) == [
        [sentence.strip() for sentence in paragraph.split("|")] for paragraph in marked.split("||")
    ]


@pytest.mark.parametrize(
    ("language", "sentence", "qualifies"),
    [
        ("en", "However, rent is due.", True),
        ("en", "It is due within two years.", True),
        ("en", "Paragraph (1) does not apply to halls.", True),
        ("en", "Rent is due.", False),
        ("fr", "Par dérogation à l'article 3, il est dû.", True),
        ("fr-BE", "Il est dû, sauf accord.", True),
        ("fr", "Il est dû.", False),
        (None, "但是不返还。", True),
        (None, "Es sei denn, er zahlt.", True),
    ],
)
def test_what_may_restrict_the_sentence_before(language, sentence, qualifies):
    (found,) = article_sentences(sentence, language)
    assert found.qualifies == qualifies
