"""The desk answers whatever an HTTP client sends, and repeats no question in the log."""

import html
import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any
from urllib.parse import parse_qs

import pytest

from components.retrievers.validity import not_in_force_on
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.article import BINARY, MEDIA_TYPES
from ui.ask import Desk, Narrowing, Shown
from ui.frame import Collection
from ui.language import LANGUAGES, TEXTS, Language

LAWS = ("Housing Code", "Work Code")
ARTICLE = {
    "id": "a",
    "law": "Housing Code",
    "number": "1",
    "headings": [],
    "content": "A deposit is owed.",
    "passages": [{"start": 0, "end": 18, "score": 0.5}],
    "score": 1.0,
    "ranks": {"bm25": 1},
    "state": "unknown",
}


class Ask:
    def __init__(self, *documents: dict[str, Any]) -> None:
        self.asked: list[str] = []
        self.narrowed: list[Narrowing] = []
        self.documents = documents

    def __call__(self, question: str, narrowing: Narrowing) -> dict[str, Any]:
        self.asked.append(question)
        self.narrowed.append(narrowing)
        return {"question": question, "took_ms": 1.0, "documents": list(self.documents)}


def last(shown: Iterable[Shown]) -> Shown:
    """What is shown in the end."""
    *_, at_last = shown
    return at_last


def desk_of(ask: Callable[..., Any], laws: Sequence[str] = LAWS, language: Language = "en") -> Desk:
    """A desk that answers in one piece."""
    return Desk(lambda *asked: [ask(*asked)], lambda: Collection(len(laws), tuple(laws)), language)


def test_a_question_is_cleaned_asked_and_its_results_are_announced():
    ask = Ask(ARTICLE)
    desk = desk_of(ask)
    status, results, *_ = last(desk.search("  my\x00 deposit\n "))
    assert ask.asked == ["my  deposit"]
    assert "1 article found" in status
    assert "A <mark>deposit</mark> is owed." in results
    assert "article found" in last(desk.search(f"  {'x' * MAX_QUESTION_CHARS}  "))[0]
    for question, message in (
        *(
            (each, "Enter a question or an article number.")
            for each in (None, "", " \n\t ", "\x00\x01", b"x", 1.5, ["a"], {"a": 1}, True)
        ),
        ("x" * (MAX_QUESTION_CHARS + 1), "Shorten it by 1 character. The limit is 2,000."),
        ("x" * 20_000_000, "by 19,998,000 characters"),
    ):
        status, results, *_ = last(desk.search(question))
        assert message in status
        assert results == ""
    assert len(ask.asked) == 2


def test_a_failure_is_a_message_and_its_place_is_logged_without_the_question(caplog):
    def broken(question: str, narrowing: Narrowing) -> dict[str, Any]:
        raise RuntimeError(f"cannot answer {question}")

    with caplog.at_level(logging.DEBUG):
        status, results, *_ = last(desk_of(broken).search("my secret trouble"))
    assert 'class="message failure"' in status
    assert results == ""
    assert "RuntimeError" in caplog.text
    assert "in broken" in caplog.text
    assert "my secret trouble" not in caplog.text


def test_a_search_is_narrowed_to_what_was_chosen():
    ask = Ask(ARTICLE)
    shown = last(desk_of(ask).search("deposit", ["Work Code"], "in force", " 2020-02-29 "))
    assert ask.narrowed == [Narrowing(("Work Code",), "in force", date(2020, 2, 29))]
    assert "Filtered by: <bdi>Work Code</bdi> · <bdi>In force on this date" in shown.results
    assert "29 February 2020" in shown.results


def test_an_invalid_choice_or_day_gets_a_message():
    ask = Ask(ARTICLE)
    laws = (["Code of nowhere"], "x" * 10_000_000, [["Work Code"]], {"a": 1})
    for chosen in (
        *((law, "all", "") for law in laws),
        *(([], which, "") for which in ("everything", None)),
        *(([], "all", day) for day in ("2020-02-30", "9" * 10_000_000, "today")),
    ):
        shown = last(desk_of(ask).search("deposit", *chosen))
        assert 'class="message' in shown.status
        assert (shown.results, shown.taken) == ("", "")
    assert ask.asked == []


MANY = tuple(f"Act {number} on Léasing" for number in range(300))


def test_of_very_many_laws_those_are_searched_whose_name_holds_the_words():
    ask = Ask(ARTICLE)
    desk = desk_of(ask, (*MANY, "Work Code"))
    shown = last(desk.search("deposit", "  leasing ACT  29 "))
    # Act 29, 129 and 229, and 290 to 299
    assert len(ask.narrowed[0].laws) == 13
    assert "13 laws with “leasing ACT 29” in the name" in shown.results
    again = desk.arrive(json.loads(shown.taken)["link"])
    assert again.laws == "leasing ACT 29" and next(again.shown).results
    assert ask.narrowed[1] == ask.narrowed[0]
    assert "Filtered by: <bdi>Work Code</bdi>" in last(desk.search("deposit", "work")).results
    last(desk.search("deposit", "act 2 on  léasing"))
    assert ask.narrowed[-1].laws == ("Act 2 on Léasing",)
    assert last(desk.search("deposit", " ")).results
    assert ask.narrowed[-1].laws == ()


def test_what_is_taken_away_is_what_was_found_with_a_link_to_the_same_search():
    ask = Ask(ARTICLE)
    desk = desk_of(ask)
    first = last(desk.search("my deposit & rent?", ["Work Code"], "not in force", "2020-01-01"))
    taken = json.loads(first.taken)
    assert parse_qs(taken["link"])["q"] == ["my deposit & rent?"]
    assert taken["files"].keys() == MEDIA_TYPES.keys() - BINARY
    file = taken["files"]["json"]
    assert file["type"] == "application/json"
    assert file["name"] == f"lexarbor-{date.today()}.json"
    assert json.loads(file["content"])["articles"] == [ARTICLE]
    arrival = desk.arrive(taken["link"])
    assert arrival[:3] == (["Work Code"], "not in force", "2020-01-01")
    assert next(arrival.shown).results == first.results
    assert ask.narrowed[0] == ask.narrowed[1]


def test_a_corrected_question_links_to_the_search_of_its_words_as_typed():
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        corrections = {} if narrowing.as_typed else {"deposet": "deposit"}
        return {**Ask(ARTICLE)(question, narrowing), "corrections": corrections}

    desk = desk_of(ask)
    shown = last(desk.search("my deposet", ["Work Code"]))
    (link,) = re.findall('class="corrected">.*?href="/#([^"]*)"', shown.results)
    as_typed = desk.arrive(html.unescape(link))
    assert as_typed.laws == ["Work Code"]
    shown = next(as_typed.shown)
    assert "my deposet" in shown.results
    assert 'class="corrected"' not in shown.results
    # A link to what is shown now is one to the words as typed.
    assert json.loads(shown.taken)["link"] == html.unescape(link)


def test_what_was_searched_too_is_named_and_can_be_left_out():
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        is_expanded = narrowing.as_arguments()["expand"]
        expansions = {"bond": ["a <b>", "rent"], "cash": ["rent"]} if is_expanded else {}
        return {**Ask(ARTICLE)(question, narrowing), "expansions": expansions}

    desk = desk_of(ask)
    shown = last(desk.search("my bond"))
    assert "Also searched: <strong>a &lt;b&gt;, rent</strong>" in shown.results
    (link,) = re.findall('class="corrected">.*?href="/#([^"]*)"', shown.results)
    assert 'class="corrected"' not in next(desk.arrive(html.unescape(link)).shown).results


def test_a_link_that_was_not_made_here_is_an_empty_search():
    ask = Ask(ARTICLE)
    laws = "&".join(f"law={letter}" for letter in "ABCDE")
    for link in (None, 5, [], "", "q", "%", "&" * 1000, laws):
        arrival = desk_of(ask).arrive(link)
        assert "Enter a question or an article number." in next(arrival.shown).status
        assert arrival[:3] == ([], "in force", "")
    # Of invalid choices, those that exist are filled in.
    arrival = desk_of(ask).arrive("q=deposit&law=Work+Code&law=Old&which=odd&day=never")
    assert "This page is out of date." in next(arrival.shown).status
    assert arrival[:3] == (["Work Code"], "in force", "")
    assert ask.asked == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_article_that_is_named_and_not_there_is_told_above_what_was_found(language):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        found = {"missing": ["art. 9", "<b>art. 10, Code"], "not_followed": ["<b>1 to 2"]}
        return {**Ask(ARTICLE)(question, narrowing), **found, "doubtful": True}

    shown = last(desk_of(ask, language=language).search("art. 9"))
    told = TEXTS[language].ask.missing.format(articles="art. 9; &lt;b&gt;art. 10, Code")
    assert f"<strong>{told}</strong>" in shown.status
    assert TEXTS[language].ask.also_found in shown.status
    assert TEXTS[language].ask.not_followed[0].format(citations="&lt;b&gt;1 to 2") in shown.status
    assert TEXTS[language].ask.doubtful[0] in shown.status
    assert "A deposit is owed." in shown.results


LEFT_OUT = {"id": "h1", "law": "Code <b>", "number": "1"}
REPEALED = {**LEFT_OUT, "state": "repealed", "valid_to": "2019-12-31"}
COMING = {**LEFT_OUT, "state": "not yet in force", "valid_from": "2030-01-01"}


@pytest.mark.parametrize(
    ("left_out", "language", "said", "links"),
    [
        (REPEALED, "en", "Code <b>, article 1 is no longer law. Its last day was 31 Dec", ["h1"]),
        (REPEALED, "fr", "article 1 n’est plus en vigueur. Son dernier jour a été le 31", ["h1"]),
        (
            {**REPEALED, "replaced_by": {**LEFT_OUT, "id": "h2", "number": "1-1"}},
            *("en", "In its place: Code <b>, article 1-1.", ["h1", "h2"]),
        ),
        ({**LEFT_OUT, "state": "repealed"}, "en", "article 1 is no longer law.", ["h1"]),
        (
            {**COMING, "earlier_text": "not held"},
            *("en", "Earlier text not held; this wording applies from 1 January 2030.", ["h1"]),
        ),
        ({**COMING, "earlier_text": "none"}, "en", "Not yet law; in force from 1 Jan", ["h1"]),
        ({**LEFT_OUT, "state": "in force"}, "en", "Your filters hide an article", ["h1"]),
    ],
)
def test_a_named_article_that_is_left_out_is_linked_with_the_reason(
    left_out, language, said, links
):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        return {**Ask()(question, narrowing), "left_out": [left_out]}

    shown = last(desk_of(ask, language=language).search("art. 1 Code"))
    assert said in html.unescape(re.sub(r"<[^>b]*>|<b[^>]+>", "", shown.status))
    assert re.findall(r"article\?id=(\w+)", shown.status) == links
    assert ("Your filters" in shown.status) is (left_out["state"] == "in force")
    assert shown.status.count('class="message') == 1


OF_CODES = ("Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)")


def test_each_state_of_an_answer_looks_different():
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        if question == "broken":
            raise RuntimeError
        documents = [] if question == "passport" else [ARTICLE]
        found = {"question": question, "took_ms": 1.0, "documents": documents}
        return {**found, "doubtful": question == "tax"}

    desk = desk_of(ask, OF_CODES)
    answered, doubted, nothing, broken = (
        last(desk.search(question)) for question in ("deposit", "tax", "passport", "broken")
    )
    assert "What the law says" in answered.results and 'class="message' not in answered.status
    assert "What the law says" not in doubted.results
    assert re.search("Closest passages.*A deposit is owed.*Closest matches", doubted.results, re.S)
    assert 'class="message doubt"' in doubted.status
    assert (
        'class="message nothing"' in nothing.status and "Housing Code; Work Code" in nothing.status
    )
    assert 'class="message failure"' in broken.status
    assert nothing.results == broken.results == ""


def test_a_law_alone_leads_to_it_and_with_a_number_to_its_article():
    ask = Ask(ARTICLE)
    desk = desk_of(ask, OF_CODES)
    alone = last(desk.search("housing code?")).results
    assert "/law?of=Housing%20Code%20of%20Aldermere" in alone
    assert ask.asked == []
    for question in ("work code 37", "37 Work Code", "the Work Code of Aldermere, 37"):
        assert question in last(desk.search(question)).results
    assert set(ask.asked) == {"article 37, Work Code of Aldermere (invented)"}
    for question in ("housing", "does the work code apply to 37 people", "work code 3 or 7"):
        last(desk.search(question))
        assert ask.asked[-1] == question


def test_a_number_that_several_laws_have_asks_which_law():
    documents = [
        {**ARTICLE, "id": law, "law": law, "number": "21", "ranks": {"citation": 1}}
        for law in OF_CODES
    ]
    shown = last(desk_of(Ask(*documents)).search("art. 21"))
    assert "Article 21 of which law?" in shown.results
    assert "Housing Code, article 21</a>" in shown.results
    documents[1] |= {"content": "(1) One.\n(2) Two.", "passage": {"start": 9, "end": 17}}
    shown = last(desk_of(Ask(*documents)).search("art. 21(2)"))
    assert re.findall(r'href="[^"#]*(#?\w*)"', shown.results) == ["", "#p2"]
    # Where the question says more, it is answered.
    documents[0]["ranks"]["bm25"] = 1
    assert "of which law?" not in last(desk_of(Ask(*documents)).search("art. 21 notice")).results


def test_law_that_no_longer_binds_stands_under_a_banner_and_not_in_the_answer():
    repealed = {**ARTICLE, "id": "old", "state": "repealed", "valid_to": "2018-12-31"}
    shown = last(desk_of(Ask(repealed, ARTICLE)).search("deposit", None, "all")).results
    assert 'class="not-law"' in shown
    assert "No longer law since 1 January 2019" in shown
    answer = shown[: shown.index('<div class="list">')]
    assert "id=a#" in answer or 'id=a"' in answer
    assert "id=old" not in answer
    assert 'class="not-law"' not in last(desk_of(Ask(ARTICLE)).search("deposit")).results


def test_a_search_is_kept_to_what_is_in_force_on_the_day_or_what_is_not():
    day = date(2020, 6, 1)
    of_law = {"field": "meta.law", "operator": "in", "value": ["Work Code"]}
    assert Narrowing().as_arguments()["as_of"] is None
    assert Narrowing(("Work Code",), day=day).as_arguments() == {
        "filters": of_law,
        "as_of": day,
        "states_on": day,
        "correct": True,
        "expand": True,
    }
    assert Narrowing(which="all", day=day).as_of == Narrowing(which="not in force").as_of == "any"
    assert Narrowing(which="not in force", day=day).filters == not_in_force_on(day, None)
