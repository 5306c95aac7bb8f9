"""The page for an address that leads nowhere, whatever it is."""

from __future__ import annotations

from starlette.responses import HTMLResponse

from ui.frame import document
from ui.language import Language
from ui.law.refusals import refusal_main
from ui.texts.guard import TEXTS


def missing(language: Language) -> HTMLResponse:
    """The answer 404 as a page of the site, with ways to go on."""
    texts = TEXTS[language]
    title = texts.not_found.rstrip(".")
    main = refusal_main(title, texts.not_found_why, (), language)
    page = document(None, language, title, main, "/")
    return HTMLResponse(page, 404, {"Cache-Control": "no-store"})
