"""Citations resolved: which article a question names, and when it names none."""

import json

import pytest
from effort import bounded_effort, bounded_steps
from slow_cases import slow

from components.statutes import Article, StatuteCorpus
from components.statutes.citations import resolver as citation_resolver
from components.statutes.citations.resolver import CitationResolver
from components.statutes.graph import cross_references

HOUSING, WORK = "Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)"
ENTRIES = [
    *((f"h{n}", HOUSING, n) for n in ("5", "12", "13", "13-1", "14")),
    *((f"w{n}", WORK, n) for n in ("5", "12", "20")),
]


@pytest.fixture(scope="module")
def resolver():
    return CitationResolver(ENTRIES)


def pins(resolver, text):
    """What a text names without doubt."""
    return [r.ids[0] for r in resolver.resolve(text) if r.certain]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("what does article 12 of the Housing Code say", ["h12"]),
        ("art. 12 Housing Code", ["h12"]),
        ("art 12 housing code", ["h12"]),
        ("HOUSING CODE ARTICLE 12", ["h12"]),
        ("What does the Housing Code say in article 12?", ["h12"]),
        ("Under the Housing Code, what does section 12(3) mean?", ["h12"]),
        ("article 12, paragraph 2, of the Housing Code", ["h12"]),
        ("paragraph 3 of article 12 of the Housing Code", ["h12"]),
        ("articles 12 and 13-1 of the Housing Code", ["h12", "h13-1"]),
        ("Housing Code, art 12 against Work Code, art 12", ["h12", "w12"]),
        ("Housing Code § 12, Work Code § 5", ["h12", "w5"]),
        ("Housing Code: art. 12, Work Code: art. 5", ["h12", "w5"]),
        # Paragraphs are no articles, however many there are.
        ("Housing Code § 13 Abs. 5 bis 12", ["h13"]),
        ("§ 12 Abs. 5 und 13 Housing Code", ["h12"]),
        ("section 12, paragraphs 5 to 13 of the Housing Code", ["h12"]),
        ("article 12, points 5 and 13, of the Housing Code", ["h12"]),
        ("articles 14 and 12, points 5 and 13, of the Housing Code", ["h14", "h12"]),
        ("article 13 § 5 à 12 du Housing Code", ["h13"]),
        ("§§ 12 Abs. 1 und 13 Housing Code", ["h12", "h13"]),
        ("article 12 of the Housing Code in Dutch", ["h12"]),
        ("Under article 12 of the Housing Code British tenants may stay", ["h12"]),
        ("Housing Code art. 12, 13 and 14; Work Code art. 5", ["h12", "h13", "h14", "w5"]),
        ("art. 12 Housing Code, art. 5 Work Code", ["h12", "w5"]),
        # No false pins.
        ("I worked 12 hours and the Housing Code protects me", []),
        ("in section 5 of my contract", []),
        ("article 12 of my lease under the Housing Code", []),
        ("my lease, section 5, and the Housing Code", []),
        ("article 12 of the Tax Code", []),
        ("article 12 of the Code of Civil Procedure", []),
        ("article 99 of the Housing Code", []),
        ("article 12", []),
        ("article 20", []),  # the only one of that number, but who says of which law?
        ("Section 5 of Chapter 2 of the Housing Code", []),
        ("The Housing Code allows it, but my contract says in section 5 that I pay", []),
        ("articles 12 to 14 of the Housing Code", []),
        ("paragraph 5 of the Housing Code", []),
        ("article 12 of the Housing Code Enforcement Act", []),
        ("article 12 of the Housing Code (Fees) Regulations", []),
        ("article 12 of that Act", []),
    ],
)
def test_a_citation_pins_an_article_where_it_names_its_law(resolver, question, named):
    assert pins(resolver, question) == named


def test_an_act_of_another_year_is_not_pinned():
    resolver = CitationResolver([("h12", "Housing Act 1988", "12")])
    for question in ("section 12 Housing Act, 1996", "Housing Act 1996, section 12"):
        assert pins(resolver, question) == []
        assert pins(resolver, question.replace("1996", "1988")) == ["h12"]


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("article 12", ("h12", "w12")),
        ("article 12 of that Act", ("h12", "w12")),
        ("article 20", ("w20",)),
        ("articles 12 to 13-1 of the Housing Code", ("h12", "h13", "h13-1")),
        ("section 5 of my contract", ()),
        ("article 12 of the Tax Code", ()),
        ("article 99", ()),
        # A dash may be printed for a number's hyphen, and a hyphen for a range's dash.
        ("article 13–1 Housing Code", ("h13-1",)),
        ("article 13—1 Housing Code", ("h13-1",)),
        ("article 13\u22121 Housing Code", ("h13-1",)),
        ("articles 12–13 of the Housing Code", ("h12", "h13")),
        ("articles 12-13 of the Housing Code", ("h12", "h13")),
        ("article 12-13 of the Housing Code", ()),
        ("articles 13-1 of the Housing Code", ("h13-1",)),
        ("articles 13-12 of the Housing Code", ()),
        ("articles 12 to 999 of the Housing Code", ("h12", "h13", "h13-1", "h14")),
    ],
)
def test_ids_that_fit(resolver, question, ids):
    (resolved,) = resolver.resolve(question)
    assert resolved.ids == ids


def test_a_hyphen_may_stand_for_to_between_numbers_with_letters():
    resolver = CitationResolver([(n, HOUSING, n) for n in ("13A", "13B", "13C", "14")])
    for sign, ids in (("ss", ("13A", "13B", "13C")), ("s", ())):
        (resolved,) = resolver.resolve(f"{sign} 13A-13C of the Housing Code")
        assert resolved.ids == ids


@pytest.mark.parametrize(
    ("question", "laws", "missing"),
    [
        ("article 99 Housing Code", (HOUSING,), True),
        ("article 99", (), True),
        ("article 12 of the Tax Code", (), True),
        ("article 12 Housing Code", (HOUSING,), False),
        ("article 12", (), False),
        ("section 99 of my contract", (), False),
        ("My contract says in section 99 that I pay", (), False),
        ("paragraph 99", (), False),
    ],
)
def test_what_the_corpus_does_not_hold_is_missing(resolver, question, laws, missing):
    (resolved,) = resolver.resolve(question)
    assert (resolved.laws, resolved.missing) == (laws, missing)


def test_in_a_corpus_of_one_law_a_bare_citation_is_certain_unless_another_text_is_named():
    resolver = CitationResolver(entry for entry in ENTRIES if entry[1] == HOUSING)
    assert pins(resolver, "What does article 13 require?") == ["h13"]
    for question in (
        "Does article 5 of the Treaty or article 13 protect tenants?",
        "My contract says in section 13 that I pay",
        "regulation 13",
        "According to the GDPR, what does article 13 say?",
        "Le Code pénal s'applique-t-il, et l'article 13 ?",
        "section 13 of the Companies Act",
    ):
        assert pins(resolver, question) == [], question


PARTS = [
    *(("a", "Act", "s.2(1)"), ("b", "Act", "s.2(1)"), ("c", "Act", "s.2(2)"), ("d", "Act", "s.3")),
    *(("e", "Act", "Schedule 1.Part 1.4.(1)"), ("f", "Act", "Schedule 2.4")),
]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("section 2", ("a", "b", "c")),
        ("section 2(1)", ("a", "b")),
        ("section 2(2)(b)", ("c",)),
        ("section 2(9)", ()),
        ("section 3(1)(a)", ("d",)),
        ("sections 2 to 3", ("a", "b", "c", "d")),
        ("paragraph 4", ("e", "f")),
        ("paragraph 4(1) of Schedule 1", ("e",)),
        ("section 4", ()),
    ],
)
def test_levels_above_and_below_the_printed_ones(text, ids):
    (resolved,) = CitationResolver(PARTS).resolve(text)
    assert resolved.ids == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("as article 12 says", [("w12",)]),
        ("article 12 of this Code", [("w12",)]),
        ("article 12 of the Housing Code and article 5 of that Code", [("h12",), ("h5",)]),
        ("article 12 of the Tax Code and article 5 of that Code", [(), ()]),
        ("article 5 of that Code", [()]),
        ("articles 5 and 12 of the Housing Code", [("h5",), ("h12",)]),
    ],
)
def test_within_an_article_its_own_law_is_meant(resolver, text, ids):
    assert [r.ids for r in resolver.resolve(text, within="w20")] == ids
    with pytest.raises(KeyError):
        resolver.resolve(text, within="unknown")


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


def test_a_text_of_many_citations_is_searched_for_other_laws_once(monkeypatch):
    searched = []

    class Counted:
        def search(self, text):
            searched.append(text)

    monkeypatch.setattr(citation_resolver, "OTHER_LAW", Counted())
    resolved = CitationResolver([("h5", HOUSING, "5")]).resolve("article 5, see also " * 50)
    assert [each.certain for each in resolved] == [True] * 50
    assert len(searched) == 1


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
    resolver = CitationResolver([(str(n), HOUSING, str(n)) for n in range(1, 40)])
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
    resolver = CitationResolver([(n, HOUSING, n) for n in numbers])
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
    resolver = CitationResolver([(str(n), HOUSING, str(n)) for n in range(1, 100)])
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
