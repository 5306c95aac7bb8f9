"""Guides on the page: in its language, each step with its law, each deadline with its last day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from components.retrievers.guides import GuideMatch, StatuteGuideRetriever, articles_in, shown_guide
from components.statutes import excerpts
from components.statutes.article import Article
from components.statutes.deadlines import last_day
from components.statutes.guides import KeptGuide
from components.statutes.languages import known_language
from components.statutes.provisions import anchor_of, provisions_of
from components.stores.sqlite import StatuteDocumentStore
from ui.article import shown_lines
from ui.frame import document, refusal, render
from ui.language import LANGUAGES, TEXTS, Language, address, counted


class GuideShelf:
    """The guides of the page's store.

    Args:
        retriever: finds them.
        store: the retriever's.
    """

    def __init__(self, retriever: StatuteGuideRetriever, store: StatuteDocumentStore) -> None:
        self._retriever = retriever
        self._store = store

    def kept(self, id_: str, language: str) -> KeptGuide | None:
        """The guide of a situation, in a language or else in that of the law; None without one."""
        found = [each for each in self._retriever.guides().kept if each.guide.id == id_]
        return self._in_language(found, language)[0] if found else None

    def _in_language(self, kept: Sequence[KeptGuide], language: str) -> list[KeptGuide]:
        """Those of some guides in a language, or else in that of the law, or of the first."""
        article = articles_in(self._store)(kept[0].guide.articles[0])
        law = known_language(article.language) if article else None
        by_language: dict[str | None, list[KeptGuide]] = defaultdict(list)
        for each in kept:
            by_language[each.guide.language].append(each)
        by_preference = (language, law, kept[0].guide.language)
        return next(by_language[each] for each in by_preference if each in by_language)

    def advice(self, language: Language) -> Markup:
        """Who helps whatever the question, on one line: the contact that most guides name.

        Empty where most guides name none of their contacts in common.
        """
        kept = self._retriever.guides().kept
        guides = [each.guide for each in self._in_language(kept, language)] if kept else []
        naming = Counter(contact for each in guides for contact in dict.fromkeys(each.contacts))
        for contact, n in naming.most_common(1):
            # What a single guide names is for its situation.
            if n > max(1, len(guides) / 2):
                given = contact.model_dump(exclude_none=True)
                return render("contact.html", language, contact=given, tag=guides[0].language)
        return Markup()

    def shown(self, id_: str, language: Language) -> dict[str, Any] | None:
        """The guide of a situation as a page in a language shows it; None where there is none.

        To what `shown_guide` returns, this adds to each step `lines`, the words of the law that it
        stands on, their `tag`, and `anchor`, their place in the article.
        """
        kept = self.kept(id_, language)
        if kept is None:
            return None
        article_of = articles_in(self._store)
        match = GuideMatch(self._retriever.guides(), kept, "", 0.0, 0.0)
        guide = shown_guide(match, article_of, date.today())
        for step in guide["steps"]:
            step.update(_law_under(step, article_of(step["article"]["id"])))
            if "deadline" in step:
                step["deadline"]["length"] = _length(step["deadline"], language)
        return guide

    def last_day(self, kept: KeptGuide, step: int, event: date) -> dict[str, Any]:
        """The last day of a step, for a template.

        Args:
            kept: the guide.
            step: its place, from 1.
            event: what sets the deadline running.

        Raises:
            LookupError: the guide has no such step, or it has no deadline.
            OverflowError: there is no such day.
        """
        chosen, article_of = kept.guide.steps[step - 1], articles_in(self._store)
        article = article_of(chosen.article)
        if step < 1 or chosen.deadline is None or article is None:
            raise LookupError
        rule = self._retriever.guides().rule_for(article.law)
        last = last_day(chosen.deadline, event, rule)
        counted_by = None
        if rule and (ruling := article_of(rule.article)):
            names = {"id": ruling.id, "law": ruling.law, "number": ruling.number}
            counted_by = {**names, "anchor": _anchor(rule.passages)}
        return {
            "last": last.day,
            "is_about": last.is_about,
            "is_past": last.day < date.today(),
            "rule": counted_by,
            "step": chosen,
            "guide": kept.guide,
        }


def _law_under(step: Mapping[str, Any], article: Article | None) -> dict[str, Any]:
    if article is None:
        return {"lines": [], "anchor": "", "tag": None}
    named = set(step["passages"])
    chosen = [each for each in provisions_of(article.text) if named & each.labels]
    spans = excerpts.merged({each.span for each in chosen}) if chosen else None
    lines = shown_lines(article.text, spans)
    return {"lines": lines, "anchor": _anchor(step["passages"]), "tag": article.language}


def _anchor(passages: Sequence[str]) -> str:
    """The place in an article's page of the first of some paragraphs; "" without a number."""
    return anchor_of(passages[0]) if passages and not passages[0].startswith("#") else ""


def _length(deadline: Mapping[str, Any], language: Language) -> str:
    """How long a deadline is, in words."""
    unit = next(each for each in ("days", "months", "years") if each in deadline)
    nouns = TEXTS[language].guide
    named = nouns.working_days if deadline["unit"] == "working" else getattr(nouns, unit)
    return counted(deadline[unit], named, language)


def guide_routes(shelf: GuideShelf) -> list[Route]:
    """The routes of what guides count; they need no JavaScript."""
    return [
        Route(address("/deadline", language), partial(_deadline, shelf, language), methods=["GET"])
        for language in LANGUAGES
    ]


def _deadline(shelf: GuideShelf, language: Language, request: Request) -> Response:
    """The last day of a step of a guide, from the reader's day."""
    sent, texts = request.query_params, TEXTS[language]
    try:
        kept = shelf.kept(sent["guide"], language)
        if kept is None:
            raise LookupError
        event = date.fromisoformat(sent["day"])
        values = shelf.last_day(kept, int(sent["step"]), event)
    except (LookupError, ValueError, OverflowError):
        title, why = texts.refusal.wrong, texts.guide.no_day
        page, status = refusal("ask", language, title, why), 400
    else:
        main = render("deadline.html", language, event=event, **values)
        here = f"/deadline?{request.url.query}"
        page = document("ask", language, texts.guide.deadline_title, main, here)
        status = 200
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})
