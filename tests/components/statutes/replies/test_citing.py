"""What of a reply is a citation of the writer's, and which article and law it names."""

from dataclasses import replace

import pytest

from components.statutes import Article
from components.statutes.replies.checking import check_reply


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
    ("reply", "quotations", "marks"),
    [
        # A quotation keeps its power.
        ('It needs "a floor of at least 9 m²" [1].', ["verified"], ["[1]"]),
        # Brackets in quoted law are the law's, marks at the end of a quotation the writer's.
        ('It says "The sum is paid [2] within ten working days" [2].', ["verified"], ["[2]"]),
        ('It says "The sum is paid [2] within ten working days".', ["not checked"], []),
        ('It says "within ten working days of notice [2]."', ["verified"], ["[2]"]),
        ('It says "within ten working days of notice [1][2]."', ["verified"], ["[1]", "[2]"]),
        # A quotation without an end hides no mark.
        (
            'It says "at least 9 m² [1]. The sum is paid [2] in ten days.',
            ["not checked"],
            ["[1]", "[2]"],
        ),
        # Emphasis is the writer's, but where the law has such signs they are its text.
        (
            'It says "The **sum** is _paid_ [2] within *ten* working days" [2].',
            ["verified"],
            ["[2]"],
        ),
        ('It says "the value_of_fees, under R. *3231-1" [3].', ["verified"], ["[3]"]),
        ('It says "They follow E*, the value_of_fees" [3].', ["verified"], ["[3]"]),
        ('It says "R. *3231-1 alone" [3].', ["verified"], ["[3]"]),
    ],
)
def test_marks_and_emphasis_within_a_quotation(reply, quotations, marks):
    checked = check_reply(reply, SOURCES)
    assert [each.state for each in checked.quotations] == quotations
    assert [each.text for each in checked.citations] == marks
    assert [each.cited for each in checked.statements][:1] == [bool(marks)]


@pytest.mark.parametrize(
    ("cited", "state"),
    [
        ("Section 12 Housing Act", "verified"),
        ("Section 12 Housing Act (the Act)", "verified"),
        ("Section 12 Housing Act (1)", "verified"),
        ("Section 12 Housing Act Part 2", "verified"),
        ("**Section 12 Housing Act** Landlords", "verified"),
        ("Section 12 Housing Act. The landlord", "verified"),
        ("Section 12 of the Housing Act", "verified"),
        ("Section 12 Housing Act (Northern Ireland)", "not found"),
        ("Section 12 Housing Act Scotland", "not found"),
        ("Section 12 Housing Act for Scotland", "not checked"),
        ("Section 12 Housing Act 1988", "not checked"),
        ("Section 12 of the Housing Act (Northern Ireland)", "not found"),
    ],
)
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


@pytest.mark.parametrize(
    ("cited", "state"),
    [
        ("Article 12(1) of the Housing Code", "verified"),
        ("Article 12(2)(b) of the Housing Code", "verified"),
        ("Article 12, paragraph 2, of the Housing Code", "verified"),
        ("Article 12, para. 2 of the Housing Code", "verified"),
        ("Article 12, subs. 2 of the Housing Code", "verified"),
        ("Under the Housing Code, article 12", "verified"),
        ("Both the Housing Code, article 12, and the lease", "verified"),
        ("It is the Housing Code (Article 12) that", "verified"),
        ("The Housing Code's article 12", "verified"),
        ("Article 12, para. 7 of the Housing Code", "not checked"),
        ("Article 12 Abs 7 of the Housing Code", "not checked"),
        ("Article 12(2020) of the Housing Code", "not checked"),
        ("Article 12(5) of the Housing Code", "not checked"),
        ("Article 12(500) of the Housing Code", "not checked"),
        ("Article 12(30) of the Housing Code", "not checked"),
        ("Article 12(c) of the Housing Code", "not checked"),
        # In front of its article.
        ("Paragraph 2 of article 12 of the Housing Code", "verified"),
        ("Point (b) of Article 12(2) of the Housing Code", "verified"),
        ("Paragraph 7 of article 12 of the Housing Code", "not checked"),
        ("Subsection (7) of section 12 of the Housing Code", "not checked"),
        ("L'alinéa 7 de l'article 12 of the Housing Code", "not checked"),
        ("Abs. 7 des § 12 Housing Code", "not checked"),
    ],
)
def test_a_paragraph_must_be_one_of_the_article(cited, state):
    (citation,) = check_reply(f"{cited} says so.", [RENT]).citations
    assert (citation.state, citation.ids) == (state, ("h4",))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Former section 12 of the Housing Code says so.", "earlier wording"),
        ("§ 12 Housing Code a.F. says so.", "earlier wording"),
        ("Schedule 4, section 12 of the Housing Code says so.", "schedule"),
        ("Schedule 4 to the Housing Code, section 12, says so.", "schedule"),
        ("Section 12, fourth sentence, of the Housing Code says so.", "sentence"),
        ("In Norway, section 12 of the Housing Code says so.", "Norway"),
        ("Under Norwegian law, section 12 of the Housing Code says so.", "Norwegian"),
        ("Section 12, first sentence, of the Housing Code says so.", ""),
        ("In Aldermere, section 12 of the Housing Code says so.", ""),
        ("In practice, section 12 of the Housing Code says so.", ""),
    ],
)
def test_what_makes_it_another_text_is_a_doubt(reply, why):
    code = replace(RENT, law="Housing Code of Aldermere (invented)")
    (citation,) = check_reply(reply, [code]).citations
    assert citation.state == ("not checked" if why else "verified")
    assert why in citation.why


CODE = article(
    "c5", "Code civil", "5", "§ 1er. Le juge entend.\n§ 2. Il décide.\n§ 3. Il signe.", "fr-BE"
)


@pytest.mark.parametrize(
    ("reply", "states"),
    [
        ("Le § 2 de l'article 5 du Code civil le dit.", ["verified"]),
        ("Le § 7 de l'article 5 du Code civil le dit.", ["not checked"]),
        ("Les §§ 2 et 3 de l'article 5 du Code civil le disent.", ["verified"]),
        ("Les §§ 2 et 7 de l'article 5 du Code civil le disent.", ["not checked"]),
        ("Le § 7, alinéa 2, de l'article 5 du Code civil le dit.", ["not checked"]),
        ("Le § 7, 2 de l'article 5 du Code civil le dit.", ["not checked"]),
        ("Le § 2 le dit [1].", ["verified", "verified"]),
        ("L'article 5 du Code civil l'admet. Le § 3 dit comment.", ["verified", "verified"]),
        ("Le § 7 le dit [1].", ["not checked", "verified"]),
        ("Le § 5 le dit [1].", ["not checked", "verified"]),  # no article 5
        ("Le § 2 le dit.", ["not checked"]),
    ],
)
def test_the_sign_of_a_paragraph_is_none_of_an_article_in_french(reply, states):
    assert [each.state for each in check_reply(reply, [CODE]).citations] == states


@pytest.mark.parametrize(
    ("cited", "state"),
    [
        ("Housing Code of Aldermere, article 12,", "verified"),
        ("Under Housing Code, article 12", "verified"),
        ("The Act (article 12) [1]", "verified"),
        ("As the Housing Code has it, article 12 [1]", "verified"),
        ("The Housing Code of Freedonia, article 12 [1]", "not found"),
        ("The Tax Code of Freedonia, article 12 [1]", "not found"),
        ("The tax code, article 12 [1]", "not found"),
        ("Article 12 [1] of the Tax Code", "not found"),
        ("Selon le Code pénal, à l'article 12 [1]", "not found"),
        ("As the Tax Code says in article 12 [1]", "not checked"),
        ("As the Housing Code of Freedonia says in article 12 [1]", "not checked"),
        ("As the GDPR says in article 12 [1]", "not checked"),
        ("Le Code pénal dit, à l'article 12 [1]", "not checked"),
        ("Article XCIX", "not found"),
        ("Article XII of the Housing Code", "verified"),
    ],
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
