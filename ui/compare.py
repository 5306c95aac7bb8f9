"""The view "Compare": a Gradio Blocks around a `ComparingDesk`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
from haystack import Pipeline
from markupsafe import Markup

from components.models.errors import ModelError
from components.retrievers.resident import ReadableStore
from components.statutes.article import normalised
from components.statutes.corpus import read_questions
from components.statutes.question import QuestionError, clean_question
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError, pipeline_names
from pipelines.evaluation import (
    SHOWN,
    ArticleMove,
    Comparison,
    StageRank,
    StageRanks,
    compare,
    find,
)
from pipelines.loading import load_pipeline
from pipelines.stages import time_components
from ui.ask import Following, bound, examples, html
from ui.frame import Collection, full_title, notice, render
from ui.guard import log_failure
from ui.language import (
    ASK_TEXTS,
    COMPARE_TEXTS,
    FRAME_TEXTS,
    STAGE_TEXTS,
    Language,
    counted,
    number,
    stage_texts,
)
from ui.results import QUESTION_SHOWN, status, too_long


def times(compared: Comparison, language: Language) -> Markup:
    """HTML of the time that each part of two pipelines took, as a table with bars.

    Args:
        compared: the comparison.
        language: of the interface.
    """
    texts = COMPARE_TEXTS[language]
    sides = (compared.left, compared.right)
    lefts, rights = ({time.name: time.ms for time in side.times} for side in sides)
    rests = [side.rest_ms for side in sides]
    names = {stage: each.name for stage, each in STAGE_TEXTS[language].items()}
    names["fused"] = texts.fused
    return render(
        "times.html",
        language,
        texts=texts,
        titles=_titles(compared, texts),
        # A stage has a name in words, a component that of the file.
        rows=[
            *(
                (names.get(name, name), name not in names, [lefts.get(name), rights.get(name)])
                for name in _merged(list(lefts), list(rights))
            ),
            (texts.rest, False, rests),
        ],
        totals=[side.took_ms for side in sides],
        longest=max([*lefts.values(), *rights.values(), *rests, 0.001]),
    )


def _titles(compared: Comparison, texts: SimpleNamespace) -> list[str]:
    sides = ((texts.left, compared.left), (texts.right, compared.right))
    return [texts.side.format(side=name, pipeline=each.pipeline) for name, each in sides]


def _merged(left: list[str], right: list[str]) -> list[str]:
    """Names of both, each once, in the order of each list as far as possible."""
    merged, place = list(left), 0
    for name in right:
        if name in merged:
            place = merged.index(name) + 1
        else:
            merged.insert(place, name)
            place += 1
    return merged


_RERANKER = "reranker"


def comparison(
    question: str, compared: Comparison, language: Language, right_ids: Container[str] = ()
) -> Markup:
    """HTML of the comparison: what is in common, the two lists, the time of each stage.

    Args:
        question: as it was asked.
        compared: the comparison.
        language: of the interface.
        right_ids: of the articles that answer, where the question is a known one.
    """
    texts = COMPARE_TEXTS[language]
    left, right = _titles(compared, texts)
    return render(
        "comparison.html",
        language,
        texts=texts,
        asked=question[:QUESTION_SHOWN] + ("…" if len(question) > QUESTION_SHOWN else ""),
        in_common=_in_common(compared, language),
        summary=_summary(compared, language),
        sides=[
            (left, _items(compared, language, is_left=True)),
            (right, _items(compared, language, is_left=False)),
        ],
        times=times(compared, language),
        right_ids=right_ids,
    )


@cache
def demo_answers() -> Mapping[str, frozenset[str]]:
    """The ids of the articles that answer each question about the demo law, by its text."""
    known: dict[str, frozenset[str]] = {}
    for question in read_questions("aldermere"):
        text = normalised(question.text)
        known[text] = known.get(text, frozenset()).union(question.relevant)
    return known


def _in_common(compared: Comparison, language: Language) -> str:
    shown = [len(side.articles[:SHOWN]) for side in (compared.left, compared.right)]
    shared = compared.count("same", "up", "down")
    return COMPARE_TEXTS[language].in_common.format(shared=shared, most=max(shown))


def _summary(compared: Comparison, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    counts = (
        (compared.count("same"), texts.same),
        (compared.count("up", "down"), texts.moved),
        (compared.count("gone"), texts.gone),
        (compared.count("new"), texts.new),
    )
    if compared.count("same") == len(compared.moved):
        summary = texts.identical
    else:
        parts = (counted(count, forms, language) for count, forms in counts if count)
        summary = f"{', '.join(parts)}."
    took = texts.took.format(
        left=number(compared.left.took_ms, language),
        right=number(compared.right.took_ms, language),
    )
    return f"{summary} {took}"


# Name of a stage, a text, and the values for the text's braces.
_FactText = tuple[str, str, dict[str, str]]


def _items(
    compared: Comparison, language: Language, *, is_left: bool
) -> list[tuple[Mapping[str, Any], ArticleMove, str, list[_FactText]]]:
    """The articles of a side, how each moves between the sides, in words, and why."""
    here, there = compared.left, compared.right
    if not is_left:
        here, there = there, here
    texts = COMPARE_TEXTS[language].movements["left" if is_left else "right"]
    items = []
    for article in here.articles[:SHOWN]:
        moved = compared.moved[article["id"]]
        place = moved.right if is_left else moved.left
        if place is not None:
            movement = texts[moved.movement].format(by=abs(moved.by), place=place)
        elif there.cut is not None:
            movement = texts["cut"].format(cut=there.cut)
        else:
            movement = texts["unfound"]
        facts = [_fact(fact, language) for fact in moved.facts]
        items.append((article, moved, movement, facts))
    return items


def _fact(fact: StageRanks, language: Language) -> _FactText:
    texts = COMPARE_TEXTS[language]
    stage = texts.fused if fact.stage == "fused" else stage_texts(fact.stage, language).name
    left, right = fact.left, fact.right
    if left is not None and right is not None:
        if left.rank is None and right.rank is None:
            # Lists of different lengths: the shorter one's end is true of both.
            cuts = [ranked.cut for ranked in (left, right) if ranked.cut is not None]
            left = right = StageRank(None, min(cuts, default=None))
        if left != right:
            ranks = [_rank_text(fact.stage, each, language) for each in (left, right)]
            return stage, texts.on_each, {"left": ranks[0], "right": ranks[1]}
        text = texts.on_both
    else:
        text = texts.on_left if right is None else texts.on_right
    ranked = left or right
    assert ranked is not None
    return stage, text, {"told": _rank_text(fact.stage, ranked, language)}


def _rank_text(stage: str, ranked: StageRank, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    if ranked.rank is not None:
        return texts.ranked.format(rank=number(ranked.rank, language))
    if ranked.cut is not None:
        return texts.cut.format(cut=number(ranked.cut, language))
    return texts.unread if stage == _RERANKER else texts.unfound


# Those that retrieve; the articles of the others come from one of these.
_RETRIEVING = ("lexical", "dense", "hybrid", "hybrid_rerank")
_DEFAULTS = ("lexical", "hybrid")

# Asked first, so that what a component does only once is not in the reader's times.
_FIRST_QUESTION = "law"


class Compared:
    """Asks pipelines by name; each is loaded once, at its first question.

    They share models and indexes with each other and the rest of the process.

    Args:
        store: what is searched.
        model: in place of the one that the store records; None for that one.
        own: name or file of the pipeline that the page was started with. It is compared too where
            it is a file of the reader's own that retrieves.

    Attributes:
        names: of those that the store can serve, fewest stages first.
    """

    def __init__(
        self, store: ReadableStore, model: str | None = None, own: str | None = None
    ) -> None:
        self._store = store
        self._model = model
        files = {name: name for name in _RETRIEVING}
        if own is not None and own not in pipeline_names():
            # With its suffix, so that no file has the name of one of ours.
            files[f"{Path(own).stem}.yaml"] = own
        # One thread: the times are shown, and two comparisons at once would slow each other down.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compare")
        self._ready: dict[str, Pipeline] = {}
        self._files = {name: file for name, file in files.items() if self._can_serve(file)}
        self.names = tuple(self._files)

    @property
    def defaults(self) -> tuple[str, str] | None:
        """The initial choices on the left and on the right; None if there are not two."""
        wanted = [name for name in _DEFAULTS if name in self.names]
        left, right, *_ = *dict.fromkeys([*wanted, *self.names]), "", ""
        return (left, right) if right else None

    def compare(self, question: str, left: str, right: str) -> Comparison:
        """Ask two pipelines one clean question; both search the same store.

        Raises:
            KeyError: a name is not in `names`.
            LoadingError, StoreError, ModelError: one cannot be loaded, or the store not be read.
        """
        return self._thread.submit(self._compared, question, left, right).result()

    def _compared(self, question: str, left: str, right: str) -> Comparison:
        pipelines = [self._loaded(name) for name in (left, right)]
        return compare(*(find(pipeline, question) for pipeline in pipelines))

    def _loaded(self, name: str) -> Pipeline:
        if name not in self._ready:
            pipeline = load_pipeline(self._files[name], self._path(), self._model)
            pipeline.metadata["name"] = name
            pipeline.warm_up()
            time_components(pipeline)
            find(pipeline, _FIRST_QUESTION)
            self._ready[name] = pipeline
        return self._ready[name]

    def _can_serve(self, file: str) -> bool:
        try:
            pipeline = load_pipeline(file, self._path(), self._model)
        except (LoadingError, ModelError, StoreError):
            return False
        return "answers" not in pipeline.metadata.get("outputs", {})

    def _path(self) -> str:
        if not isinstance(self._store, StatuteDocumentStore):
            raise LoadingError(
                "Pipelines are compared over a store of Lexarbor's own; this page searches an "
                "engine. Index the law with python -m pipelines.index --store FILE."
            )
        return str(self._store.database.path)


Compare = Callable[[str, str, str], Comparison]

_logger = logging.getLogger(__name__)


class ComparingDesk:
    """Compares two pipelines for the page, whatever an HTTP client sends as question and names.

    Args:
        compare: from a clean question and two names to the comparison.
        names: of the pipelines that can be compared.
        language: of the interface.
        answers: the ids of the articles that answer questions that are known, by their texts.
    """

    def __init__(
        self,
        compare: Compare,
        names: Container[str],
        language: Language,
        answers: Callable[[], Mapping[str, frozenset[str]]] = dict,
    ) -> None:
        self._answers = answers
        self._compare = compare
        self._names = names
        self._language: Language = language

    def compare(self, question: object, left: object, right: object) -> tuple[str, str]:
        """HTML of the status line and of the comparison, which is empty under a message."""
        asks, texts = ASK_TEXTS[self._language], COMPARE_TEXTS[self._language]
        if message := too_long(question, self._language):
            return status([message]), ""
        try:
            asked = clean_question(question)
        except QuestionError:
            return status([(asks.empty[0], texts.empty_explained)]), ""
        if not self._is_known(left) or not self._is_known(right):
            return status([asks.no_choice]), ""
        if left == right:
            return status([texts.twice]), ""
        try:
            found = self._compare(asked, str(left), str(right))
            # Both sides search the same law.
            missing = "; ".join(dict.fromkeys([*found.left.missing, *found.right.missing]))
            messages = [(asks.missing.format(articles=missing), "")] if missing else []
            if not found.moved:
                return status([*messages, (texts.found_nothing, "")]), ""
            announcement = _in_common(found, self._language)
            right_ids = self._answers().get(normalised(asked), frozenset())
            markup = comparison(asked, found, self._language, right_ids)
            return status(messages, announcement), markup
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            log_failure(_logger, "A comparison", error)
            return status([asks.failed], kind="failure"), ""

    def _is_known(self, name: object) -> bool:
        return isinstance(name, str) and name in self._names


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
        searched: describes what is searched now, for the notice. Its first answer decides whether
            there are examples.
        language: of the interface.
    """
    texts = COMPARE_TEXTS[language]
    # Gradio's script names the tab by this, in place of what the document was served with.
    title = full_title(FRAME_TEXTS[language].compare)
    page = Following(title, searched)
    with page, gr.Column(elem_id="comparing"):
        heading = {"tag": "h1", "title": texts.title, "text": texts.lead}
        html(render("heading.html", **heading), "comparing-head")
        if compared.defaults is None:
            page.follow(html("", "notice"), "value", partial(notice, language=language))
            html(status([texts.only_one]), "status")
            html("", "results")
        else:
            _form(compared, compared.defaults, page, language)
    bound(page)
    return page


def _form(
    compared: Compared, defaults: tuple[str, str], page: Following, language: Language
) -> None:
    texts, asks = COMPARE_TEXTS[language], ASK_TEXTS[language]
    answers = demo_answers if page.shown.is_aldermere else dict
    desk = ComparingDesk(compared.compare, compared.names, language, answers)
    with gr.Column(elem_id="asking"):
        question = gr.Textbox(
            label=asks.question,
            lines=1,
            max_lines=8,
            elem_id="question",
        )
        with gr.Row(elem_id="choices"):
            choices = [(texts.pipelines.get(name, name), name) for name in compared.names]
            sides = [
                gr.Radio(choices, value=value, label=label)
                for value, label in zip(defaults, (texts.left, texts.right), strict=True)
            ]
        search = gr.Button(texts.compare, variant="primary", elem_id="search")
    if page.shown.is_aldermere:
        examples(EXAMPLES, language)
    page.follow(html("", "notice"), "value", partial(notice, language=language))
    outputs = [html("", "status"), html("", "results")]
    gr.on(
        [search.click, question.submit],
        desk.compare,
        inputs=[question, *sides],
        outputs=outputs,
        api_name="compare",
        api_visibility="private",
        show_progress="minimal",
        show_progress_on=outputs[1],
        preprocess=False,  # the desk checks all fields
        # By itself Gradio drops what is asked while a question is still compared.
        trigger_mode="always_last",
        # One comparison at a time; see `Compared`.
        concurrency_limit=1,
        concurrency_id="compare",
    )
