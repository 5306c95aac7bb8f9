"""The routes of the law: `/law`, `/article` and `/picture`, in every language."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from haystack import Document
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.retrievers.validity import validity_of
from components.statutes.article import Article
from components.statutes.tree import ROOT
from components.stores.rows import StoreError
from pipelines.asking import found_article
from pipelines.tree_view.picture import SHOWN as CITATIONS_DRAWN
from pipelines.tree_view.picture import draw_picture
from ui.article_text import words
from ui.collection import Collection
from ui.frame import document
from ui.language import LANGUAGES, Language, address, counted, language_of, number
from ui.law.article import article_main
from ui.law.asked import MOST_CHARACTERS, Asked, WrongRequestError, shortened
from ui.law.division import Shown, division_main
from ui.law.links import ARTICLE, LAW, PICTURE, article_link, division_link
from ui.law.near import near_names
from ui.law.neighbours import citations_missing
from ui.law.places import Places
from ui.law.reading import Law
from ui.law.refusals import Near, refusal_main
from ui.naming import article_title, citation
from ui.notice import beyond, notice
from ui.takeaway import FILE_SUFFIX, MEDIA_TYPES, Kind, export
from ui.texts import article as article_texts
from ui.texts import picture, refusals
from ui.texts.law import TEXTS

logger = logging.getLogger(__name__)

# From a request, and the page's address in English.
Answering = Callable[[Request, str], Response]

# Seconds after which a view that was not ready can be asked for again.
_RETRY = "2"
_LONGEST_NAME = 80


class _MissingError(Exception):
    """What was asked for is not there."""

    def __init__(self, told: str, near: Sequence[Near] = ()) -> None:
        super().__init__(told)
        self.near = near


class LawViews:
    """Answers requests about the law.

    Args:
        places: where the articles stand.
        searched: tells what is searched now, for the notice.
    """

    def __init__(self, places: Places, searched: Callable[[], Collection]) -> None:
        self._places = places
        self._collection = searched

    def law(self, request: Request, here: str) -> Response:
        """All laws, or a law or division."""
        asked = Asked.of(request, once=("of", "page", "on"), often=("in",))
        language = asked.language
        page, on = asked.page("page"), asked.day("on")
        name, headings = asked.one("of") or "", asked.values.get("in", [])
        if headings and not name:
            asked.required("of")
        law = self._places.law()
        if law is None:
            return _being_read(here, language)
        node = _node(law, name, headings, on, language)
        shown = Shown(law, node, page, on)
        if page > shown.pages:
            texts = refusals.TEXTS[language]
            pages = counted(shown.pages, texts.pages, language)
            raise _MissingError(
                texts.no_page.format(pages=pages, page=number(page, language)),
                [
                    (
                        shown.label or TEXTS[language].law,
                        division_link(name, headings, language, on=on),
                    )
                ],
            )
        articles = law.with_texts(shown.articles)
        collection = self._collection()
        limit = beyond(collection, on, language)
        main = division_main(shown, articles, limit, language) + notice(collection, language)
        return _page(language, shown.label or TEXTS[language].law, main, here)

    def article(self, request: Request, here: str) -> Response:
        """An article in its place, or as a file."""
        asked = Asked.of(request, once=("id", "on", "as"))
        language = asked.language
        on, kind = asked.day("on"), asked.kind("as")
        document_ = self._found(asked)
        article = article_of(document_)
        found = _found_on(on or date.today(), document_, article)
        if kind is not None:
            return self._file(found, kind, on, language)
        site = f"{request.url.scheme}://{request.url.netloc}"
        main = article_main(
            article, found, self._places.law(), on, site, self._collection(), language
        )
        return _page(language, citation(found), main, here)

    def picture(self, request: Request, here: str) -> Response:
        """The picture of an article's place, as SVG."""
        asked = Asked.of(request, once=("id",))
        language = asked.language
        id_ = self._found(asked).id
        law = self._places.law()
        if law is None:
            return _being_read(here, language)
        if id_ not in law.position_of:
            raise _MissingError(article_texts.TEXTS[language].nowhere)
        note = citations_missing(law, language)
        place = law.neighbourhood(law.position_of[id_], CITATIONS_DRAWN)
        drawn = draw_picture(place, None, note, picture.TEXTS[language])
        return _response(drawn, "image/svg+xml")

    def _found(self, asked: Asked) -> Document:
        """The document with the id that was asked for."""
        id_ = asked.required("id")
        store = self._places.store
        for found in validity_of(store).with_wordings(store.fetch(store.keys_of([id_]))):
            return found
        told = refusals.TEXTS[asked.language].no_article.format(id=shortened(id_))
        law = self._places.law()
        raise _MissingError(
            told, _near_articles(law, id_, asked.day("on"), asked.language) if law else ()
        )

    def _file(
        self, found: dict[str, Any], kind: Kind, on: date | None, language: Language
    ) -> Response:
        """An article to keep."""
        today = date.today()
        content = export(kind, [found], language, self._collection(), on or today, today)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(found["id"]))[:_LONGEST_NAME].strip("-")
        response = _response(content, MEDIA_TYPES[kind])
        file_name = f"{name or 'article'}{FILE_SUFFIX[kind]}"
        response.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        return response


def law_routes(places: Places, searched: Callable[[], Collection]) -> list[Route]:
    """The routes of the law.

    Args:
        places: where the articles stand.
        searched: tells what is searched now, for the notice.
    """
    views = LawViews(places, searched)
    answers = {LAW: views.law, ARTICLE: views.article, PICTURE: views.picture}
    return [
        Route(address(path, language), _refusing(answer, path), methods=["GET"])
        for path, answer in answers.items()
        for language in LANGUAGES
    ]


def _refusing(answer: Answering, path: str) -> Callable[[Request], Response]:
    """An answer that says in words why there is none."""

    def answering(request: Request) -> Response:
        language = language_of(request.url.path)
        texts = refusals.TEXTS[language]
        query = request.url.query
        here = f"{path}?{query}" if 0 < len(query) <= MOST_CHARACTERS else path
        try:
            return answer(request, here)
        except WrongRequestError as error:
            main = refusal_main(texts.wrong, str(error), (), language)
            return _page(language, texts.wrong, main, here, 400)
        except _MissingError as error:
            main = refusal_main(texts.missing, str(error), error.near, language)
            return _page(language, texts.missing, main, here, 404)
        except StoreError:
            logger.exception("The law could not be read from its store.")
            main = refusal_main(texts.failed, texts.failed_why, (), language)
            return _page(language, texts.failed, main, here, 503)

    return answering


def _node(law: Law, name: str, headings: Sequence[str], on: date | None, language: Language) -> int:
    """The node of a law or a division; the root where no law is named."""
    if not name:
        return ROOT
    node, level = law.find(name, headings)
    texts = refusals.TEXTS[language]
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
    """The article as `found_article` makes it for a day; what other stores hold is put right."""
    told = found_article(found, on)
    right = article.to_json()
    for key in ("language", "valid_from", "valid_to", "source_url"):
        told.pop(key, None)
    return {**told, **{key: right[key] for key in right if key != "text"}}


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


def _being_read(here: str, language: Language) -> Response:
    """The law is not ready to be shown; there is a link to ask again."""
    texts = TEXTS[language]
    link = words(address(here, language))
    main = (
        f'<div class="refusal"><h1>{words(texts.law)}</h1><p>{words(texts.being_read)}</p>'
        f'<p><a href="{link}">{words(texts.again)}</a></p></div>'
    )
    response = _page(language, texts.law, main, here, 503)
    response.headers["Retry-After"] = _RETRY
    return response


def _page(language: Language, title: str, main: str, here: str, status: int = 200) -> Response:
    html = document("law", language, " ".join(title.split()), main, here)
    return _response(html, "text/html", status)


def _response(content: str, media_type: str, status: int = 200) -> Response:
    # A store other than Lexarbor's may hold half a character.
    body = content.encode("utf-8", "replace")
    return Response(body, status, {"Cache-Control": "no-cache"}, media_type)
