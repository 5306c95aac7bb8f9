"""HTML of results: escaped, on one line, and true to the article; and the files taken away."""

import html
import json
import re
from datetime import date
from io import BytesIO
from typing import Any

import pytest
from docx import Document
from hypothesis import given
from hypothesis import strategies as st
from small_law import told as text_of

from ui.article import BINARY, MEDIA_TYPES, export, heading_title, result_title
from ui.frame import Collection
from ui.language import LANGUAGES, TEXTS, Language
from ui.results import found, results


def document(**changes: Any) -> dict[str, Any]:
    return {
        "id": "housing-12",
        "law": "Housing Code",
        "number": "12",
        "headings": ["Book I. Letting", "Chapter 2. Deposits"],
        "content": "(1) A deposit is owed.\n(a) in money;\nThis is all.",
        "score": 1.0,
        "ranks": {"bm25": 3},
        "passages": [{"start": 0, "end": 22, "score": 0.5}],
        "state": "in force",
        "valid_from": "2009-01-01",
        **changes,
    }


def shown(interface: Language = "en", **changes: Any) -> str:
    given = {"question": "why?", "took_ms": 41.4, "documents": [document(**changes)]}
    return results(given, interface)


def quoted(answer: dict[str, Any], interface: Language = "en") -> str:
    """What stands above the results."""
    return str(results(answer, interface)).split('<div class="list">')[0]


def answered(scores: list[float], **changes: Any) -> dict[str, Any]:
    """An answer of as many articles, each with one passage of this score."""
    documents = [
        document(id=f"a{n}", passages=[{"start": 0, "end": 22, "score": score}])
        for n, score in enumerate(scores)
    ]
    return {"question": "why?", "took_ms": 1.0, "documents": documents, **changes}


def test_the_passages_with_the_best_scores_are_quoted_and_only_law_that_binds():
    for scores, ids in (
        ([0.9, 0.8, 0.7, 0.6, 0.5], ["a0", "a1", "a2", "a3"]),
        ([0.5, 0.3, 0.5, 0.6, 0.9], ["a3", "a0", "a2", "a1"]),
        ([0.9, 0.2, 0.5, 0.1, 0.1], ["a0", "a2", "a1"]),
    ):
        given = answered(scores)
        given["documents"][4]["state"] = "repealed"
        assert list(dict.fromkeys(re.findall(r"id=(a\d)", quoted(given)))) == ids


def test_a_passage_of_another_law_than_the_best_is_not_quoted():
    given = answered([0.9, 0.8, 0.7])
    given["documents"][1]["law"] = "Work Code"
    assert list(dict.fromkeys(re.findall(r"id=(a\d)", quoted(given)))) == ["a0", "a2"]


@pytest.mark.parametrize("doubtful", [False, True])
def test_terms_of_the_passages_are_explained_below_them(doubtful):
    definition = {"term": "fee", "text": "“fee” means <it>", "id": "a9", "law": "Housing Code"}
    definition |= {"number": "2", "anchor": "pb", "used_in": "a0"}
    other = {**definition, "text": "another", "used_in": "a8"}
    above = quoted(answered([0.9], definitions=[definition, other], doubtful=doubtful))
    assert ("Terms used here" in above) is not doubtful
    assert ("“fee” means &lt;it&gt;</span> <a" in above) is not doubtful
    assert ("id=a9#pb" in above) is not doubtful
    assert "another" not in above


PARAGRAPHS = "(1) The rent is due on Monday.\n(2) The deposit is due in May.\n(3) Dogs may stay."


def two_passages(first: float, second: float, text: str = PARAGRAPHS) -> dict[str, Any]:
    passages = [{"start": 31, "end": 61, "score": first}, {"start": 0, "end": 30, "score": second}]
    found = document(content=text, passages=passages, language="en")
    return {"question": "deposit due", "took_ms": 1.0, "documents": [found]}


def test_a_short_article_whose_passages_are_near_is_quoted_whole_with_the_best_marked():
    whole = quoted(two_passages(0.5, 0.4))
    assert "Dogs may stay." in whole
    assert re.findall(r'class="numbered named"><span>(\(\d\))', whole) == ["(2)"]
    for apart in (two_passages(0.5, 0.1), two_passages(0.5, 0.4, PARAGRAPHS + " So." * 150)):
        assert "Dogs may stay." not in quoted(apart)
        assert "named" not in quoted(apart)


@pytest.mark.parametrize(("language", "words"), [("en", "The nearest rule"), ("fr", "La règle la")])
def test_an_article_that_fits_with_no_passage_that_does_says_so(language, words):
    assert words in quoted(two_passages(0.1, 0.01), language)
    for certain in (two_passages(0.3, 0.01), two_passages(0.1, 0.09), answered([0.1])):
        assert words not in quoted(certain, language)
    # The page doubts all of it already.
    assert words not in quoted({**two_passages(0.1, 0.01), "doubtful": True}, language)


def test_what_next_is_only_from_a_passage_that_decides_of_the_first_article():
    text = "(1) The rent is due within 14 days.\n(2) The deposit is due within one month.\n(3) No."
    passages = [{"start": 36, "end": 76, "score": 0.5}, {"start": 0, "end": 35, "score": 0.2}]
    first = document(content=text, passages=passages, language="en", ranks={"a": 1, "b": 1, "c": 9})
    given = {"question": "deposit due", "took_ms": 1.0, "documents": [first]}
    card = quoted(given).split('class="next"')[1]
    assert "<mark>within one month</mark>" in card
    assert "14 days" not in card
    assert "#p2" in card
    other = document(id="other", passages=[{"start": 0, "end": 22, "score": 0.1}])
    near = document(id="near", passages=[{"start": 0, "end": 22, "score": 0.3}])
    elsewhere = {**first, "ranks": {"a": 1, "b": 2}}
    for changed in (
        *({"documents": [other, first]}, {"documents": [first, near]}),
        *({"documents": [elsewhere]}, {"doubtful": True}),
    ):
        assert 'class="next"' not in quoted({**given, **changed})
    assert 'class="next"' in quoted({**given, "documents": [first, other]})
    passages[0]["score"] = 0.3
    assert 'class="next"' not in quoted(given)


def test_a_result_shows_title_law_number_path_state_words_and_ranks():
    text = text_of(shown())
    for part in (
        *("What the law says", "Results for", "Deposits (Letting)", "Article 12, Housing Code"),
        *("Book I. Letting", "Chapter 2. Deposits", "In force since 1 January 2009"),
        *("(1) A deposit is owed.", "(a) in money;", "This is all.", "Same words rank 3"),
    ):
        assert part in text


def test_a_paragraph_that_is_named_is_marked_and_linked():
    content = "(1) One.\n(2) Two:\n(a) first;\n(b) last;\nor neither.\n(3) Three."
    start = content.index("(2)")
    named = {"content": content, "ranks": {"citation": 1}, "passage": {"start": start, "end": 40}}
    markup = str(shown(**named))
    marked = re.findall(r'<p class="[^"]*named">(.*?)</p>', markup)
    assert list(map(text_of, marked)) == ["(2) Two:", "(a) first;", "(b) last;", "or neither."]
    assert '<h3><a href="/article?id=housing-12#p2"' in markup
    assert "Article 12(2), Housing Code" in text_of(markup)
    for other in ({"ranks": {"citation": 1}}, {"ranks": {"bm25": 1}, "passage": named["passage"]}):
        assert 'named">' not in str(shown(**{"content": content, **other}))


def words_of(markup: str) -> list[str]:
    shown = re.sub(r"<summary[^>]*>.*?</summary>", "", markup)
    return html.unescape(re.sub(r"<[^>]*>", " ", shown)).split()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_word_of_an_article_is_shown_in_order(content):
    laws = re.findall(
        r'<div class="law" dir="auto">(.*?)</div>', shown(content=content, passages=[])
    )
    # A marker such as "0)" stands apart from what follows it.
    assert "".join(words_of(laws[-1])) == "".join(content.split())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "in force", "valid_to": "2030-06-30"}, "2009, until 30 June 2030"),
        ({"state": "repealed", "valid_to": "2018-12-31"}, "No longer law since 1 January 2019"),
        ({"state": "repealed"}, "Repealed"),
        *(
            ({"state": "not yet in force", "earlier_text": earlier}, words)
            for earlier, words in (
                ("none", "Not yet law; in force from 1 January 2009"),
                ("held", "This wording applies from 1 January 2009"),
                ("not held", "Earlier text not held; this wording applies from 1 January 2009"),
                ("unknown", "This wording applies from 1 January 2009; no earlier text is held"),
            )
        ),
        ({"state": "in force", "valid_from": None, "valid_to": "2030-06-30"}, "In force, until 30"),
    ],
)
def test_the_state_is_reported_in_words(changes, words):
    assert words in text_of(shown(**changes))


@pytest.mark.parametrize("language", LANGUAGES)
def test_dates_that_are_not_known_are_reported_once_for_all_results(language):
    undated = {"state": "unknown", "valid_from": None}
    texts = TEXTS[language]
    given = answered([0.9, 0.8, 0.7])
    assert texts.ask.undated not in text_of(results(given, language))
    given["documents"] = [{**each, **undated} for each in given["documents"]]
    told = text_of(results(given, language))
    assert told.count(texts.ask.undated) == 1
    assert texts.states.unknown not in told.replace(texts.ask.undated, "")


@pytest.mark.parametrize(
    ("number", "title"),
    [("14-1", "Article 14-1"), ("L1221-1", "Article L1221-1")]
    + [(number, number) for number in ("第一条", "s.2(1)", "§ 823", "Art. 13")],
)
def test_a_number_is_called_article_only_where_it_reads_as_one(number, title):
    markup = shown(number=number)
    assert f'<p class="cite"><span>{title}, <span dir="auto">Housing Code</span>' in markup


@pytest.mark.parametrize(
    ("language", "title", "cited"),
    [
        ("de", "Artikel 12", "Housing Code, Artikel 12"),
        ("es", "Artículo 12", "Housing Code, artículo 12"),
        ("it", "Articolo 12", "Housing Code, articolo 12"),
    ],
)
def test_an_article_is_called_so_in_the_language_of_the_page(language, title, cited):
    markup = shown(language)
    assert f'<p class="cite"><span>{title}, ' in markup
    assert f'dir="auto">{cited}</span>' in markup
    assert "Article 12" not in text_of(markup)
    assert result_title(document(headings=[]), language) == title
    assert cited in export("txt", [ARTICLE], language, COLLECTION, ON, TODAY).decode()


def test_a_result_s_title_is_that_of_its_division_without_its_number():
    for heading, title in (
        ("Section 2. Return of the deposit", "Return of the deposit"),
        ("Titre IV : Des baux", "Des baux"),
        ("Part 3 - Duties", "Duties"),
        ("Chapter II", "Chapter II"),
        ("Booking a room", "Booking a room"),
    ):
        assert heading_title(heading) == title
    assert result_title(document(headings=[]), "en") == "Article 12"
    assert result_title(document(headings=["Book I. Rent", "Part 2. Sums"]), "en") == "Sums (Rent)"


def test_only_the_law_is_marked_with_its_language():
    markup = shown(language="fr-BE")
    assert markup.count('lang="fr-BE"') > 5
    assert '<span class="state in-force">' in markup


def test_a_result_shows_whose_law_it_is():
    assert "Housing Code · us/or/portland" in text_of(shown(jurisdiction="us/or/portland"))


def test_ranks_stand_in_the_order_of_the_stages_with_longer_bars_for_better_ranks():
    markup = shown(ranks={"dense": 1, "other": 500, "bm25": 20, "citation": 2})
    assert re.findall(r'class="stage">(\w+)', markup) == ["Citation", "BM25", "Dense", "other"]
    assert re.findall(r'class="meaning">([\w ]+)', markup) == [
        *("You named it", "Same words", "Similar meaning", "other")
    ]
    lengths = [int(width) for width in re.findall(r"width:(\d+)%", markup)]
    assert lengths[2] == 100 > lengths[0] > lengths[1] > lengths[3] == 0
    assert "%" not in text_of(markup)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "//x", 5, None])
def test_only_a_web_address_becomes_a_link(url):
    links = set(re.findall(r'href="([^"?#]*)', shown(source_url=url)))
    assert links == {"/", "/article", "/law"}
    assert '<a href="https://law.example/?a=1&amp;b=2"' in shown(
        source_url="https://law.example/?a=1&b=2"
    )


COLLECTION = Collection(1, ("Housing Code",), snapshot="2026-03-01")
ARTICLE = document(source_url="https://law.example/h12", language="en")
ON = date(2024, 2, 29)
TODAY = date(2026, 11, 21)


def words_of_word(file: bytes) -> str:
    return "\n".join(paragraph.text for paragraph in Document(BytesIO(file)).paragraphs)


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["Information, not legal advice.", "1 March 2026"]),
        ("de", ["Dies ist eine Information, keine Rechtsberatung.", "1. März 2026"]),
        ("es", ["Esto es información, no asesoramiento jurídico.", "1 de marzo de 2026"]),
        ("fr", ["Ceci est une information, non un conseil juridique.", "1er mars 2026"]),
        ("it", ["Queste sono informazioni, non una consulenza legale.", "1º marzo 2026"]),
    ],
)
def test_every_file_has_the_date_and_the_disclaimer(kind, language, told):
    file = export(kind, [ARTICLE], language, COLLECTION, ON, TODAY)
    text = file.decode() if kind not in BINARY else words_of_word(file)
    assert all(each in text for each in told)
    assert re.search(r"2026(-11-|/11/)21|21\.? (de )?nov", text.lower())


def test_people_s_files_have_the_question_the_text_and_the_address():
    article = {**ARTICLE, "source_url": None, "content": "(1) One.\n\x00(2) Two."}
    more = {"question": "Why?", "site": "https://law.example"}
    for kind in ("txt", "docx"):
        file = export(kind, [article], "fr", COLLECTION, ON, TODAY, **more)
        text = words_of_word(file) if kind == "docx" else file.decode()
        parts = ("Why?", "Housing Code, article 12", "(1) One.", "(2) Two.", "law.example/fr/art")
        assert all(part in text for part in parts)
    assert (
        "UR  - https://law.example/article?id=housing-12"
        in export("ris", [article], "en", COLLECTION, ON, TODAY, **more).decode()
    )


def test_csl_json_is_legislation_with_its_section():
    (item,) = json.loads(export("csl", [ARTICLE], "en", COLLECTION, ON, TODAY))
    assert item["type"] == "legislation"
    assert (item["title"], item["section"]) == ("Housing Code", "12")
    # When the law was made is not known.
    assert "issued" not in item
    assert item["accessed"] == {"date-parts": [[2026, 11, 21]]}
    assert item["URL"] == "https://law.example/h12"


def test_ris_is_one_statute_an_article_and_no_text_begins_a_field():
    articles = [{**ARTICLE, "content": "One.\r\nER  - \r\nTY  - BOOK"}, ARTICLE]
    text = export("ris", articles, "en", COLLECTION, ON, TODAY).decode()
    fields = [(line[:2], line[6:]) for line in text.split("\r\n") if line]
    assert [value for tag, value in fields if tag == "TY"] == ["STAT", "STAT"]
    assert [tag for tag, _ in fields].count("ER") == 2
    assert ("AB", "One. ER - TY - BOOK") in fields
    assert not {"DA", "PY", "Y1"} & {tag for tag, _ in fields}


def test_a_doubt_names_the_field_that_is_missing_and_folds_what_is_near():
    laws = ("Housing Code", "Work Code")
    given = answered([0.9], doubtful=True, question="Must I pay income tax on it?")
    given["documents"][0]["language"] = "en"
    assert "Tax law is not among the laws searched here (2 laws)." in found(given, "en", laws)
    assert "Steuerrecht" in found(given, "de", laws)
    assert ("Englisch" in found(given, "de", laws)) and "English" not in found(given, "en", laws)
    assert "Housing Code; Work Code" in found(given, "en", laws)
    markup = str(results(given, "en"))
    assert re.search('<details class="doubted"><summary>Show the nearest.*class="articles"', markup)
    given["documents"][0]["content"] = "(1) Income tax is owed."
    assert "Tax law" not in found(given, "en", laws)
    assert "Tax law" not in found({**given, "question": "A taxi late at night"}, "en", laws)
