"""Guides on the page: steps with their law, last days, two situations, no need of a script."""

import html
import re
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from haystack.document_stores.types import DuplicatePolicy
from indexed import indexed
from law_files import article
from small_law import told as text_of
from starlette.applications import Starlette

from components.retrievers.guides import articles_in, keep_guides
from components.statutes.deadlines import TimeRule
from components.statutes.guides import Guide, Guides, KeptGuide
from components.stores.sqlite import StatuteDocumentStore
from ui.ask import search_routes
from ui.guide import guide_routes
from ui.language import LANGUAGES, TEXTS, address
from ui.law import Places
from ui.server import Serving

DEPOSIT = "The landlord keeps my deposit"
LOCKED = "The landlord locked me out of my home"
BETWEEN = "The landlord locked my deposit"


def guide(id_: str, number: str, when: list[str], language: str = "en", **fields: Any) -> Guide:
    deadline = {"days": 14, "from": "the day you got <the> letter"}
    step = {"text": "Write <b>now</b>.", "article": number, "passages": ["2"], "deadline": deadline}
    contact = {"name": "Advice Line", "telephone": "555 0110", "url": "https://advice.example"}
    record = {"id": id_, "language": language, "title": f"{id_} {language}", "when": when}
    record |= {"answer": f"In short: {id_}.", "steps": [step], "contacts": [contact]}
    reviewed = {"date": "2020-01-01", "by": "a team"}
    return Guide.model_validate({**record, "reviewed": reviewed, **fields})


GUIDES = [
    guide("deposit", "a0", [DEPOSIT]),
    guide("deposit", "a0", ["Le bailleur garde ma caution"], "fr"),
    guide("locked", "a1", [LOCKED], urgent=True),
]
RULE = TimeRule(article="a2", passages=("1",))


def keep(store: Any, guides: list[Guide], *rules: TimeRule) -> None:
    known = articles_in(store)
    kept = [KeptGuide.new(each, known, None) for each in guides]
    keep_guides(store, Guides(kept=kept, rules=list(rules)), None)


def site_with(store: Any, guides: list[Guide], *rules: TimeRule) -> TestClient:
    keep(store, guides, *rules)
    serving = Serving("lexical", store.path)
    places, shelf = Places(serving.store), serving.guides
    routes = search_routes(
        serving.answers, places.collection, [], frozenset(), places.glossaries, shelf
    )
    return TestClient(Starlette(routes=[*routes, *guide_routes(shelf)]))


@pytest.fixture
def store(tmp_path):
    texts = (
        "(1) A deposit is agreed with the landlord.\n(2) The landlord pays the deposit back.",
        "(1) A home is not locked.\n(2) The landlord who locked it opens the home.",
        "(1) A period begins on the next day.",
    )
    law = [article(f"a{n}", text=text, language="en") for n, text in enumerate(texts)]
    return StatuteDocumentStore(str(indexed(tmp_path, law)))


@pytest.fixture
def site(store):
    return site_with(store, GUIDES, RULE)


def searched(site: TestClient, question: str, language: Any = "en", **more: str) -> str:
    response = site.get(address("/search", language), params={"q": question, **more})
    assert response.status_code == 200
    return response.text


def test_a_guide_stands_before_the_law_with_its_steps_articles_and_contacts(site):
    page = searched(site, DEPOSIT)
    parts = (
        "In short: deposit.",
        "Write &lt;b&gt;now",
        "Who helps",
        "What the law says",
        "Results for",
    )
    places = [page.index(each) for each in parts]
    assert places == sorted(places)
    under = re.search(r"<blockquote.*?</blockquote>", page)
    assert text_of(under[0]).strip() == "(2) The landlord pays the deposit back."
    assert '<a href="/article?id=a0#p2">' in page
    assert 'href="tel:5550110"' in page
    assert "Checked against the law on 1 January 2020 by a team." in page
    # What is found in the law's words would repeat it.
    assert "What next" not in page
    assert 'class="urgent"' not in page


def test_without_a_guide_nothing_is_added(site):
    page = searched(site, "A period begins")
    assert "What the law says" in page
    for each in ("guide", "urgent", "situations"):
        assert f'class="answer {each}' not in page and f'class="{each}' not in page


def test_a_guide_is_in_the_language_of_the_page_or_else_of_the_law(site):
    assert "deposit fr" in searched(site, DEPOSIT, "fr")
    assert "deposit en" in searched(site, "deposit", guide="deposit")
    spanish = searched(site, DEPOSIT, "es")
    assert "deposit en" in spanish
    assert TEXTS["es"].guide.contacts in spanish


def test_an_urgent_guide_begins_with_its_number_and_the_way_out(site):
    page = searched(site, LOCKED)
    number, out = (page.index(each) for each in ('href="tel:5550110"', 'class="exit"'))
    assert number < out < page.index("<h2")


def test_a_guide_whose_law_changed_has_no_answer(site, store):
    (found,) = store.fetch(store.keys_of(["a0"]))
    store.write_documents([replace(found, content="New.")], DuplicatePolicy.OVERWRITE)
    page = searched(site, "landlord", guide="deposit")
    assert "In short" not in page
    assert f"The law under this changed on {date.today().day} " in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_last_day_is_counted_by_the_law_s_rule(site, language):
    sent = {"guide": "deposit", "step": "1", "day": "2020-11-07"}
    response = site.get(address("/deadline", language), params=sent)
    assert response.status_code == 200
    # The 21st was a Saturday.
    assert "23" in re.search(r"<strong>(.*?2020)</strong>", response.text)[1]
    assert "/article?id=a2#p1" in response.text
    assert TEXTS[language].guide.past in html.unescape(response.text)
    assert "the day you got &lt;the&gt; letter" in response.text


def test_without_a_rule_a_last_day_is_about_right(store):
    site = site_with(store, GUIDES)
    sent = {"guide": "deposit", "step": "1", "day": "2020-11-07"}
    page = site.get("/deadline", params=sent).text
    assert "about <strong>21 November 2020</strong>" in page
    assert TEXTS["en"].guide.no_rule in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"guide": "none"},
        {"step": "0"},
        {"step": "2"},
        {"step": "x"},
        {"step": "9" * 5000},
        {"day": "2020-02-30"},
        {"day": ""},
        {"day": "9999-12-31"},
    ],
)
def test_a_day_that_cannot_be_counted_is_refused_in_words(site, wrong):
    sent = {"guide": "deposit", "step": "1", "day": "2020-11-07", **wrong}
    response = site.get("/deadline", params=sent)
    assert response.status_code == 400
    assert TEXTS["en"].guide.no_day in response.text
    assert site.get("/deadline").status_code == 400


def test_two_situations_that_tie_are_offered_and_one_is_chosen(site):
    page = searched(site, BETWEEN)
    offered = re.findall(r'class="choose" href="([^"]+)" lang="en">(\w+) en<', page)
    assert {title for _, title in offered} == {"deposit", "locked"}
    assert "In short" not in page
    for link, title in offered:
        assert f"In short: {title}." in site.get(html.unescape(link)).text
    assert "In short" not in searched(site, BETWEEN, guide="nothing like it")


def test_situations_are_withheld_where_the_law_may_not_answer(tmp_path, minilm, monkeypatch):
    law = [article(f"a{n}", text=f"The landlord {n}.", language="en") for n in range(2)]
    store = StatuteDocumentStore(str(indexed(tmp_path, law, minilm)))
    keep(store, GUIDES)
    serving = Serving("hybrid", store.path)

    def situations(threshold: float) -> Any:
        nearness = SimpleNamespace(stage="dense", threshold=threshold)
        monkeypatch.setattr(serving, "_threshold", nearness)
        (answer,) = serving.answers(BETWEEN)
        assert answer["doubtful"] is (threshold > 0)
        return answer.get("situations")

    assert {each["id"] for each in situations(-1.1)} == {"deposit", "locked"}
    assert situations(1.1) is None


def test_a_refusal_names_the_contact_that_most_guides_share(site, store):
    page = searched(site, "zebra")
    assert 'class="message nothing"' in page and "Aldermere" not in page
    assert f"{TEXTS['en'].guide.contacts}: " in page and 'href="tel:5550110"' in page
    assert f"{TEXTS['de'].guide.contacts}: " in searched(site, "zebra", "de")
    # In French there is one guide, and what it names is for its situation.
    assert "555 0110" not in searched(site, "zebra", "fr")
    other = guide("locked", "a1", [LOCKED], contacts=[{"name": "Locksmith"}])
    page = searched(site_with(store, [GUIDES[0], other]), "zebra")
    assert "Locksmith" not in page and "555 0110" not in page


def test_the_search_works_without_a_script(site):
    page = searched(site, "deposit", "en", which="all", law="Housing Code")
    assert "<script" in page and "gradio" not in page
    assert re.search(r'value="all" selected', page) and re.search(">deposit</textarea>", page)
    assert "1 article found" in text_of(page)
    # Only what a script serves is left out.
    assert "<button class=" not in page.split('class="list"')[1]
    # A form keeps the question out of the address.
    sent = site.post("/search", data={"q": "deposit", "which": "all", "law": "Housing Code"})
    assert text_of(sent.text) == text_of(page) and "deposit" not in str(sent.url)
    assert site.get("/search").status_code == 200
    assert "Shorten it" in searched(site, "x" * 3000)
