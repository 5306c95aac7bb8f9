"""Answers as they come: a model's with every doubt, the law's own words, late ones, none."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from browsing import ask, check_looks, violations
from haystack.dataclasses import ChatMessage
from tiny_site import JOIN

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.rankers.passages import StatutePassageRanker
from components.statutes.corpus import StatuteCorpus
from pipelines.asking import found_article
from ui.ask import build_page
from ui.frame import Collection
from ui.server import build_server

pytestmark = pytest.mark.browser
WRITTEN = (
    'The landlord "may not hold the money" [1]. It goes to a blocked account [1], and "every month '
    'the tenant is paid a tenth" [1]. Section 99 of the Housing Code of Aldermere helps, too. Ask '
    "the Registry."
)


@pytest.fixture(scope="module")
def page_of(serve_page, aldermere_articles) -> Callable[[str | None], str]:
    """The address of a page whose every question has this reply."""
    corpus = StatuteCorpus.read(aldermere_articles)
    from components.converters.articles import as_document

    documents = [
        as_document(article, position)
        for position, article in enumerate(corpus)
        if article.id in ("housing-12", "housing-14-1")
    ]
    collection = Collection(len(corpus), tuple(corpus.laws))

    def start(reply: str | None) -> str:
        def ask(question: str) -> dict[str, Any]:
            from datetime import date

            replies = [] if reply is None else [ChatMessage.from_assistant(reply)]
            checked = QuoteVerifier().run(replies, documents)["checked"]
            built = CitedAnswerBuilder().run(question, documents, checked=checked)["answers"][0]
            return {
                "question": question,
                "took_ms": 1.0,
                "documents": [
                    {**found_article(each, date.today()), "passages": each.meta["passages"]}
                    for each in StatutePassageRanker().run(question, documents)["documents"]
                ],
                "answer": {"text": built.data, **built.meta},
            }

        return serve_page(ask, lambda: collection)

    return start


def asked(page: Any) -> Any:
    page.get_by_label("Your question").fill("Who keeps my deposit?")
    page.get_by_role("button", name="Search").click()
    panel = page.locator("#results .answer")
    panel.wait_for()
    return panel


@pytest.mark.parametrize(
    ("reply", "name", "looks"),
    [(None, "verbatim", ("light", 1280)), (WRITTEN, "written", ("dark", 390))],
)
def test_axe_finds_no_violation_in_an_answer(open_page, page_of, reply, name, looks):
    page = open_page(page_of(reply))
    assert asked(page).locator(".passage, .sources li").count() > 0
    assert page.get_by_role("article").count() == 2
    check_looks(page, f"answer-{name}", "en", [looks])


def test_an_answer_grows_above_articles_that_stay_as_they_are(open_page, serve_site):
    ending = threading.Event()
    article = {"id": "1", "law": "Code", "number": "1", "headings": [], "content": "One text."}
    article |= {"ranks": {"bm25": 1}, "state": "unknown"}
    found = {"question": "Who?", "took_ms": 1.0, "documents": [article]}
    checked = {"text": "Yes.", "start": 0, "quotations": [], "citations": [], "uncited": True}
    written = {"state": "generated", "statements": [checked], "sources": [], "notices": []}

    def answers(question: str, *_: Any) -> Iterator[dict[str, Any]]:
        yield {**found, "writing": ""}
        yield {**found, "writing": "Ye"}
        ending.wait(30)
        yield {**found, "answer": written}

    collection = Collection(1, ("Code",))
    page_ = build_page(answers, lambda: collection, ["bm25"], sent_to={"generator"})
    page = open_page(serve_site(build_server({"/": page_})))
    ask(page, "Who?")
    growing = page.locator("#written .answer")
    growing.get_by_text("Ye", exact=True).wait_for()
    assert violations(page) == []
    page.get_by_text("Whole article").click()
    page.wait_for_timeout(300)
    assert page.locator("details.whole").get_attribute("open") is not None
    ending.set()
    page.locator("#results .answer", has_text="no article named").wait_for()
    assert growing.count() == 0


# The examples are about such law.
LAW = "Civil Code of Aldermere"


@pytest.fixture(scope="module")
def answering() -> threading.Event:
    return threading.Event()


@pytest.fixture(scope="module")
def slow_page(serve_page, answering) -> Iterator[str]:
    """A page on which every question waits until `answering` is set, and then finds an article."""

    def ask(question: str) -> dict[str, Any]:
        answering.wait(60)
        article = {"id": "1", "law": LAW, "number": "1", "headings": [], "content": "One text."}
        article |= {"ranks": {"bm25": 1}, "state": "unknown"}
        return {"question": question, "took_ms": 1.0, "documents": [article]}

    yield serve_page(ask, lambda: Collection(1, (LAW,)))
    answering.set()


def shows(page: Any, question: str) -> None:
    page.locator(".asked q", has_text=question).wait_for()
    assert page.locator("#question").input_value() == question


def test_back_and_forward_lead_through_the_questions(open_page, slow_page, answering):
    answering.set()
    page = open_page(slow_page)
    entries = page.evaluate("history.length")
    ask(page, "adoption")
    ask(page, "it's ~ 50% & *more*")
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("checkbox", name=LAW).check()
    page.locator("#which").select_option("In force on this date")
    page.locator("#day").fill("2024-02-29")
    page.locator("#search").click()
    page.locator(".narrowed").wait_for()
    # The same once more is no other question.
    page.locator("#search").click()
    page.wait_for_timeout(500)
    assert page.evaluate("history.length") == entries + 3
    page.go_back()
    page.locator(".narrowed").wait_for(state="detached")
    shows(page, "it's ~ 50% & *more*")
    page.go_back()
    shows(page, "adoption")
    page.go_forward()
    page.go_forward()
    page.locator(".narrowed").wait_for()
    assert page.get_by_role("checkbox", name=LAW).is_checked()
    assert page.locator("#day").input_value() == "2024-02-29"
    assert page.evaluate("history.length") == entries + 3
    page.evaluate("history.go(-3)")
    page.locator(".asked").wait_for(state="detached")
    page.locator("#question").wait_for()
    assert page.locator("#question").input_value() == ""
    assert page.url == slow_page


def test_what_is_written_while_a_search_comes_back_stays(open_page, slow_page, answering):
    answering.clear()
    page = open_page(f"{slow_page}#q=adoption")
    question = page.locator("#question")
    page.wait_for_function("document.querySelector('#question').value === 'adoption'")
    page.wait_for_timeout(500)
    question.focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("tutelle")
    answering.set()
    page.locator(".asked q", has_text="adoption").wait_for()
    page.wait_for_timeout(1_500)
    assert question.input_value() == "tutelle"


BUSY, LOST = "Many people are asking", "We couldn’t get results"


def fill_the_queue(site: str, page: Any) -> None:
    search = next(each for each in page.fns.values() if each.api_name == "search")
    with httpx.Client(base_url=site) as http:
        for number in range(100):
            call = {"data": ["q=A"], "fn_index": search._id, "session_hash": f"s{number}"}
            if http.post(JOIN, json=call).status_code == 429:
                return
    raise AssertionError("the queue was never full")


def test_where_everyone_asks_at_once_or_the_site_is_gone_one_is_asked_to_try_again(
    chromium, serve_site
):
    unblocked = threading.Event()

    def answer(question: str, *_: Any) -> list[dict[str, Any]]:
        unblocked.wait(60)
        return [{"question": question, "took_ms": 1.0, "documents": []}]

    page_ = build_page(answer, lambda: Collection(1, ("Code civil",)), ["bm25"])
    site = serve_site(build_server({"/": page_}))
    fill_the_queue(site, page_)
    context = chromium.new_context(viewport={"width": 800, "height": 700})
    page = context.new_page()
    page.goto(site)
    question = page.locator("#question")
    question.fill("A question")
    question.press("Enter")
    told = page.locator("#status .message", has_text=BUSY)
    told.wait_for()
    assert page.locator("#status").get_attribute("role") == "status"
    assert not page.locator(".toast-body").is_visible()
    assert not page.locator("#results .error").is_visible()
    # It stays until the next question, which is answered.
    page.wait_for_timeout(300)
    assert told.is_visible()
    unblocked.set()
    # The questions that wait are answered first, so the queue may be full for a moment yet.
    for _ in range(30):
        page.locator("#search").click()
        page.wait_for_timeout(1_000)
        if told.count() == 0:
            break
    page.locator("#status .message", has_not_text=BUSY).wait_for()
    assert told.count() == 0
    page.route("**/queue/join*", lambda route: route.abort())
    question.press("Enter")
    page.locator("#status .message", has_text=LOST).wait_for()
    assert not page.locator(".toast-body").is_visible()
    context.close()
