"""ask: one question to one pipeline, for the command line, REST, the web page and Python."""

from __future__ import annotations

import asyncio
import re
import textwrap
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any, NotRequired, TypedDict, cast

from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import StreamingChunk
from haystack.errors import FilterError

from components.converters import articles
from components.models.folder import ModelError, VectorError
from components.parameters import checked_top_k
from components.retrievers.definitions import DEFINITION_FIELDS, definitions_with
from components.retrievers.resident import Retriever, narrowed
from components.retrievers.validity import (
    ANY,
    TODAY,
    asked_day,
    checked_as_of,
    earlier_text,
    in_force_on,
    law_of_place,
    state_on,
)
from components.statutes.lexical import in_another_language
from components.statutes.question import QuestionError, clean_question
from components.stores.database import StoreError
from components.stores.filters import check_filters, plain_filters
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError, check_stores

# A verdict begins with one of these signs. They are removed from replies, so that a model's words
# cannot pass as a verdict.
VERIFIED, DOUBT = "✓", "⚠"

# These signs, and similar ones.
_SIGNS = "✓✔✅☑🗸🗹🮱𐄂⍻√⚠🛆"
# Invisible characters that reorder text: "14" would be shown as "41".
_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SHOWN = str.maketrans({**dict.fromkeys(_SIGNS, "\ufffd"), **dict.fromkeys(_TURNING, "")})


def as_written(text: str) -> str:
    """Text of a reply without signs of verdicts and characters that reorder it.

    Args:
        text: a reply, or a part of one; positions in the result may differ.
    """
    return text.translate(_SHOWN)


_ANSWER_WIDTH = 97
_HEADS = {
    "generated": (
        f"Answer, written by a language model and checked against the articles; {DOUBT} is a doubt:"
    ),
    "verbatim": "What the articles say:",
    "nothing found": "Nothing that was found is near enough to answer this.",
}


def answer_lines(answer: Mapping[str, Any]) -> str:
    """The answer, its sources and its notices as text; `answer` as returned by `ask`."""
    closest = answer["closest"]
    nothing = answer["state"] == "nothing found"
    lines = [_HEADS[answer["state"]] if closest or not nothing else "Nothing was found.", ""]
    for statement in answer["statements"]:
        text = _marked(statement) if answer["state"] == "generated" else statement["text"]
        lines += [line for part in text.splitlines() for line in textwrap.wrap(part, _ANSWER_WIDTH)]
    if answer["statements"]:
        lines.append("")
    for source in answer["sources"]:
        lines.append(f"[{source['label']}] {source.get('law', '')}, {source.get('number', '')}")
        lines[-1] += f" · {source['jurisdiction']}" if source.get("jurisdiction") else ""
        lines[-1] += "" if source["state"] == "unknown" else f" · {source['state']}"
    if nothing and closest and not closest["enough"]:
        lines.append(
            f"The closest is {closest['law']}, {closest['number']}: score {closest['score']:.3f}, "
            f"and {closest['threshold']:.3f} is asked for."
        )
    lines += [f"Note: {notice['text']}" for notice in answer["notices"]]
    return textwrap.indent("\n".join(lines).rstrip(), "   ").lstrip()


def _marked(statement: Mapping[str, Any]) -> str:
    """A sentence with its doubts in brackets, each after the words that it is about."""
    text: str = statement["text"]
    doubts = [
        (check["end"] - statement["start"], f"{check['state']}: {as_written(check['why'])}")
        for check in (*statement["citations"], *statement["quotations"])
        if check["state"] != "verified"
    ]
    parts, last = [], 0
    for end, doubt in sorted(doubts):
        parts.append(f"{as_written(text[last:end])} <{DOUBT} {doubt}>")
        last = end
    return "".join(parts) + as_written(text[last:])


def guide_lines(guide: Mapping[str, Any]) -> str:
    """A guide as text; `guide` as returned by `ask`."""
    lines = [f"What to do: {guide['title']}", ""]
    if changed := guide["changed"]:
        lines.append(f"The law under this changed on {changed['on']}; being reviewed.")
    else:
        lines.append(guide["answer"])
    for number, step in enumerate(guide["steps"], start=1):
        lines += ["", f"{number}. {step['text']}"]
        article = step["article"]
        # "3(a)" stands as (3)(a); "#2" counts paragraphs that have no number.
        numbered = (each for each in step["passages"] if not each.startswith("#"))
        paragraphs = ", ".join(re.sub(r"^[^()]+", r"(\g<0>)", each) for each in numbered)
        place = f"{article.get('law', article['id'])}, {article.get('number', '')}{paragraphs}"
        lines.append(f"[{place.rstrip(', ')}]")
        if deadline := step.get("deadline"):
            lines.append(_deadline_line(deadline))
    for contact in guide["contacts"]:
        named = ("name", "telephone", "address", "hours", "url")
        lines += ["", "; ".join(contact[each] for each in named if each in contact)]
    reviewed = guide["reviewed"]
    lines += ["", f"Reviewed on {reviewed['date']} by {reviewed['by']}."]
    wrapped = [part for line in lines for part in textwrap.wrap(line, _ANSWER_WIDTH) or [""]]
    return textwrap.indent("\n".join(wrapped), "   ").lstrip()


def situation_lines(situations: Iterable[Mapping[str, str]]) -> str:
    """Situations to choose from as text; `situations` as returned by `ask`."""
    lines = ["Is it one of these? Ask its question to see what to do."]
    for each in situations:
        lines += ["", each["title"], *textwrap.wrap(f"“{each['question']}”", _ANSWER_WIDTH)]
    return textwrap.indent("\n".join(lines), "   ").lstrip()


def _deadline_line(deadline: Mapping[str, Any]) -> str:
    unit = next(each for each in ("days", "months", "years") if each in deadline)
    count = deadline[unit]
    working = "working " if deadline["unit"] == "working" else ""
    length = f"{count} {working}{unit if count > 1 else unit[:-1]}"
    rule = deadline["rule"]
    counted = f", counted under {rule['law']}, {rule['number']}" if rule else ""
    return f"Deadline: {length} from {deadline['from']}{counted}."


_OWN_ERRORS = (FilterError, ModelError, QuestionError, StoreError, VectorError)
_OPTIONAL = ("language", "valid_from", "valid_to", "source_url", "jurisdiction")
_NAMED_PLACES = 20  # in a message
_RANKING_FIELDS = ("n_candidates", "n_ranked")
_LEFT_OUT_FIELDS = (
    *("id", "law", "number", "state", "valid_from", "valid_to", "earlier_text", "replaced_by"),
)
_WORDING_FIELDS = ("id", "valid_from", "valid_to")
_NEIGHBOUR_FIELDS = ("id", "law", "number", "headings", "relation")


class Answer(TypedDict):
    """What a pipeline found: `documents` best first, each as `found_article` describes it.

    The other fields are optional:

    - `as_of`: the day of the law that was searched; absent if all of it was.
    - `ranking`: of a pipeline with a ranker: how many candidates there were and how many it ranked.
    - `missing`: articles that the question names and the store lacks, in the question's words.
    - `left_out`: articles that the question names and the filters or `as_of` leave out: `id`,
      `law`, `number`, `state` and dates of each; `earlier_text` as of `found_article`; and
      `replaced_by` (`id`, `law`, `number`), the article in the place of a repealed one, where the
      law shows one.
    - `not_followed`: citations that are not read whole, or beyond what is looked up for one
      question, in its words.
    - `corrections`: words of the question that were searched in another spelling,
      `{as asked: as searched}`.
    - `searches`: of a pipeline with a `StatuteQueryRewriter`: what was searched besides the
      question, as a generator wrote it; or `not_rewritten`, why the question alone was searched.
    - `expansions`: what people say, by the store's list of lay words, and the phrases of the law
      that were searched too.
    - `languages`: those of the articles (BCP 47), if the question seems to be in none of them.
    - `definitions`: of terms that the first articles use and their law defines, as
      `components.retrievers.definitions.definitions_with` describes them; of a pipeline over
      Lexarbor's own store.
    - `guide`: of a pipeline with a `StatuteGuideRetriever`: what to do, as
      `components.retrievers.guides.shown_guide` describes it, or None.
    - `situations`: where no guide is certain, those that the question may be about, at most three,
      best first: `id`, `language` and `title` of each, and `question`, which gets its guide.
    - `answer`: of a pipeline that answers: its text, and the fields of `CitedAnswerBuilder`.
    """

    question: str
    pipeline: str
    took_ms: float
    documents: list[dict[str, Any]]
    as_of: NotRequired[str]
    ranking: NotRequired[dict[str, int]]
    missing: NotRequired[list[str]]
    left_out: NotRequired[list[dict[str, Any]]]
    not_followed: NotRequired[list[str]]
    corrections: NotRequired[dict[str, str]]
    searches: NotRequired[list[str]]
    not_rewritten: NotRequired[str]
    expansions: NotRequired[dict[str, list[str]]]
    languages: NotRequired[list[str]]
    definitions: NotRequired[list[dict[str, Any]]]
    guide: NotRequired[dict[str, Any] | None]
    situations: NotRequired[list[dict[str, str]]]
    answer: NotRequired[dict[str, Any]]


def ask(
    pipeline: Pipeline,
    question: str,
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
    as_of: date | str | None = None,
    states_on: date | None = None,
    *,
    correct: bool = True,
    expand: bool = True,
    jurisdiction: str | None = None,
) -> Answer:
    """Ask a pipeline that `load_pipeline` loaded.

    The question's filters must hold besides those that the file sets on a component.

    Args:
        pipeline: its metadata must name the input `query` and the output `documents`, and for the
            options the inputs `top_k`, `filters` and `as_of`.
        question: in plain words.
        top_k: how many articles at most; None leaves it to the pipeline.
        filters: Haystack filters over the articles' metadata.
        as_of: leaves out what was not in force: "today", a day (a date, or YYYY-MM-DD), or "any",
            which leaves out nothing. None leaves it to the pipeline, whose retrievers take today
            unless the file says otherwise. Retrievers without such a parameter get the day as
            filters.
        states_on: the day of the articles' states; None for the day of `as_of`, or today. It leaves
            out nothing.
        correct: whether words that the law does not have are searched in its spelling, by a
            pipeline that does that; if not, as they are written.
        expand: whether the store's lay words are searched in the law's words too, by a pipeline
            that does that.
        jurisdiction: a place, such as "us/or/portland". Its law is searched, that of the places
            above it, and articles without a jurisdiction.

    Raises:
        QuestionError: the question is empty or too long.
        TypeError: `top_k` is not a whole number.
        ValueError: `top_k` is less than 1.
        LoadingError: the pipeline has no input for an option, or a day is invalid.
        FilterError: the filters or the jurisdiction are malformed, or no article is law of the
            place; names the places of the law.
        StoreError: the store cannot be read, or it holds no article.
        ModelError: the model cannot be loaded.
        VectorError: the store's vectors are another model's.
        PipelineRuntimeError: a component failed in another way; names pipeline and component.
    """
    asking = _Asking(
        pipeline, question, top_k, filters, as_of, states_on, correct, expand, jurisdiction
    )
    with _full_messages(pipeline):
        outputs = pipeline.run(asking.data, include_outputs_from=asking.components)
    return asking.answer(outputs)


async def ask_async(
    pipeline: Pipeline,
    question: str,
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
    as_of: date | str | None = None,
    *,
    correct: bool = True,
    expand: bool = True,
    jurisdiction: str | None = None,
) -> Answer:
    """`ask` without blocking the event loop."""
    asking = _Asking(pipeline, question, top_k, filters, as_of, None, correct, expand, jurisdiction)
    with _full_messages(pipeline):
        outputs = await pipeline.run_async(asking.data, include_outputs_from=asking.components)
    return asking.answer(outputs)


async def stream(
    pipeline: Pipeline,
    question: str,
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
    as_of: date | str | None = None,
    states_on: date | None = None,
    *,
    correct: bool = True,
    expand: bool = True,
    jurisdiction: str | None = None,
) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
    """`ask_async` in parts, each as soon as it is there.

    Yields:
        ("articles", ...): what `ask` returns, without `answer`.
        ("token", {"text": ...}): a part of the reply as the generator writes it, unchecked and
            without signs of verdicts; none where nothing is generated.
        ("answer", ...): of a pipeline that answers, `answer` as `ask` returns it: the whole text
            with the verdict on each citation and quotation. It takes the tokens' place.

    Raises:
        The errors of `ask`; those of the arguments before anything is yielded.
    """
    asking = _Asking(
        pipeline, question, top_k, filters, as_of, states_on, correct, expand, jurisdiction
    )
    events: asyncio.Queue[tuple[str, dict[str, Any]] | None] = asyncio.Queue()

    async def forward(chunk: StreamingChunk) -> None:
        events.put_nowait(("token", {"text": as_written(chunk.content)}))

    for component, sockets in pipeline.inputs().items():
        if "streaming_callback" in sockets:
            asking.data.setdefault(component, {})["streaming_callback"] = forward

    async def work() -> None:
        try:
            outputs: dict[str, Mapping[str, Any]] = {}
            running = pipeline.run_async_generator(asking.data, asking.components)
            with _full_messages(pipeline):
                async for partial in running:
                    outputs |= partial
                    if not asking.answered and asking.found_in(outputs):
                        articles = dict(asking.answer(outputs))
                        articles.pop("answer", None)
                        events.put_nowait(("articles", articles))
            given = asking.answer(outputs)
            if "answer" in given:
                events.put_nowait(("answer", given["answer"]))
        finally:
            events.put_nowait(None)

    working = asyncio.ensure_future(work())
    try:
        while (event := await events.get()) is not None:
            yield event
        await working
    finally:
        working.cancel()
        await asyncio.wait([working])


class _Asking:
    """One question to one pipeline: its inputs, and the answer made from its outputs."""

    def __init__(
        self,
        pipeline: Pipeline,
        question: str,
        top_k: int | None,
        filters: Mapping[str, Any] | None,
        as_of: date | str | None,
        states_on: date | None,
        correct: bool,
        expand: bool,
        jurisdiction: str | None,
    ) -> None:
        declared = getattr(pipeline, "metadata", {})
        if not (declared.get("inputs") and declared.get("outputs")):
            name = f" '{declared['name']}'" if "name" in declared else ""
            raise LoadingError(
                f"The {type(pipeline).__name__}{name} does not say what it is asked and what it "
                "finds: add 'inputs: {query: [component.socket]}' and 'outputs: {documents: "
                "component.socket}' to its file or metadata (docs/pipelines.md)."
            )
        if top_k is not None:
            checked_top_k("ask", top_k, at_least=1)
        if filters:
            # Haystack copies inputs, however deep, before a store can refuse them.
            check_filters(filters)
        self._pipeline = pipeline
        self._question = clean_question(question)
        day = as_of.isoformat() if isinstance(as_of, date) else as_of
        try:
            asked = None if day is None else checked_as_of("ask", day)
        except ValueError as error:
            raise LoadingError(str(error)) from error
        self._as_of = _day_searched(pipeline, asked)
        if jurisdiction is not None:
            filters = law_of_place(jurisdiction, filters)
            _check_place(pipeline, jurisdiction)
        self._filters = filters
        self._definitions: list[dict[str, Any]] | None = None
        self._states_on = states_on or self._as_of or date.today()
        self.data = _inputs(pipeline, self._question, top_k, filters, asked)
        if jurisdiction is not None:
            _give(self.data, _given(pipeline, "jurisdiction"), jurisdiction)
        # A pipeline that reports no corrections makes none.
        switches = (("correct", correct, "corrections"), ("expand", expand, "expansions"))
        for switch, is_on, reported in switches:
            if not is_on and reported in pipeline.metadata["outputs"]:
                _give(self.data, _declared(pipeline, "inputs", switch), False)
        self._sockets = {
            name: declared_output(pipeline, name)
            for name in ("documents", *pipeline.metadata["outputs"])
        }
        # Others than retrievers use the day only for states: a prompt, an answer.
        choosing = _choosing(pipeline)
        days = (each for each in _given(pipeline, "as_of") if each.split(".")[0] not in choosing)
        _give(self.data, days, self._states_on.isoformat())
        self.components = {component for component, _ in self._sockets.values()}
        self.answered = False
        self._start = time.perf_counter()

    def found_in(self, outputs: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether the articles, and what is shown above them, are among the outputs."""
        needed = (self._sockets[name] for name in ("documents", "guide") if name in self._sockets)
        return all(socket in outputs.get(component, {}) for component, socket in needed)

    def answer(self, outputs: Mapping[str, Mapping[str, Any]]) -> Answer:
        self.answered = True
        found = {
            name: outputs[component][socket]
            for name, (component, socket) in self._sockets.items()
            if socket in outputs.get(component, {})
        }
        if "documents" not in found:
            raise LoadingError(
                f"The pipeline {_name(self._pipeline)}: outputs.documents did not run for this "
                "question. Name a component that always runs."
            )
        if not found["documents"]:
            check_stores(self._pipeline)
        on, ranking = self._states_on, found.get("ranking")
        documents = [found_article(each, on) for each in found["documents"]]
        answer = {
            "question": self._question,
            "pipeline": _name(self._pipeline),
            "took_ms": round((time.perf_counter() - self._start) * 1000, 1),
            "documents": documents,
        }
        tags = list(dict.fromkeys(each.get("language") for each in documents))
        # An article that the question names is found in any language.
        is_named = any("citation" in each["ranks"] for each in documents)
        is_foreign = not is_named and in_another_language(self._question, tags)
        optional = {
            "as_of": self._as_of and self._as_of.isoformat(),
            "ranking": ranking and {field: ranking[field] for field in _RANKING_FIELDS},
            "missing": found.get("missing"),
            "left_out": [
                as_left_out(found_article(each, on)) for each in found.get("left_out", [])
            ],
            "not_followed": found.get("not_followed"),
            "corrections": found.get("corrections"),
            "searches": [as_written(each) for each in found.get("searches", [])],
            "not_rewritten": found.get("not_rewritten"),
            "expansions": found.get("expansions"),
            "languages": is_foreign and tags,
            # Of articles that may not be about the question, definitions would mislead.
            "definitions": not is_foreign and self._defined(found["documents"]),
            "situations": found.get("situations"),
        }
        answer |= {name: value for name, value in optional.items() if value}
        if "guide" in found:
            answer["guide"] = found["guide"]
        for written in found.get("answers", [])[:1]:
            answer["answer"] = {"text": written.data, **written.meta}
        return cast(Answer, answer)

    def _defined(self, documents: list[Document]) -> list[dict[str, Any]]:
        """The definitions that an expander attached, or those of the store that was searched."""
        if documents and all({"neighbours", "definitions"} <= {*each.meta} for each in documents):
            attached = (each for one in documents for each in articles.definitions_of(one.meta))
            return [{k: each[k] for k in DEFINITION_FIELDS if k in each} for each in attached]
        if self._definitions is None and (searched := searched_law(self._pipeline)):
            store, own = searched
            filters = narrowed(own, self._filters)
            # A stream makes the answer twice.
            self._definitions = definitions_with(
                *(store, documents, self._question, filters, self._as_of)
            )
        return self._definitions or []


def searched_law(
    pipeline: Pipeline,
) -> tuple[StatuteDocumentStore, dict[str, Any] | None] | None:
    """Lexarbor's store that a pipeline searches, and the filters that its retrievers always have.

    None where it searches another store.
    """
    retrievers = [each for _, each in pipeline.walk() if isinstance(each, Retriever)]
    stores = [each.document_store for each in retrievers]
    store = next((each for each in stores if isinstance(each, StatuteDocumentStore)), None)
    filters = None
    for each in retrievers:
        if each.filters and each.filters != filters:
            filters = narrowed(filters, each.filters)
    return (store, filters) if store else None


def declared_output(pipeline: Pipeline, name: str) -> tuple[str, str]:
    """Component and socket of one of the pipeline's outputs.

    Raises:
        LoadingError: it declares no output with this name.
    """
    component, socket = _declared(pipeline, "outputs", name)[0].split(".")
    return component, socket


def run(
    pipeline: Pipeline,
    question: str,
    components: set[str],
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
    as_of: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the pipeline once for a question, narrowed by filters and a day; see `ask`.

    Returns:
        The outputs of these components, by component and socket; one that did not run is missing.
    """
    data = _inputs(pipeline, question, top_k, filters, as_of)
    with _full_messages(pipeline):
        outputs: dict[str, dict[str, Any]] = pipeline.run(data, include_outputs_from=components)
    return outputs


def as_left_out(article: Mapping[str, Any]) -> dict[str, Any]:
    """What `found_article` returns, as one of `left_out`."""
    return {name: article[name] for name in _LEFT_OUT_FIELDS if name in article}


def found_article(document: Document, on: date) -> dict[str, Any]:
    """A found document as plain values: the article, its score, its ranks and its state.

    `ranks` is `{stage: rank}`, from 1; `state` is "in force", "repealed", "not yet in force" or
    "unknown" on the given day. `passage` is the best part of the content according to a ranker, if
    there was one, as characters `start` to `end`, and `passages_read` the parts that it read, if
    not all; of an article named with a paragraph it is that one. `passages` are its best
    provisions, best first. An article that is not yet in force has `earlier_text`, what is known of
    its text before (`components.retrievers.validity`). `neighbours` are those that an expander
    attached, and `wordings` the other wordings of the article: `id`, `valid_from` and `valid_to` of
    each, oldest first.
    """
    meta = {
        **document.meta,
        "language": articles.language_of(document.meta),
        "jurisdiction": articles.jurisdiction_of(document.meta),
    }
    found = {
        "id": document.id,
        "law": articles.law_of(meta),
        "number": articles.number_of(meta),
        "headings": list(articles.headings_of(meta)),
        "content": document.content or "",
        "score": document.score,
        "ranks": articles.ranks_of(meta),
        "state": state_on(on, document),
        **{key: meta[key] for key in _OPTIONAL if meta.get(key) is not None},
        **articles.passages_of(meta),
    }
    if found["state"] == "not yet in force":
        found["earlier_text"] = earlier_text(document)
    if replacement := articles.replacement_of(meta):
        found["replaced_by"] = replacement
    if wordings := articles.wordings_of(meta):
        found["wordings"] = [{key: each.get(key) for key in _WORDING_FIELDS} for each in wordings]
    if "neighbours" in meta:
        near = articles.neighbours_of(meta)
        found["neighbours"] = [{key: each.get(key) for key in _NEIGHBOUR_FIELDS} for each in near]
    return found


def _inputs(
    pipeline: Pipeline,
    question: str,
    top_k: int | None,
    filters: Mapping[str, Any] | None,
    as_of: str | None,
) -> dict[str, dict[str, Any]]:
    data: dict[str, dict[str, Any]] = {}
    _give(data, _declared(pipeline, "inputs", "query"), question)
    if top_k is not None:
        _give(data, _declared(pipeline, "inputs", "top_k"), top_k)
    choosing = _choosing(pipeline)
    for component in choosing if as_of else ():
        data.setdefault(component, {})["as_of"] = as_of
    day = asked_day("ask", as_of or TODAY)
    # None and {} both mean no filters.
    targets = _declared(pipeline, "inputs", "filters") if filters else _given(pipeline, "filters")
    for target in targets:
        component = target.split(".")[0]
        given = dict(filters) if filters else None
        if component not in choosing:
            given = in_force_on(day, filters)
        if given:
            instance = pipeline.get_component(component)
            if not isinstance(instance, Retriever):
                # Haystack's own put a run's filters in place of theirs, and know no law.
                given = narrowed(getattr(instance, "filters", None), plain_filters(given))
            _give(data, [target], given)
    return data


def _check_place(pipeline: Pipeline, place: str) -> None:
    """Refuse a place that no article is law of.

    Raises:
        FilterError: none is; names the places that there are.
    """
    retrievers = [each for _, each in pipeline.walk() if isinstance(each, Retriever)]
    places = sorted(set[str]().union(*(each.places() for each in retrievers)))
    if retrievers and place not in places:
        shown = ", ".join(places[:_NAMED_PLACES]) + (" ..." if places[_NAMED_PLACES:] else "")
        known = f"The places are {shown}." if places else "The articles have no jurisdiction."
        raise FilterError(f"jurisdiction: no article is law of {place!r}. {known}")


def _give(data: dict[str, dict[str, Any]], targets: Iterable[str], value: Any) -> None:
    """Put a value into the inputs for "component.socket" targets."""
    for target in targets:
        component, socket = target.split(".")
        data.setdefault(component, {})[socket] = value


def _choosing(pipeline: Pipeline) -> set[str]:
    """The components that leave out what was not in force, by their parameter `as_of`.

    These stand under `inputs.as_of` or, in a file older than the parameter, `inputs.filters`.
    """
    named = {t.split(".")[0] for name in ("as_of", "filters") for t in _given(pipeline, name)}
    return {name for name in named if hasattr(pipeline.get_component(name), "as_of")}


def _day_searched(pipeline: Pipeline, as_of: str | None) -> date | None:
    """The day of the law that a question searches; None if it searches all.

    Raises:
        LoadingError: a day is given, but the pipeline has no input for it.
    """
    choosing = sorted(_choosing(pipeline))
    if not choosing and not _given(pipeline, "filters"):
        if as_of not in (None, ANY):
            _declared(pipeline, "inputs", "as_of")
        return None
    retriever: Any = pipeline.get_component(choosing[0]) if choosing else None
    return asked_day("ask", as_of or (TODAY if retriever is None else retriever.as_of))


@contextmanager
def _full_messages(pipeline: Pipeline) -> Iterator[None]:
    """Unwrap our own errors from Haystack's: they already say what, where and what to do."""
    try:
        yield
    except PipelineRuntimeError as error:
        cause, component = error.__cause__, error.component_name
        if isinstance(cause, _OWN_ERRORS):
            raise cause from None
        if cause is None:
            raise
        message = f"The pipeline {_name(pipeline)}: {component} failed: {cause}"
        raise PipelineRuntimeError(component, error.component_type, message) from cause


def _name(pipeline: Pipeline) -> str:
    return str(pipeline.metadata.get("name", ""))


def _given(pipeline: Pipeline, name: str, side: str = "inputs") -> list[str]:
    """The targets of one of the file's inputs, or outputs; [] if it does not declare it."""
    targets: list[str] = pipeline.metadata.get(side, {}).get(name, [])
    return targets


def _declared(pipeline: Pipeline, side: str, name: str) -> list[str]:
    if not (targets := _given(pipeline, name, side)):
        raise LoadingError(
            f"The pipeline {_name(pipeline)} declares no {side}.{name}. Add it to the file's "
            f"'{side}' as component.socket."
        )
    return targets
