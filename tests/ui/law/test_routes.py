"""How the views refuse, wait and fail."""

from collections.abc import Callable

import pytest
from haystack import Document
from small_law import HOUSING, RENT, WORK, links, small_law
from starlette.applications import Starlette
from starlette.testclient import TestClient

from components.retrievers.readable import ReadableStore
from components.stores.failures import StoreError
from ui.collection import Collection
from ui.law.links import article_link, division_link, picture_link
from ui.law.places import Places
from ui.law.routes import law_routes

Site = Callable[..., TestClient]


def test_every_link_of_every_view_leads_somewhere(site: Site):
    client = site(small_law())
    for start in ("/law", "/fr/law"):
        seen, ahead = set(), [start]
        while ahead:
            to = ahead.pop()
            if to in seen or to.startswith("https://"):
                continue
            seen.add(to)
            page = client.get(to)
            assert page.status_code == 200, to
            if page.headers["content-type"].startswith("text/html"):
                assert f'<html lang="{"fr" if start == "/fr/law" else "en"}"' in page.text
                ahead += [each for each, _ in links(page.text)]
        assert len([each for each in seen if "article?id=" in each]) == 7 * 4
        assert len([each for each in seen if "picture?id=" in each]) == 7


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/article", 400),
        ("/article?id=", 400),
        ("/article?id=h1&id=h2", 400),
        ("/article?id=h1&on=2020-02-30", 400),
        ("/article?id=h1&as=exe", 400),
        ("/article?id=h1&colour=red", 400),
        ("/article?id=" + "a" * 20_000, 400),
        ("/article?id=h99", 404),
        ("/picture", 400),
        ("/picture?id=h99", 404),
        ("/picture?id=h1&on=2020-01-01", 400),
        ("/law?in=Book", 400),
        ("/law?of=", 400),
        ("/law?of=a&of=b", 400),
        ("/law?of=Housing%20Code&page=0", 400),
        ("/law?of=Housing%20Code&page=2", 404),
        ("/law?of=No%20Code", 404),
        ("/law?of=Housing%20Code&in=Book%20IX", 404),
        ("/law?of=Housing%20Code&in=1", 404),
    ],
)
@pytest.mark.parametrize("language", ["", "/fr"])
def test_what_is_wrong_is_said_on_a_page_that_leads_on(
    site: Site, address: str, status: int, language: str
):
    answer = site(small_law()).get(language + address)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.count("<h1") == 1
    ways = [to for to, _ in links(answer.text)]
    assert ways[-2:] == [f"{language}/law", language or "/"]
    assert len(answer.content) < 12_000


def test_a_list_of_one_page_is_told_as_one(site: Site):
    client = site(small_law())
    assert "This list has 1 page; there is no page 2." in client.get("/law?page=2").text
    assert "Cette liste compte 1 page\u00a0;" in client.get("/fr/law?page=2").text


def test_what_may_be_meant_is_suggested(site: Site):
    client = site(small_law())
    ways = links(client.get("/article?id=h33").text)
    assert ("/article?id=h3", "Article 3, Housing Code (h3)") in ways
    ways = links(client.get("/law?of=House%20Code").text)
    assert (division_link(HOUSING, (), "en"), HOUSING) in ways
    ways = links(client.get(division_link(HOUSING, ["Book I", "Chapter 2. Repair"], "en")).text)
    assert ways[0] == (
        division_link(HOUSING, ["Book I", "Chapter 2. Repairs"], "en"),
        "Chapter 2. Repairs",
    )
    assert (division_link(HOUSING, ["Book I"], "en"), "Book I") in ways


def test_a_foreign_store_is_shown_too(make_store: Callable[..., ReadableStore]):
    store = make_store(
        [*small_law(), Document(id="odd", content=None, meta={"law": "L", "valid_from": "soon"})]
    )
    places = Places(lambda: store)
    client = TestClient(
        Starlette(routes=law_routes(places, lambda: Collection(8, (HOUSING, WORK))))
    )
    assert "Rule 1." in client.get(article_link("h1", "en")).text  # as the very first request
    page = client.get(article_link("odd", "en"))
    assert page.status_code == 200
    assert "This article has no text here." in page.text
    for kind in ("json", "ris", "csl"):
        assert client.get(article_link("odd", "en", **{"as": kind})).status_code == 200


class Waiting(Places):
    """The law of a store that is still being read."""

    def law(self, patience: float = 0) -> None:
        return None


def test_while_the_law_is_read_articles_are_shown_and_the_rest_asked_for_later(
    make_store: Callable[..., ReadableStore],
):
    store = make_store(small_law())
    routes = law_routes(Waiting(lambda: store), lambda: Collection(7, (HOUSING, WORK)))
    client = TestClient(Starlette(routes=routes))
    page = client.get(article_link("h3", "fr"))
    assert page.status_code == 200
    assert "As article 1" in page.text
    assert "La loi est en cours de lecture." in page.text
    for address in ("/law", division_link(HOUSING, RENT, "en"), picture_link("h3", "en")):
        answer = client.get(address)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert client.get("/article?id=h99").status_code == 404
    again = {words: to for to, words in links(client.get("/fr/law?of=Work%20Code").text)}
    assert again["Afficher de nouveau cette page"] == "/fr/law?of=Work%20Code"


def test_while_citations_are_read_the_page_says_so(
    make_store: Callable[..., ReadableStore], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ui.law.reading.Law.read_citations", lambda *_: None)
    store = make_store(small_law())
    places = Places(lambda: store)
    client = TestClient(
        Starlette(routes=law_routes(places, lambda: Collection(7, (HOUSING, WORK))))
    )
    law = places.law(30)
    assert law is not None
    page = client.get(article_link("h3", "en")).text
    assert "The citations are being read" in page
    assert "It is the first" not in page and "Previous:" in page
    assert "The citations are being read" in client.get(picture_link("h3", "en")).text
    law.unread = True
    for link in (article_link("h3", "en"), picture_link("h3", "en")):
        assert "The citations could not be read." in client.get(link).text


def test_a_store_that_fails_is_said_without_its_reasons(make_store: Callable[..., ReadableStore]):
    store = make_store(small_law())

    class Broken(Places):
        @property
        def store(self) -> ReadableStore:
            raise StoreError("/secret/path/law.db is broken")

    client = TestClient(
        Starlette(routes=law_routes(Broken(lambda: store), lambda: Collection(7, (HOUSING, WORK))))
    )
    answer = client.get(article_link("h1", "en"))
    assert answer.status_code == 503
    assert "The law cannot be read just now." in answer.text
    assert "secret" not in answer.text


def test_every_answer_may_be_kept_only_to_be_asked_for_again(site: Site):
    client = site(small_law())
    for address in (
        "/law",
        "/article?id=h1",
        "/picture?id=h1",
        "/article?id=h1&as=ris",
        "/law?of=",
    ):
        assert client.get(address).headers["cache-control"] == "no-cache"
