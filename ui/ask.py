"""The view "Ask": a Gradio Blocks around a `Desk`."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import parse_qs, urlencode

import gradio as gr
from gradio.components import Component
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from components.retrievers.validity import ANY, not_in_force_on
from components.statutes.citations.laws import LawNames
from components.statutes.languages import folded
from components.stores.database import StoreError
from ui import results
from ui.article import (
    BINARY,
    MEDIA_TYPES,
    NO_GLOSSARIES,
    Glossaries,
    export,
    file_suffix,
    plain_law,
)
from ui.frame import Collection, beyond, document, full_title, notice, render
from ui.guard import log_failure
from ui.guide import GuideShelf
from ui.language import LANGUAGES, TEXTS, Language, address, counted, day
from ui.results import MessageError

Which = Literal["in force", "all", "not in force"]
WHICH: tuple[Which, ...] = get_args(Which)
DEFAULT: Which = "in force"

Recipient = Literal["engine", "generator"]

# Questions answered at the same time, in all languages. More than the number of cores does not
# help.
AT_ONCE = 2

_LONGEST_NAME = 200  # characters that are looked at

# In a link to a search for the words as they were typed.
_SPELLING, _AS_TYPED = "spelling", "typed"

# Laws that the page names.
_NAMED_LAWS = 3

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Narrowing:
    """What a search is narrowed to.

    Attributes:
        laws: names of the laws; none for all.
        named: words that all of these names hold, where that is how they were chosen.
        which: those in force on the day, all, or those not in force on it. An article without dates
            may be in force.
        day: None for today.
        as_typed: whether the words are searched alone as they are written, not in the law's
            spelling, nor with its words for what people say.
        guide: id of the situation that the reader chose; "" for none.
    """

    laws: tuple[str, ...] = ()
    which: Which = DEFAULT
    day: date | None = None
    named: str = ""
    as_typed: bool = False
    guide: str = ""

    def __bool__(self) -> bool:
        """Whether the reader narrowed it: to laws, or to other articles than today's or all."""
        day_chosen = self.which == "in force" and self.day is not None
        return bool(self.laws) or self.which == "not in force" or day_chosen

    @property
    def as_of(self) -> date | str | None:
        """As `pipelines.asking.ask` takes it; None where the pipeline searches the law of today."""
        return self.day if self.which == "in force" else ANY

    @property
    def filters(self) -> dict[str, Any] | None:
        """As Haystack's filters, without those that `as_of` stands for."""
        of_laws = {"field": "meta.law", "operator": "in", "value": list(self.laws)}
        filters = of_laws if self.laws else None
        excluding = self.which == "not in force"
        return not_in_force_on(self.day or date.today(), filters) if excluding else filters

    def as_arguments(self) -> dict[str, Any]:
        """As arguments of `pipelines.asking.ask`."""
        given = {"filters": self.filters, "as_of": self.as_of, "states_on": self.day}
        return {**given, "correct": not self.as_typed, "expand": not self.as_typed}


Ask = Callable[[str, Narrowing], Iterable[Mapping[str, Any]]]


_LAW_AND_NUMBER = re.compile(
    r"(?P<before>\d[\w.-]*)?[\s,]*(?P<name>[^\d].*?)[\s,]*(?P<after>\d[\w.-]*)?"
)
_SMALL_WORDS = {"the", "le", "la", "du", "des"}


@lru_cache(maxsize=4)
def _law_names(collection: Collection) -> LawNames:
    return LawNames(collection.laws, collection.names)


def named_law(question: str, collection: Collection) -> tuple[str, str | None] | None:
    """The law of a question such as "Housing Code" or "work code 37", and the number in it.

    None for any other question.
    """
    match = _LAW_AND_NUMBER.fullmatch(question.strip().rstrip("?."))
    laws = _law_names(collection).anywhere(match["name"]) if match else ()
    if match is None or (match["before"] and match["after"]) or len(laws) != 1:
        return None
    texts = (folded(each.casefold()) for each in (match["name"], *laws))
    named, known = (set(re.findall(r"[^\W_]+", each)) for each in texts)
    return (min(laws), match["before"] or match["after"]) if named <= known | _SMALL_WORDS else None


class Shown(NamedTuple):
    """What a search shows: HTML of the status line, of what a generator is writing and of the
    results, and JSON for the script.

    The JSON, `taken`, has `link`, the fragment of a link to this search, and `files`: by kind, the
    `name`, `type` and `content` of an export. It is empty without results.
    """

    status: str
    results: str = ""
    taken: str = ""
    written: str = ""


class Arrival(NamedTuple):
    """The search of a link: what to put into the fields that narrow it, and its results.

    `laws` is a list if laws are chosen from one,
    and otherwise words of a name.
    """

    laws: list[str] | str
    which: str
    day: str
    shown: Iterator[Shown]


class Desk:
    """Answers one question for the page, whatever an HTTP client sends in its place.

    Args:
        ask: from a clean question and what narrows it to its answer as it grows, as
            `ui.server.Serving.answers` gives it.
        searched: describes what is searched now.
        language: of the interface.
        glossaries: gives the words that the laws define.
        guides: what to do; None without any.
        is_plain: whether it answers for the page that works without a script.
    """

    def __init__(
        self,
        ask: Ask,
        searched: Callable[[], Collection],
        language: Language,
        glossaries: Callable[[], Glossaries] = lambda: NO_GLOSSARIES,
        guides: GuideShelf | None = None,
        *,
        is_plain: bool = False,
    ) -> None:
        self._ask = ask
        self._collection = searched
        self._glossaries = glossaries
        self._guides = guides
        self._is_plain = is_plain
        self._language: Language = language
        self._texts = TEXTS[language].ask

    def search(
        self,
        question: object,
        laws: object = None,
        which: object = DEFAULT,
        on: object = None,
        *,
        as_typed: bool = False,
        guide: str = "",
    ) -> Iterator[Shown]:
        """What is found for a question, as its answer grows, or a message in its place."""
        try:
            asked = results.asked_question(question, self._texts.empty, self._language)
            narrowing = self._narrowing(laws, which, on)
            narrowing = replace(narrowing, as_typed=as_typed, guide=guide[:_LONGEST_NAME])
            yield from self._found(asked, narrowing)
        except MessageError as error:
            yield Shown(results.status([error.args[0]]))
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            log_failure(_logger, "A search", error)
            yield Shown(results.status([self._texts.failed], kind="failure"))

    def _narrowing(self, laws: object, which: Any, on: object) -> Narrowing:
        """What narrows a search: a list of names, or words of a name; one of `WHICH`; and a day.

        Raises:
            MessageError: one of them is invalid, or no law's name holds the words.
        """
        known, named = self._collection().laws, ""
        if isinstance(laws, str):
            named = " ".join(laws.split())[:_LONGEST_NAME]
            laws = self._laws_named(named, known) if named else []
        chosen: Any = [] if laws is None else laws
        is_list = isinstance(chosen, list) and all(isinstance(law, str) for law in chosen)
        if which not in WHICH or not is_list or not {*known}.issuperset(chosen):
            raise MessageError(self._texts.no_choice)
        return Narrowing(tuple(dict.fromkeys(chosen)), which, self._day(on), named)

    def _laws_named(self, words: str, laws: Sequence[str]) -> list[str]:
        """The laws whose names hold every one of some words; capitals and accents do not count.

        A whole name stands for its law alone, though others hold its words too.
        """
        parts = folded(words.casefold()).split()
        names = {law: folded(law.casefold()) for law in laws}
        found = [law for law, name in names.items() if name.split() == parts]
        found = found or [law for law, name in names.items() if all(each in name for each in parts)]
        if not found:
            raise MessageError((self._texts.no_law.format(law=words), ""))
        return found

    def _day(self, given: object) -> date | None:
        try:
            return None if given in (None, "") else date.fromisoformat(str(given).strip())
        except ValueError:
            raise MessageError(self._texts.no_day) from None

    def _found(self, asked: str, narrowing: Narrowing) -> Iterator[Shown]:
        law, number = named_law(asked, self._collection()) or ("", None)
        if law and number is None:
            found = results.law_found(law, self._language)
            yield Shown(results.status([], self._texts.law_found), found)
            return
        for answer in self._ask(f"article {number}, {law}" if law else asked, narrowing):
            yield self._shown({**answer, "question": asked}, narrowing)

    def _shown(self, answer: Mapping[str, Any], narrowing: Narrowing) -> Shown:
        language, on, asked = self._language, narrowing.day, answer["question"]
        if not answer["documents"]:
            return self._nothing_found(answer, narrowing)
        if choice := results.which_law(answer, language, on):
            announced = counted(len(answer["documents"]), self._texts.announced, language)
            return Shown(results.status(results.not_given(answer, language), announced), choice)
        guide = self._guide(answer, narrowing)
        if guide is not None:
            answer = {**answer, "doubtful": False}
        return Shown(
            results.found(answer, language, self._collection().laws, self._advice()),
            results.results(
                answer,
                language,
                self._filters(narrowing),
                on,
                self._limit(narrowing),
                glossaries=self._glossaries(),
                as_typed=self._link(asked, replace(narrowing, as_typed=True)),
                guide=guide,
                situations=[] if guide else self._situations(answer, narrowing),
                is_plain=self._is_plain,
            ),
            self._taken(asked, narrowing, answer),
            results.being_written(answer, language),
        )

    def _guide(self, answer: Mapping[str, Any], narrowing: Narrowing) -> dict[str, Any] | None:
        """The guide that the reader chose, or else the one that was found."""
        found = narrowing.guide or (answer.get("guide") or {}).get("id")
        if self._guides is None or not found:
            return None
        return self._guides.shown(found, self._language)

    def _situations(
        self, answer: Mapping[str, Any], narrowing: Narrowing
    ) -> list[tuple[str, str, str]]:
        """Title, its language and link of each situation that the question may be about."""
        choices = []
        for each in answer.get("situations", ()):
            assert self._guides is not None
            if kept := self._guides.kept(each["id"], self._language):
                link = self._link(answer["question"], replace(narrowing, guide=each["id"]))
                choices.append((kept.guide.title, kept.guide.language, link))
        return choices

    def _link(self, question: str, narrowing: Narrowing) -> str:
        """The address of a search."""
        path, sign = ("/search", "?") if self._is_plain else ("/", "#")
        return f"{address(path, self._language)}{sign}{_link(question, narrowing)}"

    def arrive(self, link: object) -> Arrival:
        """The search of a link, given its query string, which may be anything."""
        given = parse_qs(link) if isinstance(link, str) else {}
        defaults = {"q": "", "which": DEFAULT, "day": "", "guide": ""}
        question, which, on, guide = (given.get(name, [each])[0] for name, each in defaults.items())
        listed = given.get("law", [])
        laws: list[str] | str = listed if self._collection().lists_laws else " ".join(listed)
        as_typed = given.get(_SPELLING) == [_AS_TYPED]
        shown = self.search(question, laws, which, on, as_typed=as_typed, guide=guide)
        # The fields take only what they offer; the message explains the rest.
        if isinstance(laws, list):
            laws = [law for law in self._collection().laws if law in listed]
        field_day = ""
        with suppress(MessageError):
            field_day = str(self._day(on) or "")
        return Arrival(laws, which if which in WHICH else DEFAULT, field_day, shown)

    def _nothing_found(self, answer: Mapping[str, Any], narrowing: Narrowing) -> Shown:
        texts, language = self._texts, self._language
        messages = results.not_given(answer, language)
        best = answer.get("answer", {}).get("closest")
        laws, advice = self._collection().laws, self._advice()
        if best and not best["enough"]:
            doubtful = results.refusal(texts.doubtful, answer, language, laws, advice)
            return Shown(results.status([*messages, doubtful], kind="doubt"))
        if messages:
            return Shown(results.status(messages, kind="nothing"))
        narrowed = texts.nothing_narrowed if narrowing else ""
        nothing = results.refusal(texts.nothing, answer, language, laws, narrowed, advice)
        return Shown(results.status([nothing], kind="nothing"))

    def _advice(self) -> str:
        """Who helps where the law here does not."""
        return self._guides.advice(self._language) if self._guides else ""

    def _filters(self, narrowing: Narrowing) -> list[str]:
        """What narrows the search, in words."""
        filters = [plain_law(law) for law in narrowing.laws]
        if narrowing.named and len(filters) > _NAMED_LAWS:
            laws = counted(len(filters), TEXTS[self._language].about.laws, self._language)
            filters = [self._texts.laws_named.format(laws=laws, words=narrowing.named)]
        on = day(narrowing.day or date.today(), self._language)
        if narrowing.which == "not in force":
            filters.append(f"{self._texts.not_in_force} ({on})")
        elif narrowing.which == "in force" and narrowing.day is not None:
            filters.append(f"{self._texts.in_force} ({on})")
        return filters

    def _limit(self, narrowing: Narrowing) -> str:
        """What a chosen day means if it narrows nothing, and whether the law may have changed."""
        warning = beyond(self._collection(), narrowing.day, self._language)
        if narrowing.day is None or narrowing.which != "all":
            return warning
        on = day(narrowing.day, self._language)
        return f"{self._texts.states_on.format(day=on)} {warning}".rstrip()

    def _taken(self, question: str, narrowing: Narrowing, answer: Mapping[str, Any]) -> str:
        today, documents = date.today(), answer["documents"]
        files: dict[str, dict[str, str]] = {}
        about = (self._language, self._collection(), narrowing.day or today, today, question)
        for kind, media_type in MEDIA_TYPES.items():
            if kind not in BINARY:
                name = f"lexarbor-{today.isoformat()}{file_suffix(kind)}"
                content = export(kind, documents, *about).decode()
                files[kind] = {"name": name, "type": media_type, "content": content}
        link = _link(question, narrowing)
        return json.dumps({"link": link, "files": files}, ensure_ascii=False)


def _link(question: str, narrowing: Narrowing) -> str:
    """The fragment of a link to a search."""
    laws = [narrowing.named] if narrowing.named else narrowing.laws
    link = [("q", question), *(("law", law) for law in laws)]
    if narrowing.which != DEFAULT:
        link.append(("which", narrowing.which))
    if narrowing.day:
        link.append(("day", narrowing.day.isoformat()))
    if narrowing.as_typed:
        link.append((_SPELLING, _AS_TYPED))
    if narrowing.guide:
        link.append(("guide", narrowing.guide))
    return urlencode(link)


# How many questions may wait; the next one gets the message that the page is busy.
_QUEUE = 64

# Gradio remembers what each open page shows, which we never use.
_REMEMBERED_PAGES = 128

# Where a view's results stand, in what is drawn around them.
RESULTS = Markup("<!-- results -->")


class View(gr.Blocks):
    """A view whose results Gradio shows, in the middle of a document of ours.

    What its readers may ask at once, and what is kept of them, is bounded.

    Args:
        title: of the tab.
        searched: describes what is searched now.
        draw: HTML of the document's main part, with `RESULTS` where Gradio's part belongs.
    """

    def __init__(
        self, title: str, searched: Callable[[], Collection], draw: Callable[[Collection], Markup]
    ) -> None:
        super().__init__(title=title, analytics_enabled=False)
        self.state_session_capacity = _REMEMBERED_PAGES
        self.queue(max_size=_QUEUE, default_concurrency_limit=AT_ONCE, api_open=False)
        self._searched, self._draw = searched, draw
        self._shown = searched()

    def main(self) -> Markup:
        """The document's main part, for what is searched now."""
        # Answering from the store reports that it cannot be read.
        with suppress(StoreError):
            self._shown = self._searched()
        return self._draw(self._shown)

    def answers_by(
        self, answer: Callable[[object], Any], outputs: Sequence[Component], **more: Any
    ) -> None:
        """Let a function answer what the page's script asks, as the query string of a link.

        Args:
            answer: from the query string, which may be anything, to the outputs.
            outputs: the parts that it fills; the second shows that it is under way.
            more: as for Gradio's events.
        """
        link = unseen_box("link")
        link.submit(
            answer,
            inputs=[link],
            outputs=outputs,
            api_visibility="private",
            show_progress="minimal",
            show_progress_on=outputs[1],
            # What is asked is checked and explained; Gradio would only fail.
            preprocess=False,
            # By itself Gradio drops what is asked while a question is still searched.
            trigger_mode="always_last",
            **more,
        )


# About the demo law; offered only if that law is searched.
EXAMPLES = (
    "My landlord has not given back the deposit I paid when I moved in.",
    "My wages are three weeks late.",
    "My ex won't let me see our daughter at weekends.",
    "The washing machine I bought last year has stopped working. Who pays for the repair?",
    "I can't afford a lawyer. Is there any help?",
    "art. 12 Housing Code",
)


def build_page(
    ask: Ask,
    searched: Callable[[], Collection],
    stages: Sequence[str],
    language: Language = "en",
    sent_to: Set[Recipient] = frozenset(),
    glossaries: Callable[[], Glossaries] = lambda: NO_GLOSSARIES,
    guides: GuideShelf | None = None,
) -> View:
    """The view over one collection of law.

    Args:
        ask: from a clean question and what narrows it to its answer as it grows; see `Desk`.
        searched: describes what is searched now.
        stages: which stages find articles (names as in an answer's ranks), to explain them.
        language: of the interface.
        sent_to: who else gets a question; the page says so.
        glossaries: gives the words that the laws define.
        guides: what to do; None without any.
    """
    desk = Desk(ask, searched, language, glossaries, guides)
    draw = partial(ask_markup, stages=stages, language=language, sent_to=sent_to)
    page = View(full_title(), searched, draw)
    with page:
        status, answer = html("status"), html("written")
        # Of a generator function Gradio sends every last result twice.
        search = partial(_searching if "generator" in sent_to else _searched, desk)
        parts = [status, html("results"), unseen_box("taken"), answer]
        page.answers_by(search, parts, api_name="search")
    return page


def ask_markup(
    collection: Collection,
    stages: Sequence[str],
    language: Language,
    *,
    sent_to: Set[Recipient] = frozenset(),
    question: str = "",
    laws: Sequence[str] | str = (),
    which: str = DEFAULT,
    on: str = "",
    shown: Markup = RESULTS,
) -> Markup:
    """The main part of the view's document: the form, what was found, and what helps to read it.

    Args:
        collection: what is searched.
        stages: names as in an answer's ranks, to explain them.
        language: of the interface.
        sent_to: who else gets a question; the page says so.
        question: in the form's field.
        laws: those chosen in the form, or words of a name.
        which: the articles chosen in the form.
        on: the day in the form.
        shown: HTML of what was found.
    """
    texts, known = TEXTS[language].ask, vars(TEXTS[language].stages)
    example = texts.cited_example if collection.is_aldermere else texts.cited_plainly
    return render(
        "ask.html",
        language,
        collection=collection,
        notice=notice(collection, language),
        hint=texts.placeholder.format(example=example),
        which_articles=zip(
            WHICH, (texts.in_force, texts.all_articles, texts.not_in_force), strict=True
        ),
        question=question,
        laws=laws,
        which=which,
        day=on,
        shown=shown,
        examples=EXAMPLES if collection.is_aldermere else (),
        stages=[each for name, each in known.items() if name in stages],
        sent_to=sent_to,
    )


def html(name: str) -> gr.Markdown:
    """A part of a page for one line of HTML."""
    return gr.Markdown("", elem_id=name, latex_delimiters=[])


def unseen_box(name: str) -> gr.Textbox:
    """A hidden field that the page's script reads or writes."""
    return gr.Textbox(visible="hidden", elem_id=name, show_label=False)


def _searched(desk: Desk, link: object) -> list[Any]:
    """The last of `_searching`."""
    *_, last = _searching(desk, link)
    return last


def _searching(desk: Desk, link: object) -> Iterator[list[Any]]:
    """The search of a link, as it grows.

    While an answer is being written, only the answer changes, so that what a reader has unfolded
    stays open.
    """
    begun = False
    for shown in desk.arrive(link).shown:
        rest = [gr.skip()] * 3 if begun and shown.written else shown[:3]
        yield [*rest, shown.written]
        begun = True


# The page for those without JavaScript.


def search_routes(
    ask: Ask,
    searched: Callable[[], Collection],
    stages: Sequence[str],
    sent_to: Set[Recipient] = frozenset(),
    glossaries: Callable[[], Glossaries] = lambda: NO_GLOSSARIES,
    guides: GuideShelf | None = None,
) -> list[Route]:
    """The routes of the search that needs no JavaScript; arguments as of `build_page`."""
    routes = []
    for language in LANGUAGES:
        desk = Desk(ask, searched, language, glossaries, guides, is_plain=True)
        draw = partial(ask_markup, stages=stages, language=language, sent_to=sent_to)
        view = partial(_plain_search, partial(_plain_page, desk, searched, draw, language))
        routes.append(Route(address("/search", language), view, methods=["GET", "POST"]))
    return routes


async def _plain_search(page_of: Callable[[str, URL], Markup], request: Request) -> Response:
    """What the view "Ask" shows for a search, as one document.

    The form sends a question in its body, so that no address or log keeps it; a link has it in its
    address.
    """
    sent = (await request.body()).decode("utf-8", "replace")
    page = await run_in_threadpool(page_of, sent, request.url)
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


def _plain_page(
    desk: Desk,
    searched: Callable[[], Collection],
    draw: Callable[..., Markup],
    language: Language,
    sent: str,
    url: URL,
) -> Markup:
    search = sent or url.query
    laws, which, on, searches = desk.arrive(search)
    *_, shown = searches if search else [Shown("")]
    question = " ".join(parse_qs(search).get("q", ()))
    found = render("found.html", language, shown=shown)
    about_form = {"question": question, "laws": laws, "which": which, "on": on}
    main = draw(searched(), **about_form, shown=found)
    title = TEXTS[language].ask.results if shown.results else ""
    here = f"/search?{url.query}" if url.query else "/search"
    return document("ask", language, title, main, here)
