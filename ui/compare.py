"""The view "Compare": a Gradio Blocks around a `ComparingDesk`."""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from haystack import Pipeline

from components.models.errors import ModelError
from components.retrievers.resident import ReadableStore
from components.statutes.question import QuestionError, clean_question
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.comparison import SHOWN, Comparison, Fact, Found, Moved, Told, compare, find
from pipelines.files import LoadingError, pipeline_names
from pipelines.loading import load_pipeline
from pipelines.serving.limits import MAX_QUESTION_CHARS
from pipelines.stages import time_components
from ui.article import article_title, law_attributes, state_mark, words
from ui.ask import bound, examples, html
from ui.frame import Collection, full_title, notice
from ui.language import Language, article_link, counted, decimal, number
from ui.results import heard_anew, message
from ui.shell import Following
from ui.texts.ask import ASK_TEXTS, stage_texts
from ui.texts.ask import STAGE_TEXTS as STAGES
from ui.texts.compare import COMPARE_TEXTS, CompareTexts
from ui.texts.frame import FRAME_TEXTS

# HTML of the time that each part of two pipelines took, as a table with bars.


def times(compared: Comparison, language: Language) -> str:
    """The table, and what must be known of its figures.

    Args:
        compared: what is told of.
        language: of the interface.
    """
    texts = COMPARE_TEXTS[language]
    sides = (compared.left, compared.right)
    lefts, rights = ({lap.name: lap.ms for lap in side.laps} for side in sides)
    longest = max([*lefts.values(), *rights.values(), *(side.rest_ms for side in sides), 0.001])
    rows = "".join(
        _row(_name(name, texts, language), [lefts.get(name), rights.get(name)], longest, language)
        for name in _merged(list(lefts), list(rights))
    )
    rest = _row(words(texts.rest), [side.rest_ms for side in sides], longest, language)
    total = _row(words(texts.total), [side.took_ms for side in sides], None, language)
    heads = _head(texts.left, compared.left, texts) + _head(texts.right, compared.right, texts)
    return (
        f'<div class="times"><table><caption>{words(texts.times)}</caption>'
        f'<thead><tr><th scope="col">{words(texts.stage)}</th>{heads}</tr></thead>'
        f"<tbody>{rows}{rest}</tbody><tfoot>{total}</tfoot></table>"
        f'<p class="note">{words(texts.times_note)}</p></div>'
    )


def _head(side: str, found: Found, texts: CompareTexts) -> str:
    told = texts.side.format(side=side, pipeline=found.pipeline)
    return f'<th scope="col">{words(told)}</th>'


def _row(
    name: str, values: Sequence[float | None], longest: float | None, language: Language
) -> str:
    cells = "".join(_cell(value, longest, language) for value in values)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _cell(value: float | None, longest: float | None, language: Language) -> str:
    if value is None:
        return f'<td>–<span class="unseen">{words(COMPARE_TEXTS[language].not_there)}</span></td>'
    figure = f'<span class="figure">{decimal(value, language, 1)}</span>'
    if longest is None:
        return f"<td>{figure}</td>"
    bar = f'<span class="bar"><span style="width:{value / longest:.0%}"></span></span>'
    return f"<td>{bar}{figure}</td>"


def _name(name: str, texts: CompareTexts, language: Language) -> str:
    """A stage by its name in words, a component by that of the file."""
    if name == "fused":
        return words(texts.fused)
    known = STAGES[language].get(name)
    return words(known.name) if known else f"<code>{words(name)}</code>"


def _merged(left: list[str], right: list[str]) -> list[str]:
    """Names of both, each once, in an order that is that of either wherever one can be."""
    merged, place = list(left), 0
    for name in right:
        if name in merged:
            place = merged.index(name) + 1
        else:
            merged.insert(place, name)
            place += 1
    return merged


# HTML of a comparison, on one line; everything from a law or a question is escaped here.


_QUESTION_SHOWN = 300
_RERANKER = "reranker"


def announced(comparison: Comparison, language: Language) -> str:
    """What is told to those who hear the page; it is not seen."""
    return f'<p class="unseen">{words(_in_common(comparison, language))}</p>'


def comparison(question: str, compared: Comparison, language: Language) -> str:
    """The whole comparison: what is in common, the two lists, the time of each stage.

    Args:
        question: as it was asked.
        compared: what came of it.
        language: of the interface.
    """
    texts = COMPARE_TEXTS[language]
    asked = question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else "")
    for_what = words(texts.asked).format(question=f"<q><bdi>{words(asked)}</bdi></q>")
    return (
        f'<div class="comparison"><h2 tabindex="-1">{words(_in_common(compared, language))}</h2>'
        f'<p class="asked">{for_what}</p><p class="summed">{words(_summed(compared, language))}</p>'
        f'<div class="sides">{_left(compared, language)}{_right(compared, language)}</div>'
        f"{times(compared, language)}</div>"
    )


def _in_common(compared: Comparison, language: Language) -> str:
    shown = [len(side.articles[:SHOWN]) for side in (compared.left, compared.right)]
    shared = compared.count("same", "up", "down")
    return COMPARE_TEXTS[language].in_common.format(shared=shared, most=max(shown))


def _summed(compared: Comparison, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    counts = (
        (compared.count("same"), texts.same),
        (compared.count("up", "down"), texts.moved),
        (compared.count("gone"), texts.gone),
        (compared.count("new"), texts.new),
    )
    told = ", ".join(counted(count, forms, language) for count, forms in counts if count)
    summed = texts.identical if compared.count("same") == len(compared.moved) else f"{told}."
    took = texts.took.format(
        left=number(compared.left.took_ms, language),
        right=number(compared.right.took_ms, language),
    )
    return f"{summed} {took}"


def _left(compared: Comparison, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    movements = {
        "same": texts.same_as_right,
        "up": texts.up_to,
        "down": texts.down_to,
        "gone": texts.gone_to,
    }
    missing = (texts.gone_unfound, texts.gone_cut)
    places = {id_: moved.right for id_, moved in compared.moved.items()}
    side = _Side(texts.left, compared.left, compared.right, places, movements, missing)
    return _drawn(side, compared, language)


def _right(compared: Comparison, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    movements = {
        "same": texts.same_as_left,
        "up": texts.up_from,
        "down": texts.down_from,
        "new": texts.new_from,
    }
    missing = (texts.new_unfound, texts.new_cut)
    places = {id_: moved.left for id_, moved in compared.moved.items()}
    side = _Side(texts.right, compared.right, compared.left, places, movements, missing)
    return _drawn(side, compared, language)


class _Side(NamedTuple):
    """One of the two lists.

    Attributes:
        name: what it is called.
        found: what stands in it.
        other: what stands in the other one.
        places: of each article's id its place in the other one, None where it has none.
        movements: how each movement is said.
        missing: how it is said that the other one lacks an article: altogether, beyond its end.
    """

    name: str
    found: Found
    other: Found
    places: Mapping[str, int | None]
    movements: Mapping[str, str]
    missing: tuple[str, str]


def _drawn(side: _Side, compared: Comparison, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    title = texts.side.format(side=side.name, pipeline=side.found.pipeline)
    items = []
    for place, article in enumerate(side.found.articles[:SHOWN], start=1):
        moved = compared.moved[article["id"]]
        there, cut = side.places[article["id"]], side.other.cut
        unfound, beyond = side.missing
        if there is not None:
            said = side.movements[moved.movement].format(by=abs(moved.by), place=there)
        else:
            said = unfound if cut is None else beyond.format(cut=cut)
        items.append(_item(place, article, moved, said, language))
    listed = f'<ol class="places">{"".join(items)}</ol>'
    return (
        f'<section class="side"><h3>{words(title)}</h3>'
        f"{listed if items else f'<p>{words(texts.found_nothing)}</p>'}</section>"
    )


def _item(
    place: int, article: Mapping[str, Any], moved: Moved, said: str, language: Language
) -> str:
    tongue = law_attributes(article.get("language"))
    link = article_link(str(article["id"]), language)
    facts = "".join(f"<li>{_fact(fact, language)}</li>" for fact in moved.facts)
    why = f'<ul class="facts">{facts}</ul>' if facts else ""
    return (
        f'<li class="{moved.movement}"><p class="place"><span class="unseen">'
        f"{words(COMPARE_TEXTS[language].place)} </span>{place}</p>"
        f'<div><p class="title"><a href="{words(link)}">{words(article_title(article["number"]))}'
        f"</a> <span{tongue}>{words(article['law'])}</span>"
        f"{state_mark(article.get('state'), language)}</p>"
        f'<p class="movement">{words(said)}</p>{why}</div></li>'
    )


def _fact(fact: Fact, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    name = texts.fused if fact.stage == "fused" else stage_texts(fact.stage, language).name
    stage = f"<strong>{words(name)}</strong>"
    left, right = fact.left, fact.right
    if left is None or right is None:
        template = texts.on_left if right is None else texts.on_right
        told = left or right
        assert told is not None
        return words(template).format(stage=stage, told=words(_told(fact.stage, told, language)))
    if left.rank is None and right.rank is None:
        # Lists of different lengths: what is true of both.
        cuts = [told.cut for told in (left, right) if told.cut is not None]
        left = right = Told(None, min(cuts, default=None))
    said = [words(_told(fact.stage, told, language)) for told in (left, right)]
    if left == right:
        return words(texts.on_both).format(stage=stage, told=said[0])
    return words(texts.on_each).format(stage=stage, left=said[0], right=said[1])


def _told(stage: str, told: Told, language: Language) -> str:
    texts = COMPARE_TEXTS[language]
    if told.rank is not None:
        return texts.ranked.format(rank=number(told.rank, language))
    if told.cut is not None:
        return texts.cut.format(cut=number(told.cut, language))
    return texts.unread if stage == _RERANKER else texts.unfound


# Compared: the pipelines that can be set side by side over one store.


# Those that retrieve; the articles of the others come from one of these.
_RETRIEVING = ("lexical", "dense", "hybrid", "hybrid_rerank")
_DEFAULTS = ("lexical", "hybrid")

# What a component does at its first question is not to be taken from a reader's.
_FIRST_QUESTION = "law"


class Compared:
    """Asks pipelines by name; each is loaded at its first question, once for all who ask.

    They search the store of the moment: where another has taken its place, they are loaded anew,
    and those over the one before are let go. Models and indexes are shared, among them and with
    the rest of the process.

    Args:
        store: gives what is searched now.
        model: in place of the one that the store records; None for that one.
        own: name or file of the pipeline that the page was started with. It is compared too where
            it is a file of the reader's own that retrieves.

    Attributes:
        names: of those that the store can serve, fewest stages first.
    """

    def __init__(
        self, store: Callable[[], ReadableStore], model: str | None = None, own: str | None = None
    ) -> None:
        self._store = store
        self._model = model
        files = {name: name for name in _RETRIEVING}
        if own is not None and own not in pipeline_names():
            # With its ending, so that no file has the name of one of ours.
            files[f"{Path(own).stem}.yaml"] = own
        # One thread for all who ask: times are told, and two comparisons at once would disturb
        # each other. Who comes while a pipeline is loaded waits, and finds it loaded.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compare")
        self._over: str | None = None
        self._ready: dict[str, Pipeline] = {}
        self._files = {name: file for name, file in files.items() if self._can_serve(file)}
        self.names = tuple(self._files)

    @property
    def defaults(self) -> tuple[str, str] | None:
        """What stands on the left and on the right at first; None where there are not two."""
        wanted = [name for name in _DEFAULTS if name in self.names]
        left, right, *_ = *dict.fromkeys([*wanted, *self.names]), "", ""
        return (left, right) if right else None

    def compare(self, question: str, left: str, right: str) -> Comparison:
        """Ask two pipelines one clean question; both search the same store.

        Raises:
            KeyError: a name is none of `names`.
            LoadingError, StoreError, ModelError: one cannot be loaded, or the store not be read.
        """
        return self._thread.submit(self._compared, question, left, right).result()

    def _compared(self, question: str, left: str, right: str) -> Comparison:
        path = self._path()
        if path != self._over:
            self._ready.clear()
            # Pipelines refer to themselves: until they are collected, all that they hold stays.
            gc.collect()
            self._over = path
        pipelines = [self._loaded(name, path) for name in (left, right)]
        return compare(*(find(pipeline, question) for pipeline in pipelines))

    def _loaded(self, name: str, path: str) -> Pipeline:
        if name not in self._ready:
            pipeline = load_pipeline(self._files[name], path, self._model)
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
        store = self._store()
        if not isinstance(store, StatuteDocumentStore):
            raise LoadingError(
                "Pipelines are compared over a store of Lexarbor's own; this page searches an "
                "engine. Index the law with python -m pipelines.index --store FILE."
            )
        return str(store.database.path)


# ComparingDesk: compares two pipelines for the page.


Compare = Callable[[str, str, str], Comparison]

_logger = logging.getLogger(__name__)


class ComparingDesk:
    """Compares two pipelines for the page, whatever an HTTP client sends as question and names.

    Args:
        compare: from a clean question and two names to the comparison.
        names: of the pipelines that can be compared.
        language: of the interface.
    """

    def __init__(self, compare: Compare, names: Container[str], language: Language) -> None:
        self._compare = compare
        self._names = names
        self._language: Language = language

    def compare(self, question: object, left: object, right: object) -> tuple[str, str]:
        """HTML of the status line and of the comparison, which is empty under a message."""
        status, shown = self._compared(question, left, right)
        return heard_anew(status), shown

    def _compared(self, question: object, left: object, right: object) -> tuple[str, str]:
        asks, texts = ASK_TEXTS[self._language], COMPARE_TEXTS[self._language]
        if isinstance(question, str) and len(question.strip()) > MAX_QUESTION_CHARS:
            return self._too_long(len(question.strip())), ""
        try:
            asked = clean_question(question)
        except QuestionError:
            return message(asks.empty[0], texts.empty_explained), ""
        if not self._is_known(left) or not self._is_known(right):
            return message(*asks.no_choice), ""
        if left == right:
            return message(*texts.twice), ""
        try:
            found = self._compare(asked, str(left), str(right))
            missing = self._missing(found)
            if not found.moved:
                return missing + message(*asks.nothing), ""
            said = announced(found, self._language)
            return said + missing, comparison(asked, found, self._language)
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            # An error's message may quote the question, which is never logged; its place may not.
            place = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("A comparison failed with %s:\n%s", type(error).__name__, place)
            return message(*asks.failed), ""

    def _missing(self, found: Comparison) -> str:
        """What the question names and the law has not; both sides search the same."""
        named = "; ".join(dict.fromkeys([*found.left.missing, *found.right.missing]))
        return message(ASK_TEXTS[self._language].missing.format(articles=named)) if named else ""

    def _is_known(self, name: object) -> bool:
        return isinstance(name, str) and name in self._names

    def _too_long(self, length: int) -> str:
        title, explanation = ASK_TEXTS[self._language].too_long
        counts = {"length": length, "most": MAX_QUESTION_CHARS}
        told = {name: number(count, self._language) for name, count in counts.items()}
        return message(title, explanation.format(**told))


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
    texts = COMPARE_TEXTS[language]
    # Gradio's script names the tab by this, in place of what the document was served with.
    title = full_title(FRAME_TEXTS[language].compare)
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
    texts, asks = COMPARE_TEXTS[language], ASK_TEXTS[language]
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
