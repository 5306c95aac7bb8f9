"""What of a reply is a citation of the writer's, and which article and law it names."""

from dataclasses import replace

import pytest
from reply_cases import cases

from components.statutes import Article
from components.statutes.replies.quotations import check_reply


def article(id_, law, number, text, language=None):
    return Article(id_, law, number, (), text, language)


DWELLING = article("h1", "Housing Act", "12", "A dwelling has a floor of at least 9 m² a person.")
AIR = article("h2", "Housing Act", "13", "The sum is paid [2] within ten working days of notice.")
FEES = "They follow E*, the value_of_fees, under R. *3231-1 alone."
FORMULA = article("h3", "Fees Act", "7", FEES)
SOURCES = [DWELLING, AIR, FORMULA]


@pytest.mark.parametrize(
    "written", ["9 m²", "9m²", "9 cm²", "2 m³", "5 mg/m³", "10³ crowns", "12 km²", "5 sq ft²"]
)
def test_a_power_is_no_mark(written):
    checked = check_reply(f"A dwelling needs {written} of floor.", SOURCES)
    assert checked.citations == []
    assert [each.uncited for each in checked.statements] == [True]


@pytest.mark.parametrize("written", ["so²", "them²", "room.²", "2019²", "»²"])
def test_a_raised_figure_behind_a_word_is_a_mark(written):
    marks = check_reply(f"It is {written} and goes on.", SOURCES).citations
    assert [each.text for each in marks] == ["²"]


@pytest.mark.parametrize(
    ("reply", "quotations", "marks"), cases("marks_and_emphasis_within_a_quotation")
)
def test_marks_and_emphasis_within_a_quotation(reply, quotations, marks):
    checked = check_reply(reply, SOURCES)
    assert [each.state for each in checked.quotations] == quotations
    assert [each.text for each in checked.citations] == marks
    assert [each.cited for each in checked.statements][:1] == [bool(marks)]


@pytest.mark.parametrize(("cited", "state"), cases("a_name_that_goes_on_names_another_law"))
def test_a_name_that_goes_on_names_another_law(cited, state):
    (citation,) = check_reply(f"{cited} says so.", SOURCES).citations
    assert citation.state == state
    if state == "not checked":
        assert citation.why == "it names the law otherwise"


def test_a_name_may_go_on_as_the_law_is_called():
    act = replace(DWELLING, law="Housing Act (Northern Ireland) 1988")
    for cited in ("Section 12 Housing Act (Northern Ireland)", "Section 12 Housing Act 1988"):
        assert [e.state for e in check_reply(f"{cited} says so.", [act]).citations] == ["verified"]


RENT = article(
    "h4",
    "Housing Code",
    "12",
    "(1) A rate of 5 % is due, or 500 crowns, within 30 days.\n(2) A tenant: (a) pays; (b) stays.",
)


@pytest.mark.parametrize(("cited", "state"), cases("a_paragraph_must_be_one_of_the_article"))
def test_a_paragraph_must_be_one_of_the_article(cited, state):
    (citation,) = check_reply(f"{cited} says so.", [RENT]).citations
    assert (citation.state, citation.ids) == (state, ("h4",))


@pytest.mark.parametrize(("reply", "why"), cases("what_makes_it_another_text_is_a_doubt"))
def test_what_makes_it_another_text_is_a_doubt(reply, why):
    code = replace(RENT, law="Housing Code of Aldermere (invented)")
    (citation,) = check_reply(reply, [code]).citations
    assert citation.state == ("not checked" if why else "verified")
    assert why in citation.why


CODE = article(
    "c5", "Code civil", "5", "§ 1er. Le juge entend.\n§ 2. Il décide.\n§ 3. Il signe.", "fr-BE"
)


@pytest.mark.parametrize(
    ("reply", "states"), cases("the_sign_of_a_paragraph_is_none_of_an_article_in_french")
)
def test_the_sign_of_a_paragraph_is_none_of_an_article_in_french(reply, states):
    assert [each.state for each in check_reply(reply, [CODE]).citations] == states


@pytest.mark.parametrize(
    ("cited", "state"), cases("a_reference_mark_says_not_of_which_law_where_another_one_is_named")
)
def test_a_reference_mark_says_not_of_which_law_where_another_one_is_named(cited, state):
    code = replace(RENT, law="Housing Code of Aldermere (invented)")
    named = [e for e in check_reply(f"{cited} says so.", [code]).citations if e.text != "[1]"]
    assert [each.state for each in named] == [state]


def test_the_law_of_the_sentence_before_is_not_the_next_ones():
    reply = "See section 12 of the Housing Act. Section 13 GDPR says so."
    states = [each.state for each in check_reply(reply, SOURCES).citations]
    assert states == ["verified", "not found"]


def test_every_article_of_a_list_is_looked_up():
    for cited in (
        "Article 12 of the Housing Act and 99 of the Fees Act",
        "Articles 12 [1] and 99 [2] of the Housing Act",
        "Article 12 [1] and 99 of the Housing Act",
    ):
        named = [e for e in check_reply(cited, SOURCES).citations if "[" not in e.text]
        assert [each.state for each in named] == ["verified", "not found"], cited


@pytest.mark.parametrize("reply", ["It is so [1" + " " * 9_000 + "x", "x.[1" + "and" * 3_000])
def test_brackets_that_do_not_end_take_no_time_to_speak_of(reply):
    """What was quartic took hours, and runs into the suite's limit."""
    assert check_reply(reply, SOURCES).citations == []
