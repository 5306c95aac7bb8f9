"""Ranges that a law holds in part, and numbers that are parts of an article."""

import pytest

from components.statutes.citations.resolver import CitationResolver

HOUSING, RULES = "Housing Code", "Conduct Rules"
NUMBERS = ["4", "5", "12", "13", "13-1", "14", "20"]
ENTRIES = [
    *((number, HOUSING, number) for number in NUMBERS),
    *((f"r{number}", RULES, number) for number in ("2", "2.1", "2.2", "2.10", "3.1")),
    *((f"p{number}", RULES, f"{number})") for number in range(1, 5)),
    *(
        (f"s{place}.{number}", "Schedules", f"Schedule {place}.{number}.")
        for place in (1, 2)
        for number in (1, 2)
    ),
]


def pins(resolver, text):
    """What a text names without doubt."""
    return [found.ids[0] for found in resolver.resolve(text) if found.certain]


@pytest.fixture(scope="module")
def resolver():
    return CitationResolver(ENTRIES)


@pytest.mark.parametrize(
    ("question", "ids", "absent"),
    [
        ("articles 12 to 14 of the Housing Code", ["12", "13", "13-1", "14"], None),
        ("Articles 12 to 999 of the Housing Code", ["12", "13", "13-1", "14", "20"], "999"),
        ("articles 13-60 of the Housing Code", ["13", "13-1", "14", "20"], "60"),
        ("articles 13–60 of the Housing Code", ["13", "13-1", "14", "20"], "60"),
        ("articles 1 to 5 of the Housing Code", ["4", "5"], "1"),
        ("Articles 14 to 12 of the Housing Code", ["12", "13", "13-1", "14"], None),
        ("articles 14-12 of the Housing Code", [], None),  # more likely a number
        ("article 14–12 of the Housing Code", [], None),
        ("articles L. 5 à D. 4 of the Housing Code", [], None),
        ("articles 300 to 400 of the Housing Code", [], None),
        ("articles 12 to L. 5 of the Housing Code", ["12"], "l5"),
        ("Rules 2.1 to 2.9 of the Conduct Rules", ["r2.1", "r2.2"], "2.9"),
        ("Rules 2 to 4 of the Conduct Rules", ["r2"], "4"),
    ],
)
def test_a_range_finds_what_there_is_of_it(resolver, question, ids, absent):
    (resolved,) = resolver.resolve(question)
    assert (list(resolved.ids), resolved.absent) == (ids, absent)
    assert resolved.missing == (not ids)


def test_a_range_of_no_named_law_lacks_what_every_law_lacks():
    entries = [*(("a" + n, "A Code", n) for n in "123"), *(("b" + n, "B Code", n) for n in "1234")]
    (resolved,) = CitationResolver(entries).resolve("articles 2 to 4")
    assert (resolved.ids, resolved.absent) == (("a2", "a3", "b2", "b3", "b4"), None)
    (resolved,) = CitationResolver(entries).resolve("articles 2 to 9")
    assert resolved.absent == "9"


@pytest.mark.parametrize(
    ("question", "first", "absent"),
    [
        ("articles 1 to 399 of the Housing Code", 1, None),
        ("articles 399 to 1 of the Housing Code", 1, None),
        ("articles 20 to 900 of the Housing Code", 20, "900"),
        ("articles 20 to 900", 20, "900"),
    ],
)
def test_of_a_long_range_the_first_200_articles_are_taken_and_the_rest_is_named(
    question, first, absent
):
    resolver = CitationResolver((str(n), HOUSING, f"Art. {n}") for n in range(1, 400))
    (resolved,) = resolver.resolve_question(question).citations
    assert resolved.ids == tuple(str(n) for n in range(first, first + 200))
    assert (resolved.unfollowed, resolved.absent) == (f"Art. {first + 200}–Art. 399", absent)
    assert (resolved.missing, resolved.certain) == (False, False)
    (within,) = resolver.resolve("articles 1 to 399", within="5")  # here it speaks of a book
    assert (within.ids, within.missing, within.unfollowed) == ((), False, None)


def test_of_a_long_range_in_several_laws_200_articles_of_each_are_taken():
    entries = [(f"{law}{n}", f"{law} Code", str(n)) for law in "AB" for n in range(1, 300)]
    (resolved,) = CitationResolver(entries).resolve_question("articles 1 to 250").citations
    assert resolved.ids == tuple(f"{law}{n}" for law in "AB" for n in range(1, 201))
    assert resolved.unfollowed == "articles 1 to 250"


@pytest.mark.parametrize("end", ["9" * 5_000, "L. " + "9" * 5_000, "9-" * 2_000 + "9"])
def test_a_range_to_a_number_too_long_for_python_lacks_its_end(end):
    resolver = CitationResolver(ENTRIES)
    (resolved,) = resolver.resolve(f"articles 14 to {end} of the Housing Code")
    assert resolved.absent is not None


def test_in_an_article_a_range_begins_where_it_says(resolver):
    (resolved,) = resolver.resolve("Articles 1 to 5 apply.", within="14")
    assert resolved.ids == ()
    (resolved,) = resolver.resolve("Articles 13-60 apply.", within="14")
    assert resolved.ids == ()


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("art. 12.3 Housing Code", ["12"]),
        ("art. 99.3 Housing Code", []),
        ("section 2.1 of the Conduct Rules", ["r2.1"]),
        ("section 2.9 of the Conduct Rules", []),  # its numbers have dots: none of article 2
        ("article 2.1", ["r2.1"]),
    ],
)
def test_a_paragraph_behind_a_dot(resolver, question, ids):
    (resolved,) = resolver.resolve(question)
    assert (list(resolved.ids), resolved.missing) == (ids, not ids)


def test_a_paragraph_behind_a_dot_is_no_article_in_a_law_s_own_text_nor_among_some():
    entries = [("a", HOUSING, "12"), ("b", HOUSING, "13")]
    assert CitationResolver(entries).resolve("article 12.3", within="b")[0].ids == ()
    assert CitationResolver(entries, whole=False).resolve("article 12.3")[0].ids == ()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("as paragraph 2 above says", ["p2"]),
        ("paragraphs 1 and 3 below", ["p1", "p3"]),
        ("paragraph 2 of that Schedule", []),
        ("Schedule 1 applies; see paragraph 2 of that Schedule", ["s1.2"]),
        ("Schedule 1, or Schedule 2 and paragraph 2 of that Schedule", ["s2.2"]),
    ],
)
def test_a_paragraph_of_the_list_or_of_the_schedule_just_named(text, ids):
    resolver = CitationResolver((id_, "One Code", number) for id_, _, number in ENTRIES)
    found = resolver.resolve(text, within="5")
    assert [id_ for each in found for id_ in each.ids] == ids


# What is behind a number belongs to it where the law prints such a number.

INCOME = "Income Act"
PRINTED = [
    *(
        "2º",
        "2º-B",
        "3",
        "5",
        "5a",
        "6 bis",
        "6 bis 3",
        "7",
        "9 k",
        "11",
        "11-ddd",
        "12 septendecies",
    ),
    *("40", "40-QB", "40QBA", "1.482", "1.482(c)-4", "1350", "T07-0032", "21.04.010", "13-2"),
]


@pytest.fixture(scope="module")
def of_income():
    return CitationResolver((number, INCOME, number) for number in PRINTED)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("section 40-QB", "40-QB"),
        ("Section 40QB(3)(i)", "40-QB"),
        ("section 40 QB of the Income Act", "40-QB"),
        ("section 40-QBA", "40QBA"),
        ("§ 1.482(c)-4", "1.482(c)-4"),
        ("§ 1.482(c)-4(b) of the Income Act", "1.482(c)-4"),
        ("§ 1.482(c)", "1.482"),
        ("§ 11ddd", "11-ddd"),
        ("§ 9 k", "9 k"),
        ("§ 9k of the Income Act", "9 k"),
        ("§ 5 a of the Income Act", "5a"),
        ("section 5 a tenant", None),
        ("art. 6 bis 3", "6 bis 3"),
        ("art. 6 bis of the Income Act", "6 bis"),
        ("art. 12 septendecies", "12 septendecies"),
        ("article T07-0032", "T07-0032"),
        ("section 21.04.010(2)", "21.04.010"),
        ("section 21-04-010", "21.04.010"),
        ("art. 2°", "2º"),
        ("art. 2o", "2º"),
        ("art. 2º", "2º"),
        ("art. 2-B", "2º-B"),
        ("art. 2.º-B", "2º-B"),
        ("art. 1.350", "1350"),
        ("§ 7 Satz 1", "7"),
        ("Section 7.The tenant", "7"),
        ("§ ５ａ", "5a"),
    ],
)
def test_a_law_decides_how_far_its_number_reaches(of_income, text, number):
    (found,) = of_income.resolve_question(text).citations
    assert found.ids == (() if number is None else (number,))
    assert found.certain == (number is not None)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("§ 7 q Abs. 2", "§ 7 q"),
        ("§ 7 q und r", "§ 7 q"),
        ("lejelovens § 7 q.", "§ 7 q"),
        ("Kodeks pracy art. 7 q.", "art. 7 q"),
        ("section 7xyz", "section 7xyz"),
        ("section 7-based", "section 7-based"),
        ("§ 1.482(c)-5", "§ 1.482(c)-5"),
        ("article 7(annex)", "article 7(annex)"),
        ("section 7(2)1", "section 7(2)1"),
        ("art. 7 bis 2", "art. 7 bis 2"),
        ("article 5 a été abrogé", "article 5 a"),
        ("§ 7/A", "§ 7/A"),
        ("§ 7[c]", "§ 7[c]"),
        ("section 7+3", "section 7+3"),
        ("art. 7<sup>2</sup>", "art. 7<sup>2"),
        ("art. 7.bis", "art. 7.bis"),
        ("art. 7 (bis)", "art. 7 (bis)"),
        ("art. 7 ze zn. 2", "art. 7 ze zn. 2"),
        ("ст. 7-а", "ст. 7-а"),
        ("s. 7/11", "s. 7/11"),
    ],
)
def test_a_number_that_is_not_read_whole_names_nothing(of_income, text, unread):
    (found,) = of_income.resolve_question(text).citations
    assert (found.ids, found.certain, found.missing) == ((), False, False)
    assert found.unfollowed == unread


def test_a_number_that_is_read_whole_may_be_missing(of_income):
    cited = of_income.resolve_question("sections 40-QC, 7q and 12 octies").citations
    assert [(each.ids, each.missing) for each in cited] == [((), True)] * 3


def test_the_longest_number_that_any_law_prints_is_meant():
    laws = [("a7", "First Act", "7"), ("b7", "Second Act", "7"), ("b7c", "Second Act", "7c")]
    resolver = CitationResolver(laws)
    assert [each.ids for each in resolver.resolve("§ 7 c")] == [("b7c",)]
    (of_the_first,) = resolver.resolve("§ 7 c of the First Act")
    assert (of_the_first.ids, of_the_first.unfollowed) == ((), "§ 7 c")


def test_a_number_with_a_hyphen_is_no_range_where_others_are_none():
    numbers = ["1-3", "2-207", "2-314", "9-109"]
    resolver = CitationResolver((number, "Uniform Code", number) for number in numbers)
    for text in ("Rule 12", "section 100 of the Uniform Code"):
        (found,) = resolver.resolve(text)
        assert found.ids == ()


def test_articles_printed_as_one_are_found_by_each_of_their_numbers():
    printed = ["§ 1", "§§ 15 bis 20", "§ 21", "30-32", "33"]
    chapters = ["1-1", "1-2", "1-3", "2-1", "5"]  # a number with a hyphen, no range
    resolver = CitationResolver(
        [*((n, HOUSING, n) for n in printed), *((n, RULES, n) for n in chapters)]
    )
    texts = ("§ 17", "§§ 15 bis 20", "§ 31", "§ 30-32", "§ 22")
    found = [resolver.resolve(f"{each} Housing Code")[0].ids for each in texts]
    assert found == [("§§ 15 bis 20",), ("§§ 15 bis 20",), ("30-32",), ("30-32",), ()]
    assert [resolver.resolve(f"§ {each} Conduct Rules")[0].ids for each in ("2", "1-2")] == [
        (),
        ("1-2",),
    ]


def test_a_final_title_has_numbers_of_its_own():
    resolver = CitationResolver([(n, HOUSING, n) for n in ("8", "8 SchlT", "9")])
    texts = ("Art. 8 Housing Code", "Art. 8 SchlT Housing Code", "Art. 9 Abs. 1 SchlT Housing Code")
    assert [pins(resolver, each) for each in texts] == [["8"], ["8 SchlT"], []]


def test_the_articles_that_follow_are_a_hint(of_income):
    (found,) = of_income.resolve_question("§§ 5 ff. of the Income Act").citations
    assert found.ids == tuple(PRINTED[3:9])
    assert found.clear and not found.certain


@pytest.mark.parametrize(
    ("numbers", "question", "found"),
    [
        (["1o", "3o", "3o. Bis", "10"], "artículo 1", ["1o"]),
        (["1o", "3o", "3o. Bis", "10"], "artículo 3o. Bis", ["3o. Bis"]),
        (["1o", "2o-B"], "art. 2º-B", ["2o-B"]),
        (["§ 1396", "§ 1396o"], "§ 1396", ["§ 1396"]),
        (["4", "Ek Madde 4", "Geçici Madde 4"], "madde 4", ["4"]),
        (["4", "Ek Madde 4", "Geçici Madde 4"], "geçici madde 4", ["Geçici Madde 4"]),
        (["4", "§ 4"], "чл. 4", ["4"]),
        (["4", "§ 4"], "§ 4", ["§ 4"]),
        (["2", "2-а"], "член 2-а", ["2-а"]),
        (["LO 8-2", "L8-2"], "article LO 8-2", ["LO 8-2"]),
        (["§§ 1-4 til 1-6", "§ 1-7"], "§ 1-5", ["§§ 1-4 til 1-6"]),
        (["3 §", "5–7 §"], "6 §", ["5–7 §"]),
    ],
)
def test_a_number_finds_what_the_law_prints(numbers, question, found):
    resolver = CitationResolver([(number, HOUSING, number) for number in numbers])
    assert pins(resolver, question) == found


@pytest.mark.parametrize("question", ["член 2-б", "ст. 2-б", "článek 2-b"])
def test_a_letter_that_no_law_prints_pins_nothing(question):
    assert pins(CitationResolver([("2", HOUSING, "2")]), question) == []
