"""An article: its words, its state, its place, and what is taken away."""

import html
import json
import re
from collections.abc import Callable
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from haystack import Document
from small_law import HOUSING, document, links, section, small_law, told
from starlette.testclient import TestClient

from ui.language import Language
from ui.law.links import article_link, division_link, picture_link

Site = Callable[..., TestClient]


def test_an_article_shows_its_words_state_source_and_notice(site: Site):
    page = site(small_law()).get(article_link("h1", "en")).text
    assert '<div class="law" lang="en" dir="auto"><p>Rule 1.</p></div>' in page
    assert "In force since 1 January 2019" in page
    assert '<a href="https://law.example/1" rel="noopener noreferrer">' in page
    assert "Information, not legal advice." in page
    assert "Housing Code, article 1</span>" in page
    assert "http://testserver/article?id=h1</span>" in page
    assert "<title>Housing Code, article 1 · Lexarbor</title>" in page


def test_a_long_article_is_shown_whole(site: Site):
    text = "\n".join(f"({n}) {'word ' * 80}" for n in range(1, 30))
    page = site([document(1, text=text)]).get(article_link("h1", "en")).text
    assert page[page.index('<div class="law"') : page.index("</article>")].count("word") == 80 * 29
    assert "<details" not in page[page.index('<div class="law"') : page.index("</article>")]


@pytest.mark.parametrize(
    ("day", "state"),
    [
        (
            "2009-12-31",
            "Not yet in force; from 1 January 2010. An earlier wording, if there was one,",
        ),
        ("2010-01-01", "In force since 1 January 2010, until 31 December 2015"),
        ("2016-01-01", "Repealed; last day in force 31 December 2015"),
    ],
)
def test_the_state_on_another_day_can_be_asked(site: Site, day: str, state: str):
    page = site(small_law()).get(article_link("h2", "en", on=day)).text
    assert state in page
    assert f"article?id=h2&amp;on={day}</span>" in page  # the permanent link
    assert f'name="on" required value="{day}"' in page
    assert ("/article?id=h2", "Back to today") in links(page)


def test_an_article_leads_to_its_other_wordings(site: Site):
    old = document(1, id="old", valid_to="2018-12-31")
    client = site([*small_law(), old])
    page = client.get(article_link("h1", "en")).text
    assert ("/article?id=old", "Earlier wording, until 31 December 2018") in links(page)
    page = client.get(article_link("old", "fr")).text
    assert ("/fr/article?id=h1", "Rédaction postérieure, à partir du 1er janvier 2019") in links(
        page
    )
    # On a day before its own a wording says nothing of an earlier one that is there.
    page = client.get(article_link("h1", "en", on="2015-01-01")).text
    assert "Not yet in force; from 1 January 2019" in page
    assert "An earlier wording, if there was one" not in page
    assert ("/article?id=old&on=2015-01-01", "Earlier wording, until 31 December 2018") in links(
        page
    )
    assert 'class="wordings"' not in client.get(article_link("h3", "en")).text


def test_of_an_article_without_dates_no_day_can_be_asked(site: Site):
    client = site(small_law())
    for id_, asked in (("h1", True), ("h2", True), ("h3", False)):
        page = client.get(article_link(id_, "en")).text
        assert ("Was it in force on another day?" in page) == asked
    # A link that has a day leads back from it.
    assert ("/article?id=h3", "Back to today") in links(
        client.get("/article?id=h3&on=2015-01-01").text
    )


def test_the_place_of_an_article_is_told_in_lists(site: Site):
    page = site(small_law()).get(article_link("h3", "en")).text
    above, around = section(page, "It stands in"), section(page, "Before and after")
    assert told(above).split("articles")[:3] == [
        "Housing Code 6 ",
        "Book I 1 of 2 · 5 ",
        "Chapter 1. General 1 of 2 · 3 ",
    ]
    assert "Previous: Article 2 (repealed) Rule 2." in told(around)
    assert "Next: Article 4 in Chapter 2. Repairs Rule 4." in told(around)
    assert 'aria-current="true"><strong>Article 3</strong>' in section(page, "Beside it")
    assert told(section(page, "It cites")).startswith(" 2 articlesArticle 1 Rule 1.Article 7 Work")
    assert "Article 5 Article 3 holds" in told(section(page, "It is cited by"))


def marked(part: str) -> list[str]:
    """The articles of a list whose state is said, with it."""
    found = re.findall(r'">([^<]*)</a> <span class="not-binding">([^<]*)</span>', part)
    return [f"{name} {state}" for name, state in found]


def test_what_does_not_bind_on_the_day_of_the_page_is_said_in_every_list(site: Site):
    documents = [
        document(1, text="See article 2, article 3 and article 4."),
        document(2, valid_to="2015-12-31"),
        document(3, valid_from="2016-01-01", text="See article 1."),
        document(4, valid_from="9000-01-01"),
        document(5),
    ]
    client = site(documents)
    lists = ("Before and after", "Beside it", "It cites", "It is cited by")

    def told_on(**day: str) -> list[list[str]]:
        page = client.get(article_link("h1", "en", **day)).text
        return [marked(section(page, name)) for name in lists]

    repealed, coming = "Article 2 (repealed)", "Article 4 (not yet in force)"
    assert told_on() == [[repealed], [repealed, coming], [repealed, coming], []]
    early = "Article 3 (not yet in force)"
    assert told_on(on="2015-06-01") == [[], [early, coming], [early, coming], [early]]
    page = client.get(article_link("h1", "fr", on="2016-06-01")).text
    assert "(abrogé)" in page and "(pas encore en vigueur)" in page
    # Who follows the lists stays with the day.
    around = html.unescape(page.split("<h3>")[2])
    assert article_link("h2", "fr", on="2016-06-01") in around


def test_the_ends_of_a_law_and_lonely_articles_are_told(site: Site):
    page = site(small_law()).get(article_link("w7", "en")).text
    assert "It is the first article of its law." in page
    assert "It is the last article of its law." in page
    assert "No other article stands right below this division." in page
    assert "No article that is searched here." in section(page, "It cites")


def test_of_many_siblings_the_nearest_are_listed_and_the_rest_linked(site: Site):
    client = site([document(n, ()) for n in range(1, 601)])
    page = client.get(article_link("h300", "en")).text
    beside = section(page, "Beside it")
    assert re.findall(r">Article (\d+)<", beside) == [str(n) for n in range(296, 305)]
    rest = [
        (html.unescape(to), words)
        for to, words in re.findall(r'class="rest"><a href="([^"]+)">([^<]+)', beside)
    ]
    assert rest == [
        (division_link(HOUSING, (), "en", 3), "295 more before"),
        (division_link(HOUSING, (), "en", 4), "296 more after"),
    ]
    assert 'id=h295"' in client.get(rest[0][0]).text
    assert 'id=h305"' in client.get(rest[1][0]).text


def test_many_citations_are_folded_and_bounded(site: Site):
    documents = [document(1), *(document(n, text="See article 1.") for n in range(2, 303))]
    page = site(documents).get(article_link("h1", "en")).text
    cited = section(page, "It is cited by")
    assert "301 articles" in cited
    assert len(re.findall('href="/article', cited)) == 100
    before, fold = cited.split("<details>")
    assert len(re.findall('href="/article', before)) == 8
    assert "<summary>293 more</summary>" in fold
    assert "201 more are not listed." in fold


@pytest.mark.parametrize(
    ("language", "told"), [("en", "1 more is not listed."), ("fr", "1 autre n’est pas énuméré.")]
)
def test_one_citation_that_is_not_listed_is_told_as_one(site: Site, language: Language, told: str):
    documents = [document(1), *(document(n, text="See article 1.") for n in range(2, 103))]
    page = site(documents).get(article_link("h1", language)).text
    assert told in html.unescape(page)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_picture_speaks_the_language_of_the_page(site: Site, language: str):
    client = site(small_law())
    page = client.get(article_link("h3", language)).text
    (source,) = re.findall(r'<img src="([^"]+)"', page)
    assert html.unescape(source) == picture_link("h3", language)
    answer = client.get(html.unescape(source))
    assert answer.headers["content-type"] == "image/svg+xml"
    drawn = ElementTree.fromstring(answer.text)
    assert drawn.get("lang") == language
    text = " ".join(drawn.itertext())
    assert ("Il cite 2 articles" if language == "fr" else "It cites 2 articles") in text
    assert ("suivant" in text) == (language == "fr")


@pytest.mark.parametrize(
    ("language", "days", "citing", "rest"),
    [
        ("en", "In force from 1 January 2009 to 31 March 2015", 6, "and 1 more"),
        ("fr", "En vigueur à partir du 1er janvier 2009 jusqu’au 31 mars 2015", 6, "et 1 autre"),
        ("fr", "En vigueur à partir du 1er janvier 2009 jusqu’au 31 mars 2015", 7, "et 2 autres"),
    ],
)
def test_the_picture_writes_days_and_counts_as_the_page_does(
    site: Site, language: Language, days: str, citing: int, rest: str
):
    cited = document(1, valid_from="2009-01-01", valid_to="2015-03-31")
    others = [document(number, text="See article 1.") for number in range(2, 2 + citing)]
    drawn = ElementTree.fromstring(site([cited, *others]).get(picture_link("h1", language)).content)
    lines = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert days in lines
    assert rest in lines


def test_a_file_has_a_name_that_file_systems_take(site: Site):
    client = site([document(1, id="a" * 79 + "/" + "b" * 100)])
    link = article_link("a" * 79 + "/" + "b" * 100, "en", **{"as": "ris"})
    name = client.get(link).headers["content-disposition"]
    assert name == f'attachment; filename="{"a" * 79}.ris"'


def test_an_article_is_taken_away_as_a_file(site: Site):
    client = site([document(1, id='../a/"b\r\n é'), *small_law()[1:]])
    for kind, media, suffix in (
        ("json", "application/json", ".json"),
        ("ris", "application/x-research-info-systems", ".ris"),
        ("csl", "application/vnd.citationstyles.csl+json", ".csl.json"),
    ):
        answer = client.get(article_link('../a/"b\r\n é', "fr", on="2020-01-01", **{"as": kind}))
        assert answer.headers["content-type"].startswith(media)
        assert answer.headers["content-disposition"] == f'attachment; filename="a-b{suffix}"'
        assert "Ceci est une information, non un conseil juridique." in (
            answer.text if kind == "ris" else json.dumps(answer.json(), ensure_ascii=False)
        )


def test_an_article_without_law_or_headings_breaks_nothing(site: Site):
    loose = Document(id="note", content="Loose words.", meta={})
    client = site([loose, document(1, ()), *small_law()[1:]])
    page = client.get(article_link("note", "en"))
    assert page.status_code == 200
    assert "Loose words." in page.text
    assert "it has no place in one" in page.text
    assert "<img" not in page.text
    assert client.get(picture_link("note", "en")).status_code == 404
    assert client.get(article_link("h1", "en")).status_code == 200
    assert "1 article</span>" in client.get("/law").text  # the law of work, and no law of notes
    assert "id=note" not in client.get("/law").text
    for kind in ("json", "ris", "csl"):
        assert client.get(article_link("note", "en", **{"as": kind})).status_code == 200


@pytest.mark.parametrize(
    "id_",
    ["a/b", "../../../etc/passwd", 'a"b', "a'b", "第一条", "a&b=c#d?e", "100%", "a b", "é\u0301"],
)
def test_any_id_works(site: Site, id_: str):
    client = site([document(1, id=id_), *small_law()[1:]])
    for link in (article_link(id_, "en"), picture_link(id_, "fr")):
        assert not urlsplit(link).fragment
        assert client.get(link).status_code == 200
    beside = client.get(article_link("h2", "en")).text
    assert client.get(next(to for to, words in links(beside) if words == "Article 1")).text.count(
        "<h1>Article 1"
    )


def test_addresses_that_are_not_of_the_web_are_no_links(site: Site):
    hostile = [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
    ]
    client = site([document(n, source_url=url) for n, url in enumerate(hostile)])
    for number in range(len(hostile)):
        page = client.get(article_link(f"h{number}", "en")).text
        assert 'rel="noopener' not in page
        assert not re.search(r'(?i)(?:href|src)="(?:javascript|data|file):', page)
