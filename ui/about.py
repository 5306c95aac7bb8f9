"""HTML of what is searched, and of how to read a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from types import SimpleNamespace
from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from ui.frame import Collection, document, notice, render
from ui.language import LANGUAGES, Language, address, language_of
from ui.texts import ABOUT_TEXTS, FRAME_TEXTS, STAGE_TEXTS

if TYPE_CHECKING:
    from ui.serving import Recipient

ABOUT = "/about"

_LISTED_LAWS = 8
# A fold of more laws than these would slow the page; the view of the law has them page by page.
_MOST_LAWS = 200


def about(
    collection: Collection,
    stages: Sequence[str],
    language: Language,
    *,
    sent_to: Set[Recipient] = frozenset(),
) -> Markup:
    """What is searched, how to read a result of these stages, and where a question goes.

    Args:
        collection: what is searched.
        stages: names as in an answer's ranks.
        language: of the interface.
        sent_to: who else gets the question.
    """
    texts = ABOUT_TEXTS[language]
    return render(
        "about.html",
        language,
        texts=texts,
        collection=collection,
        stages=[each for stage, each in STAGE_TEXTS[language].items() if stage in stages],
        destination=_where_it_goes(texts, sent_to),
        most_unfolded=_LISTED_LAWS,
        most_laws=_MOST_LAWS,
    )


def _where_it_goes(texts: SimpleNamespace, sent_to: Set[Recipient]) -> str:
    if not sent_to:
        return texts.kept_here
    searched = texts.searched_in_engine if "engine" in sent_to else texts.searched_here
    return f"{searched} {texts.sent_on}" if "generator" in sent_to else searched


def about_routes(searched: Callable[[], Collection]) -> list[Route]:
    """`/about`: what the site is, its accessibility and its licence, in every language."""

    def show(request: Request) -> HTMLResponse:
        language = language_of(request.url.path)
        texts = FRAME_TEXTS[language]
        notes = notice(searched(), language)
        main = render("about_site.html", language, texts=texts, notice=notes)
        return HTMLResponse(document(None, language, texts.about, main, ABOUT))

    return [Route(address(ABOUT, each), show, methods=["GET"]) for each in LANGUAGES]
