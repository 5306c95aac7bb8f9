"""Citations resolved: which article a text names, and when it names none.

The rows of `resolutions.jsonl` are corpora, each a list of (id, law, number), and texts with what
is found in one of them, or in a law with the given numbers (without a name, the Housing Code): per
citation its `ids`, `laws`, `missing`, `absent`, `unfollowed` and `clear`, and in `pins` the
articles that the text names without doubt.
"""

import json
from functools import cache

import pytest
from effort import bounded_effort, bounded_steps
from slow_cases import slow
from statute_tables import rows_of

from components.statutes import Article, StatuteCorpus
from components.statutes.citations.resolver import CitationResolver
from components.statutes.graph import cross_references

HOUSING, WORK = "Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)"
ROWS = rows_of("resolutions.jsonl")
CORPORA = {row["corpus"]: row["articles"] for row in ROWS if "articles" in row}
TEXTS = [row for row in ROWS if "text" in row]


@cache
def resolver_of(corpus):
    return CitationResolver(CORPORA[corpus])


def numbered(numbers, law=HOUSING):
    """A resolver of one law; an article's number is its id."""
    return CitationResolver([(str(number), law, str(number)) for number in numbers])


def pins(resolver, text, **options):
    """What a text names without doubt."""
    return [r.ids[0] for r in resolver.resolve(text, **options) if r.certain]


@pytest.mark.parametrize("row", TEXTS, ids=[row["text"] for row in TEXTS])
def test_a_text_finds_the_articles_that_it_cites(row):
    if "corpus" in row:
        resolver = resolver_of(row["corpus"])
    else:
        resolver = numbered(row["numbers"], row.get("law", HOUSING))
    found = resolver.resolve(row["text"], within=row.get("within"))
    for field in {"ids", "laws", "missing", "absent", "unfollowed", "clear"} & row.keys():
        values = [getattr(each, field) for each in found]
        assert [list(v) if isinstance(v, tuple) else v for v in values] == row[field]
    if "pins" in row:
        assert [each.ids[0] for each in found if each.certain] == row["pins"]


def test_the_article_in_which_a_text_stands_must_be_of_the_corpus():
    with pytest.raises(KeyError):
        resolver_of("codes").resolve("article 12", within="unknown")


def test_a_further_article_in_a_chinese_sentence_is_of_the_law_just_named():
    laws = ("中华人民共和国刑法", "解释")
    resolver = CitationResolver(
        (f"{law[-1]}{n}", law, n) for law in laws for n in ("第二条", "第九条")
    )
    text = "刑法第二条规定的盗窃罪，第九条规定的诈骗罪。第九条另有规定的除外。"
    found = [r.ids for r in resolver.resolve(text, within="释第二条")]
    assert found == [("法第二条",), ("法第九条",), ("释第九条",)]


def test_cross_references_join_positions_once_and_never_an_article_with_itself():
    articles = [
        Article("a", HOUSING, "1", (), "See Article 2, Article 2(1) and Article 1."),
        Article("b", HOUSING, "2", (), "Subject to Article 1 of the Work Code and Article 9."),
        Article("c", WORK, "1", (), "Articles 1 and 2 of the Housing Code; Article 5 of my lease."),
    ]
    references = cross_references(articles)
    assert references.pairs == [(0, 1), (1, 2), (2, 0), (2, 1)]
    assert references.unresolved == 2  # there is no Article 9, and a lease is no law


def test_hostile_questions_are_answered_in_no_time():
    resolver = CitationResolver(
        (f"{law}-{n}", f"第{law}法", str(n)) for law in range(300) for n in range(1, 30)
    )
    for piece in (
        *("article 1 ", "articles 1, ", "第一条", "第3法", "s. 1 (a)", "§ 5 II ", "1988 s 1 "),
        *("article 1 to article ", "L1221-1, 2, 3", "德国《民法典》", "article 1 of the Act is "),
    ):
        with bounded_effort():
            resolver.resolve((piece * 10_000)[:10_000])


def test_no_question_takes_more_steps_than_its_bounds_allow():
    resolver = CitationResolver(
        (f"{law}-{n}", f"第{law}法", str(n)) for law in range(300) for n in range(1, 100)
    )
    for question in (
        "articles " + ", ".join(f"{i} to {i + 900}" for i in range(40)),
        "".join(f"第{i}条至第{i + 60}条" for i in range(1, 200)),
        "; ".join(f"articles {i + 30} to {i}" for i in range(1, 60)),
        "articles " + ", ".join(map(str, range(1, 500))),
        " ".join(f"art. {i % 9 + 1}.{i // 9 + 1}" for i in range(200)),
    ):
        with bounded_steps(1_500_000):
            resolver.resolve_question(question[:2_000])


def test_of_a_question_eight_ranges_are_followed_and_the_others_are_named():
    resolver = numbered(range(1, 40))
    ranges = [f"{n} to {n + 1}" for n in range(1, 11)]
    # A repeated range counts once, and one that the law lacks does not count.
    question = f"articles 300 to 400, {', '.join([*ranges, ranges[0]])} of the Housing Code"
    missing, *followed = resolver.resolve_question(question).citations
    assert (missing.missing, missing.unfollowed) == (True, None)
    assert [each.ids for each in followed[:8]] == [(str(n), str(n + 1)) for n in range(1, 9)]
    assert [each.unfollowed for each in followed] == [None] * 8 + ["9 to 10", "10 to 11", None]
    assert not any(each.missing for each in followed)
    assert len(resolver.resolve(question)[9].ids) == 2  # a text of our own has no such bounds


def test_a_number_with_a_dash_is_no_range_of_a_question():
    numbers = [f"13-{n}" for n in range(1, 15)]
    resolver = numbered(numbers)
    for dash in "-–":
        question = "articles " + ", ".join(numbers).replace("-", dash) + " of the Housing Code"
        assert [each.ids for each in resolver.resolve_question(question).citations] == [
            (number,) for number in numbers
        ]


@pytest.mark.parametrize(
    ("piece", "n_cited"),
    [("art. {n} Housing Code; ", 30), ("第{n}条，", 30), ("s {n}! ", 1)],  # a lone "s" may not cite
)
def test_a_question_is_read_up_to_its_thirtieth_citation(piece, n_cited):
    resolver = numbered(range(1, 100))
    question = "".join(piece.format(n=n) for n in range(1, 41))
    read = resolver.resolve_question(question)
    assert read.unread == "".join(piece.format(n=n) for n in range(31, 41))
    assert len(read.citations) == n_cited
    assert resolver.resolve_question(question[: -len(read.unread)]).unread == ""


def test_a_citation_of_any_law_is_followed_through_so_many_laws():
    resolver = CitationResolver(
        (f"{law}-{n}", f"L{law}", str(n)) for law in range(2000) for n in "123"
    )
    one, two, three = resolver.resolve_question("art. 1, art. 2, art. 3").citations
    assert (len(one.ids), one.unfollowed) == (2000, None)
    assert (len(two.ids), two.unfollowed) == (1000, "art. 2")
    assert (three.ids, three.unfollowed, three.missing) == ((), "art. 3", False)


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
    (resolved,) = resolver_of("ranges").resolve(f"articles 14 to {end} of the Housing Code")
    assert resolved.absent is not None


def test_a_paragraph_behind_a_dot_is_no_article_in_a_law_s_own_text_nor_among_some():
    entries = [("a", HOUSING, "12"), ("b", HOUSING, "13")]
    assert CitationResolver(entries).resolve("article 12.3", within="b")[0].ids == ()
    assert CitationResolver(entries, whole=False).resolve("article 12.3")[0].ids == ()


def test_every_citation_of_the_demo_law_resolves(aldermere_articles):
    lines = aldermere_articles.read_text(encoding="utf-8").splitlines()
    articles = [json.loads(line) for line in lines]
    resolver = CitationResolver((a["id"], a["law"], a["number"]) for a in articles)
    lost = [
        (article["id"], resolved.citation.text)
        for article in articles
        for resolved in resolver.resolve(article["text"], within=article["id"])
        if not resolved.ids
    ]
    assert lost == []
    for article in articles:
        question = f"What does article {article['number']} of the {article['law']} say?"
        assert pins(resolver, question) == [article["id"]]


@pytest.mark.parametrize(
    ("corpus", "share", "pairs"),
    [
        ("pdpa_en", 0.9, 250),
        ("bsard_livre1_fr", 0.85, 440),
        *slow(("obliqa_en", 0.85, 6_000), ("code_du_travail_fr", 0.94, 12_000)),
    ],
)
def test_cross_references_of_real_law_resolve(real_data, corpus, share, pairs):
    articles = StatuteCorpus.read(real_data(corpus)).articles
    resolver = CitationResolver((a.id, a.law, a.number) for a in articles)
    own = [
        resolved
        for article in articles
        for resolved in resolver.resolve(article.text, within=article.id, language=article.language)
        if resolved.citation.reference in ("none", "own")
    ]
    assert sum(bool(resolved.ids) for resolved in own) / len(own) >= share
    assert len(cross_references(articles).pairs) >= pairs


@pytest.mark.parametrize(
    ("corpus", "number", "questions"),
    [
        ("bsard_livre1_fr", "203bis", ["L'article 203bis du Code civil s'applique-t-il ?"]),
        ("pdpa_en", "PDPA s.53(2)", ["PDPA s.53(2)"]),
        *slow(
            (
                *("code_du_travail_fr", "L1221-1"),
                ["que dit l'article L. 1221-1 du Code du travail ?", "article l1221-1 c. trav."],
            ),
            ("stard_zh", "第一千零七十九条", ["民法典第1079条怎么规定？"]),
        ),
    ],
)
def test_questions_pin_articles_of_real_law(real_data, corpus, number, questions):
    articles = StatuteCorpus.read(real_data(corpus))
    resolver = CitationResolver((a.id, a.law, a.number) for a in articles)
    for question in questions:
        assert [articles[articles.position(i)].number for i in pins(resolver, question)] == [number]
