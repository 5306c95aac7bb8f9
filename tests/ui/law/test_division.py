"""Laws and divisions as lists."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

from small_law import HOUSING, RENT, WORK, document, in_order, links, small_law, told
from starlette.testclient import TestClient

from components.stores.sqlite import StatuteDocumentStore
from ui.law.division import PAGE, Shown, division_main
from ui.law.links import article_link, division_link
from ui.law.reading import Law

Site = Callable[..., TestClient]


def test_every_law_is_listed_with_its_articles(site: Site):
    page = site(small_law()).get("/law")
    assert page.status_code == 200
    assert links(page.text) == [
        (division_link(HOUSING, (), "en"), HOUSING),
        (division_link(WORK, (), "en"), WORK),
    ]
    assert "6 articles</span>" in page.text and "1 article</span>" in page.text
    assert "2 laws, 7 articles in all" in page.text
    assert "Information, not legal advice." in page.text


def test_a_division_lists_what_is_in_it_and_what_is_beside_it(site: Site):
    client = site(small_law())
    page = client.get(division_link(HOUSING, ["Book I"], "en")).text
    assert links(page) == [
        ("/law", "The law"),
        (division_link(HOUSING, (), "en"), HOUSING),
        (division_link(HOUSING, ["Book II"], "en"), "Next: Book II"),
        (division_link(HOUSING, RENT, "en"), "Chapter 1. General"),
        (division_link(HOUSING, ["Book I", "Chapter 2. Repairs"], "en"), "Chapter 2. Repairs"),
    ]
    assert '<h1 lang="en" dir="auto">Book I</h1>' in page
    assert "2 divisions, 5 articles in all" in page


def test_the_same_heading_elsewhere_is_another_division(site: Site):
    client = site(small_law())
    first = client.get(division_link(HOUSING, RENT, "en")).text
    assert '<p class="counts">3 articles</p>' in first  # which are all
    second = client.get(division_link(HOUSING, ["Book II", RENT[1]], "en")).text
    assert [words for to, words in links(first) if "/article" in to] == [
        "Article 1",
        "Article 2",
        "Article 3",
    ]
    assert [words for to, words in links(second) if "/article" in to] == ["Article 6"]
    assert "Rule 1." in first


def test_what_does_not_bind_today_is_said_in_the_list(site: Site):
    documents = [
        document(1, (), valid_from="2001-01-01"),
        document(2, (), valid_to="2015-12-31"),
        document(3, (), valid_from="9000-01-01"),
    ]
    page = told(site(documents).get(division_link(HOUSING, (), "en")).text)
    assert "Article 1 Rule 1.Article 2 (repealed) Rule 2." in page
    assert "Article 3 (not yet in force) Rule 3." in page


def test_divisions_and_articles_stand_in_the_laws_order(site: Site):
    documents = [document(1, ()), document(2, ("Book I",)), document(3, ())]
    page = site(documents).get(division_link(HOUSING, (), "en")).text
    assert [words for _, words in links(page)][1:] == ["Article 1", "Book I", "Article 3"]
    assert "1 division, 2 articles, 3 articles in all" in page


def test_beside_a_division_stand_divisions_and_no_article(site: Site):
    documents = [document(1, ("A",)), document(2, ()), document(3, ("B",)), document(4, ())]
    client = site(documents)
    first = client.get(division_link(HOUSING, ["A"], "en")).text
    assert (division_link(HOUSING, ["B"], "en"), "Next: B") in links(first)
    assert "Previous:" not in first
    last = client.get(division_link(HOUSING, ["B"], "en")).text
    assert (division_link(HOUSING, ["A"], "en"), "Previous: A") in links(last)
    assert "Next:" not in last


def test_a_division_whose_first_article_tells_no_language_has_that_of_what_it_holds(site: Site):
    documents = [
        document(1, ("A", "One"), language=None),
        document(2, ("A", "Deux"), language="fr"),
    ]
    page = site(documents).get(division_link(HOUSING, ["A"], "en")).text
    assert '<h1 dir="auto">A</h1>' in page
    assert re.search(r'<a class="inner" href="[^"]*" lang="fr" dir="auto">Deux</a>', page)
    assert re.search(r'<a class="inner" href="[^"]*" dir="auto">One</a>', page)


def test_what_is_in_a_division_is_looked_up_once_however_many_pages_there_are(tmp_path: Path):
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(in_order([document(n, ()) for n in range(1, 5 * PAGE)]))
    law = Law(store)
    node, _ = law.find(HOUSING, ())
    assert node is not None
    shown = Shown(law, node, 1)
    assert (shown.pages, len(shown.children)) == (5, 5 * PAGE - 1)
    assert shown.children is shown.children


def test_thousands_of_articles_are_shown_page_by_page(site: Site):
    client = site([document(n, ()) for n in range(1, 2_501)])
    seen: list[str] = []
    to = division_link(HOUSING, (), "en")
    sizes = []
    while to:
        page = client.get(to)
        sizes.append(len(page.content))
        seen += [words for link, words in links(page.text) if link.startswith("/article")]
        to = next((link for link, words in links(page.text) if words == "Next page"), "")
    assert seen == [f"Article {n}" for n in range(1, 2_501)]
    assert len(sizes) == 2_500 / PAGE
    assert max(sizes) < 60_000
    third = client.get(division_link(HOUSING, (), "en", 3)).text
    assert "201 to 300 of 2,500" in third
    assert 'aria-current="page">Page 3</a>' in third
    # The first page has one address.
    assert (division_link(HOUSING, (), "en"), "Page 1") in links(third)


def test_the_day_of_an_article_stays_where_its_divisions_are_opened(site: Site):
    client = site(small_law())
    day = date(2015, 6, 1)
    article = client.get(article_link("h2", "en", day)).text
    chapter = division_link(HOUSING, RENT, "en", on=day)
    assert chapter in {to for to, _ in links(article)}
    page = client.get(chapter).text
    assert "States as of 1 June 2015." in page
    assert "Article 1 (not yet in force)" in told(page)
    assert "Article 2 (repealed)" not in told(page)
    # Every way on from there keeps it, but the one back to today.
    ways = {to for to, _ in links(page) if to.startswith(("/law", "/article"))}
    assert {to for to in ways if "on=2015-06-01" not in to} == {division_link(HOUSING, RENT, "en")}
    today = client.get(division_link(HOUSING, RENT, "en")).text
    assert "Article 2 (repealed)" in told(today)
    assert "States as of" not in today


def test_a_day_stays_from_law_to_law_and_from_page_to_page(site: Site):
    many = [document(n, (), id=f"m{n}", law="Long Code") for n in range(2 * PAGE + 1)]
    client = site(in_order([*small_law(), *many]))
    for opened in ("/law?on=2015-06-01", division_link("Long Code", (), "en", 2, date(2015, 6, 1))):
        page = client.get(opened).text
        ways = {to for to, _ in links(page) if to.startswith(("/law", "/article"))}
        without = {to for to in ways if "on=2015-06-01" not in to}
        assert len(ways) > 2
        assert len(without) == 1, without
        assert "States as of" not in client.get(without.pop()).text


def test_what_a_day_leaves_open_is_told_beside_it(tmp_path: Path):
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(in_order(small_law()))
    law = Law(store)
    node, _ = law.find(HOUSING, RENT)
    shown = Shown(law, node or 0, 1, date(2030, 1, 1))
    page = division_main(shown, law.with_texts(shown.articles), "Much is open.", "en")
    day, limit, first = (page.index(told) for told in ("1 January 2030", "Much is", "Article 1"))
    assert day < limit < first


def test_a_day_stays_where_what_was_asked_for_is_not_there(site: Site):
    client = site(small_law())
    asked = (
        division_link(HOUSING, RENT, "en", 9, date(2030, 1, 1)),
        division_link(f"{HOUSING}s", (), "en", on=date(2030, 1, 1)),
        division_link(HOUSING, ["No such book"], "en", on=date(2030, 1, 1)),
        article_link("h22", "en", date(2030, 1, 1)),
    )
    for link in asked:
        page = client.get(link)
        assert page.status_code == 404
        ways = {to for to, _ in links(page.text) if to.startswith(("/law?", "/article?"))}
        assert ways, link
        assert all("on=2030-01-01" in to for to in ways), ways


def test_a_day_that_is_none_is_refused(site: Site):
    assert site(small_law()).get("/law?on=2015-02-30").status_code == 400
