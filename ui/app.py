"""The page itself: a Gradio Blocks around a `Desk`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import gradio as gr

from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui import render
from ui.collection import Collection
from ui.desk import Ask, Desk

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
_AT_ONCE = 2

# Gradio remembers what each open page shows; we never ask it, so the last ones are plenty.
_REMEMBERED_PAGES = 128


def build_page(
    ask: Ask,
    collection: Collection,
    stages: Sequence[str],
    *,
    learning: bool = False,
    generated: bool = False,
) -> gr.Blocks:
    """The page over one collection of law.

    Args:
        ask: from a clean question to its answer; see `Desk`.
        collection: what is searched, for the notices and the examples.
        stages: which stages find articles (names as in an answer's ranks), to explain them.
        learning: whether the page shows how far the search has learnt the law; its server is then
            given the standing.
        generated: whether a chat generator writes answers, which the page then says.
    """
    desk = Desk(ask)
    page = gr.Blocks(title="Lexarbor", analytics_enabled=False, fill_width=True)
    with page:
        _html(render.header(), "masthead")
        with gr.Row(elem_id="columns"):
            with gr.Column(elem_id="reading"):
                with gr.Column(elem_id="asking"):
                    question = gr.Textbox(
                        label="Your question",
                        info="In your own words, or the number of an article."
                        f" Up to {MAX_QUESTION_CHARS:,} characters.",
                        lines=1,
                        max_lines=8,
                        elem_id="question",
                    )
                    search = gr.Button("Search", variant="primary", elem_id="search")
                _html(render.notice(collection), "notice")
                if learning:
                    _html(render.learning(), "learning")
                status = _html("", "status")
                results = _html("", "results")
            if collection.is_aldermere:
                with gr.Column(elem_id="examples"):
                    _html(render.examples_heading(), "examples-heading")
                    for number, example in enumerate(EXAMPLES, start=1):
                        gr.Button(example, elem_classes="example").click(
                            partial(desk.example, example),
                            outputs=[question, status, results],
                            api_name=f"example_{number}",
                            api_visibility="private",
                            show_progress="minimal",
                            show_progress_on=results,
                        )
            _html(render.about(collection, stages, generated=generated), "about")
        gr.on(
            [search.click, question.submit],
            desk.search,
            inputs=[question],
            outputs=[status, results],
            api_name="search",
            api_visibility="private",
            show_progress="minimal",
            show_progress_on=results,
        )
    page.state_session_capacity = _REMEMBERED_PAGES
    page.queue(max_size=_QUEUE, default_concurrency_limit=_AT_ONCE, api_open=False)
    return page


def _html(html: str, name: str) -> gr.Markdown:
    return gr.Markdown(html, elem_id=name, latex_delimiters=[])
