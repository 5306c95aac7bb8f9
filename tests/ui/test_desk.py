"""The desk answers whatever an HTTP client sends, and repeats no question in the log."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import date
from typing import Any
from urllib.parse import parse_qs

import pytest

from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.collection import Collection
from ui.desk import Desk
from ui.language import LANGUAGES
from ui.narrowing import Narrowing
from ui.takeaway import MEDIA_TYPES
from ui.texts.asking import TEXTS

LAWS = ("Housing Code", "Work Code")
DAY = "2016-02-29"

ARTICLE = {
    "id": "a",
    "law": "Housing Code",
    "number": "1",
    "headings": [],
    "content": "A deposit is owed.",
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


def desk_of(ask: Callable[..., Any]) -> Desk:
    return Desk(ask, lambda: Collection(2, LAWS), "en")


def test_a_question_is_cleaned_asked_and_its_results_are_announced():
    ask = Ask(ARTICLE)
    status, results, _ = desk_of(ask).search("  my\x00 deposit\n ")
    assert ask.asked == ["my  deposit"]
    assert "1 article found" in status
    assert "A deposit is owed." in results


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "The articles found are in French, Chinese; your question does not seem to be."),
        ("fr", "sont en français, chinois ; votre question ne semble pas l’être."),
    ],
)
def test_a_question_in_another_language_than_the_law_is_told_so(language: Any, told: str):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        found = Ask(ARTICLE)(question, narrowing)
        return {**found, "languages": ["fr-BE", "fr", "zh"]}

    desk = Desk(ask, lambda: Collection(2, LAWS), language, several=True)
    status = desk.search("my deposit").status
    assert told in status
    # One reason is enough.
    assert TEXTS[language].unsure[0] not in status


@pytest.mark.parametrize(
    "question", [None, "", " \n\t ", "\x00\x01", 1.5, ["a"], {"a": 1}, True, b"x"]
)
def test_no_question_gets_its_message_and_is_not_asked(question: object):
    ask = Ask(ARTICLE)
    status, results, _ = desk_of(ask).search(question)
    assert "There is no question yet." in status
    assert results == ""
    assert ask.asked == []


def test_a_question_is_counted_and_kept_to_its_limit():
    ask = Ask(ARTICLE)
    desk = desk_of(ask)
    assert "article found" in desk.search(f"  {'x' * MAX_QUESTION_CHARS}  ")[0]
    status, results, _ = desk.search("x" * (MAX_QUESTION_CHARS + 1))
    assert "too long" in status
    assert "2,001 characters; at most 2,000" in status
    assert results == ""
    assert len(ask.asked) == 1
    assert "20,000,000 characters" in desk.search("x" * 20_000_000)[0]


def test_nothing_found_says_so():
    status, results, _ = desk_of(Ask()).search("zebra")
    assert "Nothing was found." in status
    assert results == ""


def test_a_failure_is_a_message_and_its_place_is_logged_without_the_question(
    caplog: pytest.LogCaptureFixture,
):
    def broken(question: str, narrowing: Narrowing) -> dict[str, Any]:
        raise RuntimeError(f"cannot answer {question}")

    with caplog.at_level(logging.DEBUG):
        status, results, _ = desk_of(broken).search("my secret trouble")
    assert "Something failed on our side." in status
    assert results == ""
    assert "RuntimeError" in caplog.text
    assert "in broken" in caplog.text
    assert "my secret trouble" not in caplog.text


def test_an_answer_that_cannot_be_shown_is_a_failure_too():
    status, results, _ = desk_of(Ask({"id": "a"})).search("deposit")
    assert "Something failed on our side." in status
    assert results == ""


def test_the_law_of_today_is_searched_unless_all_is_chosen():
    ask = Ask(ARTICLE)
    desk = desk_of(ask)
    today = desk.search("deposit")
    everything = desk.search("deposit", None, "all")
    assert [each.as_of for each in ask.narrowed] == [None, "any"]
    assert not any("narrowed" in shown.results for shown in (today, everything))
    assert "which" not in parse_qs(json.loads(today.taken)["link"])
    again = desk.arrive(json.loads(everything.taken)["link"])
    assert again.which == "all"
    assert ask.narrowed[2] == ask.narrowed[1]


def test_a_search_is_narrowed_to_what_was_chosen():
    ask = Ask(ARTICLE)
    shown = desk_of(ask).search("deposit", ["Work Code"], "in force", " 2020-02-29 ")
    assert ask.narrowed == [Narrowing(("Work Code",), "in force", date(2020, 2, 29))]
    assert "Narrowed to: <bdi>Work Code</bdi> · <bdi>In force on the day" in shown.results
    assert "29 February 2020" in shown.results


@pytest.mark.parametrize(
    ("laws", "which", "day", "title"),
    [
        (["Code of nowhere"], "all", "", "There is no such choice."),
        ("Code of nowhere", "all", "", "No law has such a name."),
        ("x" * 10_000_000, "all", "", "No law has such a name."),
        ([5], "all", "", "There is no such choice."),
        ([["Work Code"]], "all", "", "There is no such choice."),
        (["Work Code"] * 3, "all", "", "There is no such choice."),
        ({"a": 1}, "all", "", "There is no such choice."),
        ([], "everything", "", "There is no such choice."),
        ([], None, "", "There is no such choice."),
        ([], ["all"], "", "There is no such choice."),
        ([], "all", "2020-02-30", "This is not a day."),
        ([], "all", "tomorrow", "This is not a day."),
        ([], "all", "9" * 10_000_000, "This is not a day."),
        ([], "all", 20200101, "This is not a day."),
        ([], "all", ["2020-01-01"], "This is not a day."),
    ],
)
def test_what_is_no_choice_and_no_day_gets_a_message(
    laws: object, which: object, day: object, title: str
):
    ask = Ask(ARTICLE)
    shown = desk_of(ask).search("deposit", laws, which, day)
    assert title in shown.status
    assert (shown.results, shown.taken, ask.asked) == ("", "", [])


MANY = tuple(f"Act {number} on Léasing" for number in range(300))


def test_of_very_many_laws_those_are_searched_whose_name_holds_the_words():
    ask = Ask(ARTICLE)
    desk = Desk(ask, lambda: Collection(900, (*MANY, "Work Code")), "en", by_list=False)
    shown = desk.search("deposit", "  leasing ACT  29 ")
    # Act 29, 129 and 229, and 290 to 299
    assert len(ask.narrowed[0].laws) == 13
    assert "13 laws with “leasing ACT 29” in the name" in shown.results
    again = desk.arrive(json.loads(shown.taken)["link"])
    assert again.laws == "leasing ACT 29"
    assert ask.narrowed[1] == ask.narrowed[0]
    assert "Narrowed to: <bdi>Work Code</bdi>." in desk.search("deposit", "work").results
    desk.search("deposit", "act 2 on  léasing")
    assert ask.narrowed[-1].laws == ("Act 2 on Léasing",)
    assert desk.search("deposit", " ").results
    assert ask.narrowed[-1].laws == ()


def test_a_name_that_no_law_has_is_told_with_the_nearest():
    ask = Ask(ARTICLE)
    shown = Desk(ask, lambda: Collection(900, (*MANY, "Work Code")), "en", by_list=False).search(
        "deposit", "Wrok Code"
    )
    assert "stands in the name of none of the 301 laws" in shown.status
    assert "Nearest are: Work Code." in shown.status
    french = Desk(ask, lambda: Collection(900, (*MANY, "Work Code")), "fr", by_list=False).search(
        "deposit", "zzz"
    )
    assert "Aucune loi ne porte un tel nom." in french.status
    assert "301 lois consultées." in french.status
    assert ask.asked == []


def test_a_day_alone_narrows_nothing_and_is_told_as_the_day_of_the_states():
    desk = Desk(Ask(ARTICLE), lambda: Collection(2, LAWS, snapshot="2020-01-01"), "en")
    told = {
        which: re.findall(
            r'<p class="(narrowed|limit)">(.*?)</p>', desk.search("rent", [], which, DAY).results
        )
        for which in ("all", "in force")
    }
    in_force = TEXTS["en"].in_force
    assert told == {
        "all": [("limit", "States as of 29 February 2016.")],
        "in force": [("narrowed", f"Narrowed to: <bdi>{in_force} (29 February 2016)</bdi>.")],
    }
    later = desk.search("rent", [], "all", "2024-02-29").results
    assert '<p class="limit">States as of 29 February 2024. ' in later
    assert "1 January 2020" in later
    assert "States as of" not in desk.search("rent").results


def test_nothing_found_in_a_narrowed_search_says_that_it_was():
    desk = desk_of(Ask())
    assert "narrowed" not in desk.search("zebra").status
    assert "The search was narrowed" in desk.search("zebra", ["Work Code"]).status


def test_what_is_taken_away_is_what_was_found_with_the_link_to_it():
    taken = json.loads(desk_of(Ask(ARTICLE)).search("my deposit & rent?", ["Work Code"]).taken)
    assert parse_qs(taken["link"]) == {"q": ["my deposit & rent?"], "law": ["Work Code"]}
    assert taken["files"].keys() == MEDIA_TYPES.keys()
    file = taken["files"]["json"]
    assert file["type"] == "application/json"
    assert file["name"] == f"lexarbor-{date.today()}.json"
    assert json.loads(file["content"])["articles"] == [ARTICLE]


def test_who_follows_a_link_finds_the_same_search():
    ask = Ask(ARTICLE)
    desk = desk_of(ask)
    first = desk.search("my deposit & rent?", ["Work Code"], "not in force", "2020-01-01")
    arrival = desk.arrive(json.loads(first.taken)["link"])
    assert arrival[:3] == (["Work Code"], "not in force", "2020-01-01")
    assert arrival.shown.results == first.results
    assert ask.narrowed[0] == ask.narrowed[1]


@pytest.mark.parametrize(
    "link",
    [None, 5, [], "", "q", "%", "q=" + "x" * 100_000, "&" * 1000, "law=A&law=B&law=C&law=D&law=E"],
)
def test_a_link_that_was_not_made_here_is_an_empty_search(link: object):
    ask = Ask(ARTICLE)
    arrival = desk_of(ask).arrive(link)
    assert "There is no question yet." in arrival.shown.status
    assert arrival[:3] == ([], "in force", "")
    assert ask.asked == []


def test_a_link_with_choices_that_are_none_tells_so_and_fills_in_what_there_is():
    arrival = desk_of(Ask(ARTICLE)).arrive("q=deposit&law=Work+Code&law=Old&which=odd&day=never")
    assert "There is no such choice." in arrival.shown.status
    assert arrival[:3] == (["Work Code"], "in force", "")


def test_a_day_in_a_link_is_put_into_its_field_as_the_browser_writes_it():
    arrival = desk_of(Ask(ARTICLE)).arrive("q=deposit&day=20240229")
    assert "29 February 2024" in arrival.shown.results
    assert arrival.day == "2024-02-29"


def test_the_same_words_are_announced_again():
    desk = desk_of(Ask(ARTICLE))
    for question in ("my deposit", " "):
        assert desk.search(question).status != desk.search(question).status


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_another_one(language: Any):
    def failing(question: str, narrowing: Narrowing) -> dict[str, Any]:
        raise RuntimeError

    def desk(ask: Callable[..., Any]) -> Desk:
        return Desk(ask, lambda: Collection(2, LAWS), language, several=True)

    texts = TEXTS[language]
    unsure = [{**ARTICLE, "ranks": {stage: 1}} for stage in ("bm25", "dense")]
    told = [
        (desk(Ask()).search(" "), texts.empty),
        (desk(Ask()).search("zebra"), texts.nothing),
        (desk(Ask(*unsure)).search("zebra"), texts.unsure),
        (desk(failing).search("zebra"), texts.failed),
    ]
    for shown, message in told:
        assert f"<strong>{message[0]}</strong>".replace("'", "&#x27;") in shown.status
    assert len({shown.status for shown, _ in told}) == 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_article_that_is_named_and_not_there_is_told_above_what_was_found(language: Any):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        found = {"missing": ["art. 9", "<b>art. 10, Code"], "not_followed": ["<b>1 to 2"]}
        return {**Ask(ARTICLE)(question, narrowing), **found}

    shown = Desk(ask, lambda: Collection(2, LAWS), language, several=True).search("art. 9")
    told = TEXTS[language].missing.format(articles="art. 9; &lt;b&gt;art. 10, Code")
    assert f"<strong>{told}</strong>" in shown.status
    assert TEXTS[language].also_found in shown.status
    assert TEXTS[language].not_followed[0].format(citations="&lt;b&gt;1 to 2") in shown.status
    assert TEXTS[language].unsure[0] in shown.status
    assert "A deposit is owed." in shown.results


LEFT_OUT = [
    {
        "id": "h1",
        "law": "Code <b>",
        "number": "1",
        "state": "repealed",
        "valid_to": "2019-12-31",
    }
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_article_that_is_named_and_narrowed_away_is_told(language: Any):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        return {**Ask(ARTICLE)(question, narrowing), "left_out": LEFT_OUT}

    shown = Desk(ask, lambda: Collection(2, LAWS), language).search("art. 1 Code")
    state = {
        "en": "repealed; last day in force 31 December 2019",
        "fr": "abrogé\u00a0; dernier jour en vigueur\u00a0: 31 décembre 2019",
    }[language]
    told = TEXTS[language].left_out.format(articles=f"Code &lt;b&gt;, article 1 ({state})")
    assert f"<strong>{told}</strong>" in shown.status
    assert TEXTS[language].widen in shown.status


@pytest.mark.parametrize(
    "closest", [None, {"law": "C", "number": "1", "score": 0.1, "threshold": 0.5, "enough": False}]
)
def test_what_is_named_is_told_where_nothing_is_found_too(closest: Any):
    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        found = {"documents": [], "missing": ["art. 9"], "left_out": LEFT_OUT}
        return {**Ask(ARTICLE)(question, narrowing), **found, "answer": {"closest": closest}}

    status = Desk(ask, lambda: Collection(2, LAWS), "en").search("art. 9").status
    assert status.index("Not in the law that is searched here: art. 9.") < status.index(
        TEXTS["en"].not_near[0] if closest else TEXTS["en"].nothing[0]
    )
    assert "Code &lt;b&gt;, article 1 (repealed; last day in force 31 December 2019)" in status
    assert TEXTS["en"].also_found not in status


def test_one_stage_alone_is_never_unsure():
    found = Ask({**ARTICLE, "ranks": {"dense": 1}})
    unsure = TEXTS["en"].unsure[0]
    assert unsure not in Desk(found, lambda: Collection(2, LAWS), "en").search("rent").status
    assert (
        unsure in Desk(found, lambda: Collection(2, LAWS), "en", several=True).search("rent").status
    )


def test_a_link_to_more_laws_than_there_are_keeps_its_question():
    desk = Desk(Ask(ARTICLE), lambda: Collection(1, LAWS[:1]), "en")
    link = "q=deposit&" + "&".join(f"law=Code+{n}" for n in range(5))
    arrival = desk.arrive(link)
    assert "The page may be older" in arrival.shown.status
    assert "There is no question yet" not in arrival.shown.status
