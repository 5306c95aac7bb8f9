"""The routes of the law: `/law`, `/article` and `/picture`, in every language."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from typing import Any, NamedTuple

from haystack import Document
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.retrievers.resident import validity_of
from components.statutes.article import Article
from components.statutes.tree import ROOT
from components.stores.rows import StoreError
from pipelines.asking import found_article
from pipelines.tree_view import SHOWN as CITATIONS_DRAWN
from pipelines.tree_view import Neighbourhood, Wording, beginning, draw_picture, window
from ui.annotations import Note, shown_lines
from ui.article import (
    FILE_SUFFIX,
    MEDIA_TYPES,
    Kind,
    article_title,
    citation,
    export,
    result_title,
)
from ui.frame import TEMPLATES, Collection, beyond, document, notice, render
from ui.language import (
    ARTICLE,
    ARTICLE_TEXTS,
    LANGUAGES,
    LAW,
    LAW_TEXTS,
    PICTURE,
    PICTURE_TEXTS,
    REFUSAL_TEXTS,
    Language,
    address,
    article_link,
    counted,
    day,
    division_link,
    language_of,
    number,
)
from ui.law_reader import (
    MOST_CHARACTERS,
    Law,
    Parameters,
    Places,
    WrongRequestError,
    near_names,
    shortened,
)

# A suggestion: its name and its address.
Near = tuple[str, str]

PAGE = 100  # entries of a page
# A law of no more articles than these shows its whole contents.
_MOST_CONTENTS = 1_000
_NEAR_PAGES = 2
_FIRST_WORDS = 130  # characters
# Citations listed at once, and with those in the fold.
_SHOWN_CITATIONS = 8
LISTED = 100

_PICTURE_WORDING = {
    each: Wording(
        lang=each,
        number=partial(number, language=each),
        day=partial(day, language=each),
        zero_is_one=each == "fr",
        texts=PICTURE_TEXTS[each],
    )
    for each in LANGUAGES
}


def refusal_main(
    title: str, reason: str, near: Sequence[Near], language: Language, again: str = ""
) -> Markup:
    """HTML of what could not be shown: what was wrong, and where to go from there.

    Args:
        title: What happened.
        reason: Why, in a sentence or two.
        near: What may have been meant, best first.
        language: Of the interface.
        again: Address to try again, in place of the ways out.
    """
    return render(
        "refusal.html",
        language,
        texts=REFUSAL_TEXTS[language],
        title=title,
        reason=reason,
        near=near,
        again=again,
        try_again=LAW_TEXTS[language].again,
    )


def first_words(article: Article) -> str:
    """The beginning of an article, cut between words where it can be."""
    text = beginning(article)
    if len(text) <= _FIRST_WORDS:
        return text
    cut = text[:_FIRST_WORDS]
    whole = cut.rsplit(" ", 1)[0]
    return (whole if 2 * len(whole) > len(cut) else cut).rstrip(" ,;:.") + "…"


TEMPLATES.filters["first_words"] = first_words


@dataclass(frozen=True)
class Shown:
    """A page of what is directly below all laws, a law or a division.

    Attributes:
        law: All laws.
        node: The division's node in the tree; the root means all laws.
        page: From 1.
    """

    law: Law
    node: int
    page: int

    @property
    def label(self) -> str:
        """The division's heading, or the law's title; "" for all laws."""
        return self.law.structure.tree.label[self.node]

    @cached_property
    def children(self) -> list[int]:
        """Nodes right below it, in the law's order."""
        return self.law.structure.tree.children(self.node)

    @property
    def is_whole(self) -> bool:
        """Whether everything below is shown, and not only what is right below."""
        below = int(self.law.structure.articles_below[self.node])
        return self.node != ROOT and below <= _MOST_CONTENTS

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return 1 if self.is_whole else max(1, -(-len(self.children) // PAGE))

    @property
    def first(self) -> int:
        """Place of this page's first entry among the children, from 0."""
        return (self.page - 1) * PAGE

    @property
    def entries(self) -> list[int]:
        """The nodes of this page."""
        return self.children if self.is_whole else self.children[self.first : self.first + PAGE]

    def below(self, node: int) -> list[int]:
        """The nodes that are shown below one of the entries."""
        is_division = self.law.position_at(node) is None
        return self.law.structure.tree.children(node) if self.is_whole and is_division else []

    def articles(self) -> dict[int, Article]:
        """The articles of this page with their texts, by position.

        Raises:
            StoreError: The store cannot be read.
        """

        def positions(nodes: Sequence[int]) -> Iterator[int]:
            for node in nodes:
                position = self.law.position_at(node)
                if position is not None:
                    yield position
                yield from positions(self.below(node))

        return self.law.with_texts(list(positions(self.entries)))

    def division(self, node: int) -> _Division:
        """A law or division as a link shows it."""
        structure = self.law.structure
        way, label = self.law.way_to(node), structure.tree.label[node]
        count = int(structure.articles_below[node])
        return _Division(*way, label, self.law.language_of(node), count)

    def neighbours(self) -> list[tuple[str, _Division]]:
        """The divisions before and after, below the same parent, as the targets of `rel`."""
        if self.node == ROOT:
            return []
        tree = self.law.structure.tree
        children = tree.children(int(tree.parent[self.node]))
        divisions = [each for each in children if self.law.position_at(each) is None]
        place = divisions.index(self.node)
        return [
            (rel, self.division(divisions[index]))
            for rel, index in (("prev", place - 1), ("next", place + 1))
            if 0 <= index < len(divisions)
        ]

    def page_numbers(self) -> list[int | None]:
        """The pages that are linked: the first, the last and those near; None for a gap."""
        numbers: list[int | None] = []
        last = 0
        for page in range(1, self.pages + 1):
            if page in (1, self.pages) or abs(page - self.page) <= _NEAR_PAGES:
                numbers += [page] if page == last + 1 else [None, page]
                last = page
        return numbers

    def counts(self, language: Language) -> str:
        """How many laws, divisions and articles are directly below, and articles in all."""
        texts = LAW_TEXTS[language]
        own = sum(self.law.position_at(node) is not None for node in self.children)
        inner = len(self.children) - own
        forms = (inner, texts.laws if self.node == ROOT else texts.divisions), (own, texts.articles)
        counts = [counted(count, noun, language) for count, noun in forms if count]
        if inner:
            total = int(self.law.structure.articles_below[self.node])
            counts.append(texts.in_all.format(articles=counted(total, texts.articles, language)))
        return ", ".join(counts)


class _Division(NamedTuple):
    law: str
    headings: list[str]
    label: str
    language: str | None
    articles: int


def _place(
    law: Law, place: Neighbourhood, missing: str, language: Language, on: date | None
) -> Markup:
    """An article's place in the law, as lists that screen readers can read."""
    siblings = place.siblings
    first, last = window(len(siblings), siblings.index(place.article))

    # Siblings that the list leaves out, and the page of their division with the nearest of them.
    def left_out(count: int, nearest: int) -> tuple[int, int] | None:
        position = law.position_of[siblings[nearest].id] if count else 0
        return (count, law.page_of(position, PAGE)) if count else None

    return render(
        "place.html",
        language,
        texts=ARTICLE_TEXTS[language],
        law_texts=LAW_TEXTS[language],
        on=on,
        states_on=on or date.today(),
        missing=missing,
        place=place,
        siblings=siblings[first:last],
        before=left_out(first, first - 1),
        after=left_out(len(siblings) - last, last),
        most_shown=_SHOWN_CITATIONS,
        most_listed=LISTED,
    )


def _picture(
    place: Neighbourhood, missing: str, language: Language, *, is_document: bool
) -> Markup:
    wording = replace(_PICTURE_WORDING[language], on=date.today())
    return Markup(  # noqa: S704 - escaped in the template
        draw_picture(place, None, missing, wording, is_document=is_document)
    )


def _citations_missing(law: Law, language: Language) -> str:
    """Why citations cannot be shown; empty if they can."""
    texts = ARTICLE_TEXTS[language]
    if law.citations is not None:
        return ""
    return texts.citations_unread if law.unread else texts.citations_being_read


def _versions(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """An article's wordings with itself among them, oldest first; [] where it has no other."""
    wordings = found.get("wordings", [])
    versions = [*wordings, found] if wordings else []
    return sorted(versions, key=lambda each: each.get("valid_from") or "")


logger = logging.getLogger(__name__)

View = Callable[[Request], Response]

# Seconds after which a view that was not ready can be asked for again.
_RETRY = "2"
_LONGEST_NAME = 80


class _MissingError(Exception):
    """What was asked for does not exist; `near` are suggestions."""

    def __init__(self, reason: str, near: Sequence[Near] = ()) -> None:
        super().__init__(reason)
        self.near = near


class _BeingReadError(Exception):
    """The law cannot be shown yet."""


class LawViews:
    """Answers requests about the law.

    Args:
        places: where the articles are.
        searched: describes what is searched now, for the notice.
    """

    def __init__(self, places: Places, searched: Callable[[], Collection]) -> None:
        self._places = places
        self._collection = searched

    def law(self, request: Request) -> Response:
        """All laws, or a law or division: its content, in the law's order, page by page."""
        given = Parameters.of(request, once=("of", "page", "on"), often=("in",))
        language = given.language
        page, on = given.page("page"), given.day("on")
        name, headings = given.one("of") or "", given.values.get("in", [])
        if headings:
            given.required("of")
        law = self._law()
        shown = Shown(law, _node(law, name, headings, on, language), page)
        title = shown.label or LAW_TEXTS[language].law
        if page > shown.pages:
            texts = REFUSAL_TEXTS[language]
            pages = counted(shown.pages, texts.pages, language)
            raise _MissingError(
                texts.no_page.format(pages=pages, page=number(page, language)),
                [(title, division_link(name, headings, language, on=on))],
            )
        name, headings = law.way_to(shown.node)
        main = render(
            "division.html",
            language,
            texts=ARTICLE_TEXTS[language],
            law_texts=LAW_TEXTS[language],
            shown=shown,
            law=name,
            headings=headings,
            spoken=law.language_of(shown.node),
            on=on,
            states_on=on or date.today(),
            limit=beyond(self._collection(), on, language),
            counts=shown.counts(language),
            articles=shown.articles(),
            notice=notice(self._collection(), language),
        )
        return _page(request, title, main)

    def article(self, request: Request) -> Response:
        """An article with what to take away, in its place; or some articles as a file."""
        given = Parameters.of(request, once=("on", "as"), often=("id",))
        kind = given.kind("as")
        site = f"{request.url.scheme}://{request.url.netloc}"
        if kind is not None:
            return self._file(given, kind, site)
        given = Parameters.of(request, once=("id", "on"))
        language, on = given.language, given.day("on")
        document_ = self._found(given.required("id"), given)
        article = article_of(document_)
        found = _found_on(on or date.today(), document_, article)
        law = self._places.law()
        position = None if law is None else law.position_of.get(article.id)
        place = picture = None
        notes: list[Note] = []
        if law is not None and position is not None:
            # Checked first: citations read in between would be missing from the place.
            missing = _citations_missing(law, language)
            around = law.neighbourhood(position, LISTED)
            place = _place(law, around, missing, language, on)
            picture = _picture(around, missing, language, is_document=False)
            defined = law.glossary.notes(article.text, article.law, article.id)
            notes = [*law.references(article, language, on), *defined]
        texts = ARTICLE_TEXTS[language]
        main = render(
            "article.html",
            language,
            texts=texts,
            law_texts=LAW_TEXTS[language],
            article=article,
            title=article_title(article.number),
            subject=result_title(found),
            lines=shown_lines(article.text, notes=notes),
            found=found,
            versions=_versions(found),
            on=on,
            limit=beyond(self._collection(), on, language),
            notice=notice(self._collection(), language),
            place=place,
            picture=picture,
            is_law_read=law is not None,
            site=site,
            kinds=[(kind, getattr(texts, kind)) for kind in MEDIA_TYPES],
        )
        return _page(request, citation(found), main)

    def picture(self, request: Request) -> Response:
        """The picture of an article's place, as a document of its own."""
        given = Parameters.of(request, once=("id",))
        language = given.language
        id_ = self._found(given.required("id"), given).id
        law = self._law()
        if id_ not in law.position_of:
            raise _MissingError(ARTICLE_TEXTS[language].nowhere)
        missing = _citations_missing(law, language)
        place = law.neighbourhood(law.position_of[id_], CITATIONS_DRAWN)
        return _response(_picture(place, missing, language, is_document=True))

    def _law(self) -> Law:
        law = self._places.law()
        if law is None:
            raise _BeingReadError
        return law

    def _found(self, id_: str, given: Parameters) -> Document:
        """The document with an id that was asked for."""
        store = self._places.store
        for found in validity_of(store).with_wordings(store.fetch(store.keys_of([id_]))):
            return found
        law = self._places.law()
        near = _near_articles(law, id_, given.day("on"), given.language) if law else ()
        reason = REFUSAL_TEXTS[given.language].no_article.format(id=shortened(id_))
        raise _MissingError(reason, near)

    def _file(self, given: Parameters, kind: Kind, site: str) -> Response:
        """Articles as a file."""
        given.required("id")
        language, on, today = given.language, given.day("on"), date.today()
        documents = [self._found(id_, given) for id_ in given.values["id"]]
        found = [_found_on(on or today, each, article_of(each)) for each in documents]
        content = export(kind, found, language, self._collection(), on or today, today, site=site)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(found[0]["id"]))[:_LONGEST_NAME].strip("-")
        file_name = f"{name or 'article'}{FILE_SUFFIX[kind]}"
        headers = {
            "Cache-Control": "no-cache",
            "Content-Disposition": f'attachment; filename="{file_name}"',
        }
        return Response(content, 200, headers, MEDIA_TYPES[kind])


def law_routes(places: Places, searched: Callable[[], Collection]) -> list[Route]:
    """The routes of the law.

    Args:
        places: where the articles are.
        searched: tells what is searched now, for the notice.
    """
    views = LawViews(places, searched)
    paths = {LAW: views.law, ARTICLE: views.article, PICTURE: views.picture}
    return [
        Route(address(path, language), _with_refusals(view, language), methods=["GET"])
        for path, view in paths.items()
        for language in LANGUAGES
    ]


def _with_refusals(view: View, language: Language) -> View:
    """A view that answers errors with pages that explain them."""
    texts = REFUSAL_TEXTS[language]

    def answer(request: Request) -> Response:
        def refused(
            status: int, title: str, reason: str, near: Sequence[Near] = (), again: str = ""
        ) -> Response:
            main = refusal_main(title, reason, near, language, again)
            return _page(request, title, main, status)

        try:
            return view(request)
        except WrongRequestError as error:
            return refused(400, texts.wrong, str(error))
        except _MissingError as error:
            return refused(404, texts.missing, str(error), error.near)
        except _BeingReadError:
            law_texts = LAW_TEXTS[language]
            again = address(_english_address(request), language)
            response = refused(503, law_texts.law, law_texts.being_read, again=again)
            response.headers["Retry-After"] = _RETRY
            return response
        except StoreError:
            logger.exception("The law could not be read from its store.")
            return refused(503, texts.failed, texts.failed_why)

    return answer


def _node(law: Law, name: str, headings: Sequence[str], on: date | None, language: Language) -> int:
    """The node of a law or a division; the root where no law is named."""
    if not name:
        return ROOT
    node, level = law.find(name, headings)
    texts = REFUSAL_TEXTS[language]
    if node is None:
        near = near_names(name, law.structure.tree.laws)
        raise _MissingError(
            texts.no_such_law.format(law=shortened(name)),
            [(each, division_link(each, (), language, on=on)) for each in near],
        )
    if level == len(headings):
        return node
    tree = law.structure.tree
    labels = [tree.label[each] for each in tree.children(node) if law.position_at(each) is None]
    way = headings[:level]
    near_ways = [(each, [*way, each]) for each in near_names(headings[level], labels)]
    near_ways.append((tree.label[node], list(way)))
    raise _MissingError(
        texts.no_division.format(
            law=shortened(tree.label[node]), heading=shortened(headings[level])
        ),
        [(label, division_link(name, each, language, on=on)) for label, each in near_ways],
    )


def _found_on(on: date, found: Document, article: Article) -> dict[str, Any]:
    """The article as `found_article` makes it for a day, with the checked values of `article`.

    Stores other than Lexarbor's may hold anything.
    """
    values = found_article(found, on)
    checked = article.to_json()
    for key in ("language", "valid_from", "valid_to", "source_url"):
        values.pop(key, None)
    return {**values, **{key: checked[key] for key in checked if key != "text"}}


def _near_articles(law: Law, id_: str, on: date | None, language: Language) -> list[Near]:
    near = near_names(id_, list(law.position_of))
    articles = [law.articles[law.position_of[each]] for each in near]
    return [
        (
            f"{article_title(article.number)}, {article.law} ({article.id})",
            article_link(article.id, language, on),
        )
        for article in articles
    ]


def _page(request: Request, title: str, main: Markup, status: int = 200) -> Response:
    language = language_of(request.url.path)
    page = document("law", language, " ".join(title.split()), main, _english_address(request))
    return _response(page, status)


def _english_address(request: Request) -> str:
    """The address that was asked for, without its language and without too long a query."""
    path, query = request.url.path, request.url.query
    if language_of(path) != "en":
        path = path.removeprefix(f"/{language_of(path)}")
    return f"{path}?{query}" if 0 < len(query) <= MOST_CHARACTERS else path


def _response(content: str, status: int = 200) -> Response:
    # A store other than Lexarbor's may hold half a character.
    body = content.encode("utf-8", "replace")
    return HTMLResponse(body, status, {"Cache-Control": "no-cache"})
