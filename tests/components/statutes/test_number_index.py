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
