"""The view "Ask": a Gradio Blocks around a `Desk`."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any

import gradio as gr

from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.about import about, learning
from ui.article_text import words
from ui.collection import Collection
from ui.desk import Ask, Desk
from ui.following import Following
from ui.frame import full_title
from ui.language import Language, counted, number
from ui.narrowing import DEFAULT, WHICH
from ui.notice import notice
from ui.serving import AT_ONCE, Recipient
from ui.texts import about as texts_of_about
from ui.texts.asking import TEXTS, AskTexts

# About the demo law; offered only where that law is what is searched.
EXAMPLES = (
    "My landlord has not given back the deposit I paid when I moved in.",
    "My wages are three weeks late.",
    "My ex won't let me see our daughter at weekends.",
    "The washing machine I bought last year has stopped working. Who pays for the repair?",
    "I can't afford a lawyer. Is there any help?",
    "art. 12 Housing Code",
)

# How many questions may wait: the next one is told that the page is busy.
_QUEUE = 64

# Gradio remembers what each open page shows; we never ask it, so the last ones are plenty.
_REMEMBERED_PAGES = 128


def build_page(
    ask: Ask,
    searched: Callable[[], Collection],
    stages: Sequence[str],
    language: Language = "en",
    *,
    learns: bool = False,
    sent_to: Set[Recipient] = frozenset(),
) -> Following:
    """The view over one collection of law.

    Args:
        ask: from a clean question and what narrows it to its answer; see `Desk`.
        searched: tells what is searched now, for the notices and the laws to choose from. Whether
            there are examples, and whether laws are chosen from a list, is settled by what it is
            at first.
        stages: which stages find articles (names as in an answer's ranks), to explain them.
        language: of the interface.
        learns: whether the page shows how far the search has learnt the law.
        sent_to: who gets a question beside this machine, which the page then says.
    """
    texts = TEXTS[language]
    several = len({"bm25", "dense", "graph"} & set(stages)) > 1
    page = Following(full_title(), searched)
    by_list = page.told.lists_laws
    desk = Desk(ask, searched, language, by_list=by_list, several=several)
    with page, gr.Row(elem_id="columns"):
        with gr.Column(elem_id="reading"):
            with gr.Column(elem_id="asking"):
                most = number(MAX_QUESTION_CHARS, language)
                question = gr.Textbox(
                    label=texts.question,
                    info=texts.question_info.format(most=most),
                    lines=1,
                    max_lines=8,
                    elem_id="question",
                )
                filters, narrowed = _narrowing(page, texts, language, by_list=by_list)
                search = gr.Button(texts.search, variant="primary", elem_id="search")
            page.follow(html("", "notice"), "value", partial(notice, language=language))
            if learns:
                html(learning(), "learning")
            shown = [html("", "status"), html("", "results"), _unseen_box("taken")]
        if page.told.is_aldermere:
            examples(EXAMPLES, texts)
        told = partial(about, stages=stages, language=language, sent_to=sent_to)
        page.follow(html("", "about"), "value", told)
        arrival = _unseen_box("arrival")
        arrive = gr.Button(visible="hidden", elem_id="arrive")
        written = [each for each in (question, *narrowed) if isinstance(each, gr.Textbox)]
        # One function for all: of several, Gradio would let the slowest have the last word.
        gr.on(
            [search.click, *(each.submit for each in written), arrive.click],
            partial(_searched, desk),
            inputs=[arrival, question, *narrowed],
            outputs=[*narrowed, filters, *shown],
            api_name="search",
            api_visibility="private",
            show_progress="minimal",
            show_progress_on=shown[1],
            # The desk checks all fields, and tells of a law that is no longer there; Gradio would
            # only fail.
            preprocess=False,
            # By itself Gradio drops what is asked while a question is still searched.
            trigger_mode="always_last",
        )
    bound(page)
    return page


def html(markup: str, name: str) -> gr.Markdown:
    """One line of HTML as a part of a page."""
    return gr.Markdown(markup, elem_id=name, latex_delimiters=[])


def bound(page: gr.Blocks) -> None:
    """Bound what a page's readers may ask of the machine at once, and what is kept of them."""
    page.state_session_capacity = _REMEMBERED_PAGES
    page.queue(max_size=_QUEUE, default_concurrency_limit=AT_ONCE, api_open=False)


def _narrowing(
    page: Following, texts: AskTexts, language: Language, *, by_list: bool
) -> tuple[gr.Accordion, list[Any]]:
    """The fold, and in it the fields that narrow a search: laws, which articles, the day."""
    with gr.Accordion(texts.narrow, open=False, elem_id="narrow") as fold:
        laws: gr.CheckboxGroup | gr.Textbox
        if by_list:
            laws = gr.CheckboxGroup(label=texts.laws, info=texts.laws_info, elem_id="laws")
            page.follow(laws, "choices", lambda now: [(law, law) for law in now.laws])
        else:
            laws = gr.Textbox(label=texts.law, max_lines=1, elem_id="law")
            page.follow(laws, "info", lambda now: _searched_laws(len(now.laws), texts, language))
        choices = (texts.in_force, texts.all_articles, texts.not_in_force)
        which = gr.Radio(
            list(zip(choices, WHICH, strict=True)),
            value=DEFAULT,
            label=texts.which,
            elem_id="which",
        )
        on = gr.Textbox(label=texts.day, info=texts.day_info, max_lines=1, elem_id="day")
    return fold, [laws, which, on]


def _searched_laws(laws: int, texts: AskTexts, language: Language) -> str:
    return texts.law_info.format(laws=counted(laws, texts_of_about.TEXTS[language].laws, language))


def examples(questions: Sequence[str], texts: AskTexts) -> None:
    """Questions to try: the page's script asks one that is pressed."""
    with gr.Column(elem_id="examples"):
        note = f"<p>{words(texts.examples_note)}</p>" if texts.examples_note else ""
        html(f"<h2>{words(texts.examples)}</h2>{note}", "examples-heading")
        for example in questions:
            gr.Button(example, elem_classes="example")


def _searched(desk: Desk, link: object, question: object, *narrowed: object) -> list[Any]:
    """A search that one comes back to, where there is a link, and else what the fields say.

    What narrows a search that one comes back to is put into the fields, and is seen.
    """
    if not link:
        return [*(gr.skip() for _ in (*narrowed, "filters")), *desk.search(question, *narrowed)]
    laws, which, day, shown = desk.arrive(link)
    narrows = bool(laws or day or which != DEFAULT)
    return [laws, which, day, gr.Accordion(open=narrows), *shown]


def _unseen_box(name: str) -> gr.Textbox:
    """What the page's script reads or writes; nobody sees it."""
    return gr.Textbox(visible="hidden", elem_id=name, show_label=False)
