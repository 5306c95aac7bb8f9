"""The views of the law: articles, divisions, addresses, refusals."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from itertools import product

import pytest
from haystack import Document
from small_law import (
    HOUSING,
    RENT,
    document,
    in_order,
    links,
    read_places,
    section,
    small_law,
    told,
)
from starlette.applications import Starlette
from starlette.testclient import TestClient

from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore
from ui.language import article_link, division_link, picture_link
from ui.law import PAGE, Law, Places, law_routes


@pytest.fixture
def site(tmp_path) -> Callable[..., TestClient]:
    """`site(documents)`: the views of the law over a store that is wholly read."""

    def make(documents: Sequence[Document]) -> TestClient:
        store = StatuteDocumentStore(str(tmp_path / "law.db"))
        store.write_documents(in_order(documents))
        return TestClient(Starlette(routes=law_routes(read_places(store))))

    return make


def test_an_article_shows_its_words_state_source_and_notice(site):
    page = site(small_law()).get(article_link("h1", "en")).text
    assert '<div class="law" lang="en" dir="auto"><p>Rule 1.</p></div>' in page
    assert re.search(r'<p class="subject"[^>]*>General \(Book I\)', page)
    assert "In force since 1 January 2019" in page
    assert '<a href="https://law.example/1" rel="noopener noreferrer">' in page
    assert "Information, not legal advice." in page
    assert "Housing Code, article 1</span>" in page
    assert "http://testserver/article?id=h1</span>" in page
    assert "<title>Housing Code, article 1 · Lexarbor</title>" in page


def test_the_state_on_another_day_can_be_asked(site):
    day, state = "2010-01-01", "In force since 1 January 2010, until 31 December 2015"
    page = site(small_law()).get(article_link("h2", "en", on=day)).text
    assert state in page
    assert f"article?id=h2&amp;on={day}</span>" in page  # the permanent link
    assert f'name="on" required value="{day}"' in page
    assert ("/article?id=h2", "Back to today") in links(page)


def test_an_article_leads_to_its_other_wordings(site):
    client = site([*small_law(), document(1, id="old", valid_to="2018-12-31")])
    earlier = "Earlier wording, until 31 December 2018"
    assert ("/article?id=old", earlier) in links(client.get(article_link("h1", "en")).text)
    later = ("/fr/article?id=h1", "Rédaction postérieure, à partir du 1er janvier 2019")
    assert later in links(client.get(article_link("old", "fr")).text)
    # On a day before its own a wording says nothing of an earlier one that is there.
    page = client.get(article_link("h1", "en", on="2015-01-01")).text
    assert "This wording applies from 1 January 2019</p>" in page
    assert ("/article?id=old&on=2015-01-01", earlier) in links(page)
    assert 'class="wordings"' not in client.get(article_link("h3", "en")).text


def row_of(page, words):
    return next(row for row in re.findall("<tr.*?</tr>", page, re.DOTALL) if words in row)


def test_an_article_is_compared_with_its_other_wordings(site):
    older = {"valid_from": "2015-01-01", "valid_to": "2018-12-31"}
    client = site(
        [
            *small_law(),
            document(1, id="old", text="Rule one <b>.", **older),
            document(1, id="first", text="Rule zero.", valid_to="2014-12-31"),
        ]
    )
    page = client.get(article_link("h1", "en")).text
    assert '<details class="changes" id="changes"><summary>What changed' in page
    row = row_of(page, "<del>")
    assert '<del><span class="unseen" lang="en">Removed: </span>one &lt;b&gt;</del>' in row
    assert '<ins><span class="unseen" lang="en">Added: </span>1</ins>' in row
    head = row_of(page, "<th")
    assert told(head) == "From 1 January 2015 until 31 December 2018From 1 January 2019"
    # The first wording is compared with the next, each with any other.
    first = client.get(article_link("first", "fr")).text
    assert "Supprimé\u00a0: </span>zero" in first
    chosen = client.get(article_link("h1", "en", compare="first")).text
    assert "</span>zero</del>" in chosen and 'id="changes" open' in chosen
    assert '<option value="first" selected>until 31 December 2014</option>' in chosen
    unknown = client.get(article_link("h1", "en", compare="none")).text
    assert "</span>one &lt;b&gt;</del>" in unknown
    assert 'class="changes"' not in client.get(article_link("h3", "en")).text


def test_an_article_without_its_earlier_text_says_so(site):
    client = site(
        [
            *small_law(),
            document(8, text="A rule.\n(As amended with effect from 1 May 2012.)"),
            document(9, valid_from="2012-05-01"),
            document(10, text="[Repealed; replaced by article 4]"),
        ]
    )
    pages = {n: client.get(article_link(f"h{n}", "en")).text for n in (2, 8, 9, 10)}
    assert "This article was amended." in pages[8]
    assert "later than others of its law" in pages[9]
    assert "later than others" not in pages[2]
    assert "was amended" not in pages[2]
    assert ("/article?id=h4", "Housing Code, article 4") in links(pages[10])


def test_the_place_of_an_article_is_reported_in_lists(site):
    page = site(small_law()).get(article_link("h3", "en")).text
    above, around = section(page, "Part of"), section(page, "Before and after")
    assert told(above).split("articles")[:3] == [
        "Housing Code 6 ",
        "Book I 1 of 2 · 5 ",
        "Chapter 1. General 1 of 2 · 3 ",
    ]
    assert "Previous: Article 2 (repealed) Rule 2." in told(around)
    assert "Next: Article 4 in Chapter 2. Repairs Rule 4." in told(around)
    assert 'aria-current="true"><strong>Article 3</strong>' in section(page, "In the same section")
    assert told(section(page, "Refers to")).startswith(" 2 articlesArticle 1 Rule 1.Article 7 Work")
    assert "Article 5 Article 3 holds" in told(section(page, "Referred to by"))


def test_an_article_without_law_or_headings_breaks_nothing(site):
    loose = Document(id="note", content="Loose words.", meta={})
    client = site([loose, document(1, ()), *small_law()[1:]])
    page = client.get(article_link("note", "en"))
    assert page.status_code == 200
    assert "Loose words." in page.text
    assert "This article is not linked to a law." in page.text
    assert "<img" not in page.text
    assert client.get(picture_link("note", "en")).status_code == 404
    assert client.get(article_link("h1", "en")).status_code == 200
    assert "1 article</span>" in client.get("/law").text  # the law of work, and no law of notes
    assert "id=note" not in client.get("/law").text
    for kind in ("json", "ris", "csl"):
        assert client.get(article_link("note", "en", **{"as": kind})).status_code == 200


def test_a_division_lists_what_is_in_it_and_what_is_next_to_it(site):
    client = site(small_law())
    page = client.get(division_link(HOUSING, ["Book I"], "en")).text
    assert links(page) == [
        ("/law", "The law"),
        (division_link(HOUSING, (), "en"), HOUSING),
        (division_link(HOUSING, ["Book II"], "en"), "Next: Book II"),
        (division_link(HOUSING, RENT, "en"), "Chapter 1. General"),
        *((article_link(f"h{number}", "en"), f"Article {number}") for number in (1, 2, 3)),
        (division_link(HOUSING, ["Book I", "Chapter 2. Repairs"], "en"), "Chapter 2. Repairs"),
        *((article_link(f"h{number}", "en"), f"Article {number}") for number in (4, 5)),
    ]
    assert '<h1 lang="en" dir="auto">Book I</h1>' in page
    assert "2 divisions, 5 articles in all" in page


def test_a_long_law_is_shown_page_by_page(site):
    client = site([document(n, ()) for n in range(1, 1_101)])
    seen: list[str] = []
    to = division_link(HOUSING, (), "en")
    sizes = []
    while to:
        page = client.get(to)
        sizes.append(len(page.content))
        seen += [words for link, words in links(page.text) if link.startswith("/article")]
        to = next((link for link, words in links(page.text) if words == "Next page"), "")
    assert seen == [f"Article {n}" for n in range(1, 1_101)]
    assert len(sizes) == 1_100 / PAGE
    assert max(sizes) < 60_000
    third = client.get(division_link(HOUSING, (), "en", 3)).text
    assert "201 to 300 of 1,100" in third
    assert 'aria-current="page">Page 3</a>' in third
    # The first page has one address.
    assert (division_link(HOUSING, (), "en"), "Page 1") in links(third)


def test_the_day_of_an_article_stays_where_its_divisions_are_opened(site):
    client = site(small_law())
    day = date(2015, 6, 1)
    article = client.get(article_link("h2", "en", day)).text
    chapter = division_link(HOUSING, RENT, "en", on=day)
    assert chapter in {to for to, _ in links(article)}
    page = client.get(chapter).text
    assert "States as of 1 June 2015." in page
    assert "Article 1 (wording not yet in force)" in told(page)
    assert "Article 2 (repealed)" not in told(page)
    # Every way on from there keeps it, but the one back to today.
    ways = {to for to, _ in links(page) if to.startswith(("/law", "/article"))}
    assert {to for to in ways if "on=2015-06-01" not in to} == {division_link(HOUSING, RENT, "en")}
    today = client.get(division_link(HOUSING, RENT, "en")).text
    assert "Article 2 (repealed)" in told(today)
    assert "States as of" not in today


def test_every_link_of_every_view_leads_somewhere(site):
    client = site(small_law())
    for start in ("/law", "/fr/law"):
        seen, ahead = set(), [start]
        while ahead:
            to = ahead.pop().partition("#")[0]
            if to in seen or to.startswith(("https://", "/about", "/fr/about")):
                continue
            seen.add(to)
            page = client.get(to)
            assert page.status_code == 200, to
            if page.headers["content-type"].startswith("text/html"):
                assert f'<html lang="{"fr" if start == "/fr/law" else "en"}"' in page.text
                ahead += [each for each, _ in links(page.text)]
        assert len([each for each in seen if "article?id=" in each]) == 7 * 6
        assert len([each for each in seen if "picture?id=" in each]) == 7


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        (400, [f"/article?id=h1&on={day}" for day in ("2020-02-30", "today", "nan", "")]),
        (400, [f"/law?page={page}" for page in ("0", "-1", "1.5", "1e3", "9" * 400)]),
        (400, [f"/article?id=h1&as={kind}" for kind in ("exe", "JSON", "json,ris", "../json")]),
        (404, ["/article", "/article?id=", "/article?id=h99", "/picture", "/picture?id=h99"]),
        (404, ["/law?in=Book", "/law?of=Housing%20Code&page=2"]),
        (404, ["/law?of=No%20Code", "/law?of=Housing%20Code&in=Book%20IX"]),
    ],
)
def test_a_wrong_address_gets_a_page_that_leads_on(site, status, addresses):
    client = site(small_law())
    for address, language in product(addresses, ("", "/fr")):
        answer = client.get(language + address)
        assert answer.status_code == status, address
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.text.count("<h1") == 1
        assert [to for to, _ in links(answer.text)][-2:] == [f"{language}/law", language or "/"]
        assert len(answer.content) < 12_000


def test_a_store_that_fails_is_reported_without_its_reasons():
    class Broken(Places):
        def law(self) -> Law:
            raise StoreError("/secret/path/law.db is broken")

    routes = law_routes(Broken(lambda: None))
    answer = TestClient(Starlette(routes=routes)).get(article_link("h1", "en"))
    assert answer.status_code == 503
    assert "The law cannot be read at the moment." in answer.text
    assert "secret" not in answer.text
