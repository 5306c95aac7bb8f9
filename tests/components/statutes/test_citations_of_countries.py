"""Citations by language, a row of `citations_of_countries.jsonl` each; some rows cite nothing."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from effort import bounded_effort

from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import read_tables
from components.statutes.citations.resolver import CitationResolver

_LINES = Path(__file__).with_name("citations_of_countries.jsonl").read_text("utf-8").splitlines()
ROWS = [json.loads(line) for line in _LINES]
LANGUAGES = list(dict.fromkeys(row["language"] for row in ROWS))
WHOLE = LANGUAGES[: LANGUAGES.index("cs")]
"""The languages with forty forms; the others share the table and have a few."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms_of_a_country_are_read(language):
    rows = [row for row in ROWS if row["language"] == language]
    wrong = []
    for row in rows:
        read = [
            [f"{c.number}–{c.through}" if c.through else c.number, c.paragraph, c.law_hint]
            for c in find_citations(row["text"])
        ]
        if read != row["found"]:
            wrong.append((row["text"], read))
    assert wrong == []
    if language in WHOLE:
        assert sum(bool(row["found"]) for row in rows) >= 40
        assert sum(not row["found"] for row in rows) >= 10


# A law of each language as its readers number it, a question, and the article that it means


@pytest.mark.parametrize(
    ("law", "numbers", "question", "meant"),
    [
        ("형법", ["제329조", "제329조의2"], "형법 제329조의2 제1항", "제329조의2"),
        ("형법", ["329", "329의2"], "형법 제329조의2", "329의2"),
        ("勞動基準法", ["第11條", "第11條之1"], "《勞動基準法》第11條之1第1項", "第11條之1"),
        ("民法", ["第三条", "第三条の二"], "民法第３条ノ２", "第三条の二"),
        ("Burgerlijk Wetboek", ["6:16", "6:162"], "art. 6:162 lid 1 BW", "6:162"),
        ("Kodeks Cywilny (KC)", ["Art. 22", "Art. 22¹"], "art. 22¹ § 1 KC", "Art. 22¹"),
        ("Jordabalken (JB)", ["1 kap. 8 §", "12 kap. 8 §"], "12 kap. 8 § JB", "12 kap. 8 §"),
        ("Lejeloven", ["§ 19", "§ 19 b"], "lejelovens § 19 b, stk. 1", "§ 19 b"),
        ("Husleieloven", ["§ 9-2", "§ 9"], "husleieloven § 9-2 annet ledd", "§ 9-2"),
        ("Rikoslaki (RL)", ["21:1", "1"], "RL 21:1", "21:1"),
        ("Rikoslain", ["21 luku 1 §", "1 §"], "rikoslain 21 luvun 1 §:n mukaan", "21 luku 1 §"),
        ("Трудовой кодекс (ТК РФ)", ["81", "Статья 15.1"], "статья 15.1", "Статья 15.1"),
        ("Цивільний кодекс України", ["22", "22¹"], "ст. 22-1", "22¹"),
        ("Borçlar Kanunu", ["Madde 4", "Madde 49"], "Borçlar Kanunu m. 49/1", "Madde 49"),
        ("Αστικός Κώδικας", ["Άρθρο 91", "Άρθρο 914"], "άρθρο 914", "Άρθρο 914"),
        ("Codul civil", ["Articolul 14", "Art. 14^1"], "art. 14^1 din Codul civil", "Art. 14^1"),
        ("Codul civil", ["1349", "1350"], "art. 1.349 alin. (2) din Codul civil", "1349"),
        ("KUHP", ["Pasal 36", "Pasal 362"], "Pasal 362 KUHP", "Pasal 362"),
        ("ประมวลกฎหมายอาญา", ["288", "มาตรา ๒๘๙"], "ประมวลกฎหมายอาญา มาตรา 289", "มาตรา ๒๘๙"),
        ("Občanský zákoník", ["§ 220", "§ 2201"], "§ 2201 odst. 1", "§ 2201"),
        ("Polgári törvénykönyv", ["6:51. §", "6:519. §"], "6:519. §", "6:519. §"),
        ("Закон", ["Чл. 7", "Чл. 7а"], "чл. 7а, ал. 1", "Чл. 7а"),
        (
            "Civilinis kodeksas",
            ["6.24", "6.249 straipsnis"],
            "6.249 straipsnis",
            "6.249 straipsnis",
        ),
        ("Civillikums", ["5. pants", "5.¹ pants"], "5.¹ pants", "5.¹ pants"),
        ("Võlaõigusseadus", ["§ 12", "§ 12¹"], "§ 12¹ lg 2", "§ 12¹"),
        ("Zakon", ["3. člen", "3.a člen"], "drugi odstavek 3.a člena", "3.a člen"),
        ("Zakon", ["Članak 15.", "Članak 15.a"], "članak 15. stavak 2.", "Članak 15."),
        ("Lög", ["3. gr.", "3. gr. a"], "3. gr. a", "3. gr. a"),
    ],
)
def test_the_number_cited_is_the_number_printed(law, numbers, question, meant):
    resolver = CitationResolver((number, law, number) for number in numbers)
    (resolved,) = resolver.resolve(question)
    assert resolved.ids == (meant,)
    assert resolved.certain


def test_what_shared_words_begin_is_left_to_the_general_reader():
    (citation,) = find_citations("Article 12 of the Housing Code, § 5 stk, lid 2")[:1]
    assert citation.law_hint == "Housing Code"


@pytest.mark.parametrize(
    "text",
    [
        "§ 12 Abs. 1 BGB, art. 5 ust. 2 k.c. i art. 6 k.p., ст. 15 ГК РФ и article 12 and 13",
        "lejelovens § 19 b og § 20, artikel 5 lid 2 BW en artikel 6 lid 3 AVG",
        "第五条から第八条まで、article 5 第9条",
    ],
)
def test_citations_of_both_readers_lie_in_order_and_apart(text):
    found = find_citations(text)
    assert len(found) >= 3
    assert all(text[c.start : c.end] == c.text for c in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize(
    "piece",
    [
        *("art. 5 ust. 2 i ", "§ 12, ", "1, ", "1 kap. ", "ч. 1 ", "第1条、", "제1조 및 ", "1 en "),
        *("มาตรา 5 และ", "кодекса ", "ustawy o ", "lov om ", "sayılı Kanun ", "m. 5/2-b ", "a "),
    ],
)
def test_a_hostile_text_is_read_in_no_time(piece):
    words = " ".join(
        word for row in read_tables("countries").values() for word in row["words"].split("|")
    )
    with bounded_effort():
        find_citations(words + (piece * 10_000)[:10_000])
