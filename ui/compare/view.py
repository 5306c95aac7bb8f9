"""The view "Compare": a Gradio Blocks around a `ComparingDesk`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import gradio as gr

from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.app import bound, examples, html
from ui.article_text import words
from ui.collection import Collection
from ui.compare.compared import Compared
from ui.compare.desk import ComparingDesk
from ui.following import Following
from ui.frame import full_title
from ui.language import Language, number
from ui.notice import notice
from ui.results import message
from ui.texts import asking, frame
from ui.texts.compare import TEXTS, CompareTexts

# About the demo law; offered only where that law is what is searched. In the first three, words
# and meaning lead to different articles; the last is a citation, which leads everywhere to one.
EXAMPLES = (
    "My ex won't let me see our daughter at weekends.",
    "My wages are three weeks late.",
    "I can't afford a lawyer. Is there any help?",
    "art. 12 Housing Code",
)


def build_compare(
    compared: Compared, searched: Callable[[], Collection], language: Language
) -> Following:
    """The view over one collection of law.

    Args:
        compared: the pipelines; shared by the views of all languages.
        searched: tells what is searched now, for the notice. Whether there are examples is settled
            by what it is at first.
        language: of the interface.
    """
    texts = TEXTS[language]
    # Gradio's script names the tab by this, in place of what the document was served with.
    title = full_title(frame.TEXTS[language].compare)
    page = Following(title, searched)
    with page, gr.Column(elem_id="comparing"):
        html(f"<h1>{words(texts.title)}</h1><p>{words(texts.lead)}</p>", "comparing-head")
        if compared.defaults is None:
            page.follow(html("", "notice"), "value", partial(notice, language=language))
            html(message(*texts.only_one), "status")
            html("", "results")
        else:
            _form(compared, compared.defaults, page, language)
    bound(page)
    return page


def _form(
    compared: Compared, defaults: tuple[str, str], page: Following, language: Language
) -> None:
    texts, asks = TEXTS[language], asking.TEXTS[language]
    desk = ComparingDesk(compared.compare, compared.names, language)
    with gr.Column(elem_id="asking"):
        question = gr.Textbox(
            label=asks.question,
            info=asks.question_info.format(most=number(MAX_QUESTION_CHARS, language)),
            lines=1,
            max_lines=8,
            elem_id="question",
        )
        with gr.Row(elem_id="choices"):
            sides = [
                _side(compared, value, label, texts)
                for value, label in zip(defaults, (texts.left, texts.right), strict=True)
            ]
        search = gr.Button(texts.compare, variant="primary", elem_id="search")
    if page.told.is_aldermere:
        examples(EXAMPLES, asks)
    page.follow(html("", "notice"), "value", partial(notice, language=language))
    status, results = html("", "status"), html("", "results")
    gr.on(
        [search.click, question.submit],
        desk.compare,
        inputs=[question, *sides],
        outputs=[status, results],
        api_name="compare",
        api_visibility="private",
        show_progress="minimal",
        show_progress_on=results,
        preprocess=False,  # the desk checks all fields
        # By itself Gradio drops what is asked while a question is still compared.
        trigger_mode="always_last",
        # One comparison at a time; see `Compared`.
        concurrency_limit=1,
        concurrency_id="compare",
    )


def _side(compared: Compared, value: str, label: str, texts: CompareTexts) -> gr.Radio:
    choices = [(texts.pipelines.get(name, name), name) for name in compared.names]
    return gr.Radio(choices, value=value, label=label)
