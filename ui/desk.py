"""Desk: answers one question for the page."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

from components.statutes.question import QuestionError, clean_question
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui import results
from ui.collection import MOST_LISTED_LAWS, Collection
from ui.language import Language, counted, day, decimal, number
from ui.law.near import near_names
from ui.naming import citation
from ui.narrowing import DEFAULT, WHICH, ChoiceError, DayError, LawError, Narrowing, checked_day
from ui.notice import beyond
from ui.takeaway import FILE_SUFFIX, MEDIA_TYPES, export
from ui.texts import about
from ui.texts.asking import TEXTS

Ask = Callable[[str, Narrowing], Mapping[str, Any]]

# A link holds a question and some laws; what is longer was not made here.
_LONGEST_LINK = 60_000

# Names that a sentence can hold.
_TOLD_LAWS = 3

_logger = logging.getLogger(__name__)


class Shown(NamedTuple):
    """What a search shows: HTML of the status line and of the results, and what can be taken away.

    The last is JSON: `link`, what stands behind the # of a link to this search, and `files`, by
    their kind `name`, `type` and `content`. It is empty where there are no results, as they are.
    """

    status: str
    results: str = ""
    taken: str = ""


class Arrival(NamedTuple):
    """A search as a link tells it: what to put into the fields that narrow a search.

    The question is put into its field by the page itself, before it is answered. `laws` is a list
    of them where they are chosen from one, and else the words of a name.
    """

    laws: list[str] | str
    which: str
    day: str
    shown: Shown


class Desk:
    """Answers one question for the page, whatever an HTTP client sends in its place.

    Args:
        ask: from a clean question and what narrows it to its answer, as `pipelines.asking.ask`
            gives it.
        searched: tells what is searched now.
        language: of the interface.
        by_list: whether laws are chosen from a list.
        several: whether several stages search, so that they can disagree.
    """

    def __init__(
        self,
        ask: Ask,
        searched: Callable[[], Collection],
        language: Language,
        *,
        by_list: bool = True,
        several: bool = False,
    ) -> None:
        self._ask = ask
        self._by_list = by_list
        self._several = several
        self._collection = searched
        self._language: Language = language
        self._texts = TEXTS[language]

    def search(
        self, question: object, laws: object = None, which: object = DEFAULT, on: object = None
    ) -> Shown:
        """What is found for a question, or a message in its place."""
        shown = self._searched(question, laws, which, on)
        return shown._replace(status=results.heard_anew(shown.status))

    def _searched(self, question: object, laws: object, which: object, on: object) -> Shown:
        texts = self._texts
        if isinstance(question, str) and len(question.strip()) > MAX_QUESTION_CHARS:
            return self._message(
                texts.too_long,
                length=number(len(question.strip()), self._language),
                most=number(MAX_QUESTION_CHARS, self._language),
            )
        try:
            asked = clean_question(question)
            narrowing = Narrowing.checked(laws, which, on, self._collection().laws)
        except QuestionError:
            return self._message(texts.empty)
        except ChoiceError:
            return self._message(texts.no_choice)
        except LawError as error:
            return self._no_law(str(error))
        except DayError:
            return self._message(texts.no_day)
        try:
            answer = self._ask(asked, narrowing)
            if not answer["documents"]:
                return self._nothing_found(answer, narrowing)
            unsure = self._several and results.is_unsure(answer)
            return Shown(
                results.found(answer, self._language, unsure=unsure),
                results.results(
                    answer,
                    self._language,
                    self._told(narrowing),
                    narrowing.day,
                    self._limit(narrowing),
                ),
                self._taken(asked, narrowing, answer),
            )
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            # An error's message may quote the question, which is never logged; its place may not.
            place = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("A search failed with %s:\n%s", type(error).__name__, place)
            return self._message(texts.failed)

    def arrive(self, link: object) -> Arrival:
        """What a link leads to: the part behind its #, as `search` made it, or anything else."""
        given: dict[str, list[str]] = {}
        if isinstance(link, str) and len(link) <= _LONGEST_LINK:
            try:
                given = parse_qs(link, max_num_fields=MOST_LISTED_LAWS + 3)
            except ValueError:
                given = {}
        question, which, on = (
            (given.get(name) or [default])[0]
            for name, default in (("q", ""), ("which", DEFAULT), ("day", ""))
        )
        laws: list[str] | str = given.get("law", [])
        if not self._by_list:
            laws = " ".join(laws)
        shown = self.search(question, laws, which, on)
        # The fields take what they offer; the message says that there was something else.
        if isinstance(laws, list):
            known = set(self._collection().laws)
            laws = [law for law in laws if law in known]
        which = which if which in WHICH else DEFAULT
        return Arrival(laws, which, _field_day(on), shown)

    def _message(self, message: tuple[str, str], **told: str) -> Shown:
        return Shown(results.message(message[0], message[1].format(**told)))

    def _no_law(self, given: str) -> Shown:
        known = self._collection().laws
        near = near_names(given, known)[:_TOLD_LAWS]
        told = self._texts.near_laws.format(laws="; ".join(near)) if near else ""
        laws = counted(len(known), about.TEXTS[self._language].laws, self._language)
        return self._message(self._texts.no_law, law=given, laws=laws, near=told)

    def _nothing_found(self, answer: Mapping[str, Any], narrowing: Narrowing) -> Shown:
        title, explanation = self._texts.nothing
        named = results.not_given(answer, self._language)
        best = answer.get("answer", {}).get("closest")
        if best and not best["enough"]:
            closest = self._texts.closest.format(
                place=citation(best),
                score=decimal(best["score"], self._language, 2),
                threshold=decimal(best["threshold"], self._language, 2),
            )
            told = self._message(self._texts.not_near, closest=closest)
            return told._replace(status=named + told.status)
        if narrowing:
            explanation = f"{explanation} {self._texts.nothing_narrowed}"
        return Shown(named + results.message(title, explanation))

    def _told(self, narrowing: Narrowing) -> list[str]:
        """What narrows the search, in words."""
        told = list(narrowing.laws)
        if narrowing.named and len(told) > _TOLD_LAWS:
            laws = counted(len(told), about.TEXTS[self._language].laws, self._language)
            told = [self._texts.laws_named.format(laws=laws, words=narrowing.named)]
        on = day(narrowing.day or date.today(), self._language)
        if narrowing.which == "not in force":
            told.append(f"{self._texts.not_in_force} ({on})")
        elif narrowing.which == "in force" and narrowing.day is not None:
            told.append(f"{self._texts.in_force} ({on})")
        return told

    def _limit(self, narrowing: Narrowing) -> str:
        """What a chosen day means, where it narrows nothing, and what it leaves open."""
        told = beyond(self._collection(), narrowing.day, self._language)
        if narrowing.day is None or narrowing.which != "all":
            return told
        on = day(narrowing.day, self._language)
        return f"{self._texts.states_on.format(day=on)} {told}".rstrip()

    def _taken(self, question: str, narrowing: Narrowing, answer: Mapping[str, Any]) -> str:
        laws = [narrowing.named] if narrowing.named else narrowing.laws
        link = [("q", question), *(("law", law) for law in laws)]
        if narrowing.which != DEFAULT:
            link.append(("which", narrowing.which))
        if narrowing.day:
            link.append(("day", narrowing.day.isoformat()))
        today, collection = date.today(), self._collection()
        files = {
            kind: {
                "name": f"lexarbor-{today.isoformat()}{FILE_SUFFIX[kind]}",
                "type": MEDIA_TYPES[kind],
                "content": export(
                    kind,
                    answer["documents"],
                    self._language,
                    collection,
                    narrowing.day or today,
                    today,
                    question,
                ),
            }
            for kind in MEDIA_TYPES
        }
        return json.dumps({"link": urlencode(link), "files": files}, ensure_ascii=False)


def _field_day(written: str) -> str:
    """A day as the browser's field takes it: what else it was given would go on unseen."""
    try:
        on = checked_day(written)
    except DayError:
        return ""
    return on.isoformat() if on else ""
