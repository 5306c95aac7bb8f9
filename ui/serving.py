"""Serving: the pipeline that answers the page's questions."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, NotRequired, TypeVar, cast, get_args

import torch
from cachetools import LRUCache
from haystack import Pipeline

from components.embedders.text import StatuteTextEmbedder
from components.models.biencoder import BiEncoder
from components.rankers.cross_encoder import StatuteRanker
from components.rankers.gate import AnswerThreshold, ScoringStage
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.resident import ReadableStore, readable, state_of
from components.retrievers.validity import ANY, not_in_force_on
from components.statutes.article import indexed_text
from components.statutes.citations.laws import LawNames
from components.statutes.excerpts import best_provision, provisions_of, word_count
from components.statutes.languages import folded
from components.statutes.lexical import analyzer
from components.statutes.spelling import corrected
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import Answer, ask, found_article, stream
from pipelines.loading import load_pipeline, threshold_by_meaning
from pipelines.stages import DENSE, GRAPH, parts_of, stages_of
from ui.frame import Collection, recorded_days
from ui.law import begin

logger = logging.getLogger(__name__)

Which = Literal["in force", "all", "not in force"]
WHICH: tuple[Which, ...] = get_args(Which)
DEFAULT: Which = "in force"

_LONGEST_DAY = 40
_LONGEST_NAME = 200  # characters that are looked at


class PageAnswer(Answer):
    """What the page shows: an answer, and what only the page needs to know.

    - `doubtful`: whether its articles may not answer the question.
    - `nearness`: of articles, by their ids, the cosine of their nearest provision to the question.
    - `writing`: what a generator has written so far; absent once `answer` is there.
    """

    doubtful: NotRequired[bool]
    nearness: NotRequired[dict[str, float]]
    writing: NotRequired[str]


class NarrowingError(ValueError):
    """What was sent narrows no search.

    Attributes:
        reason: the key of its text: "no_choice", "no_day" or "no_law".
        words: those that no law's name holds.
    """

    def __init__(self, reason: str, words: str = "") -> None:
        super().__init__(reason)
        self.reason, self.words = reason, words


@dataclass(frozen=True)
class Narrowing:
    """What a search is narrowed to.

    Attributes:
        laws: names of the laws; none for all.
        named: words that all of these names hold, where that is how they were chosen.
        which: those in force on the day, all, or those not in force on it. An article without dates
            may be in force.
        day: None for today.
        as_typed: whether words are searched as they are written, not in the law's spelling.
    """

    laws: tuple[str, ...] = ()
    which: Which = DEFAULT
    day: date | None = None
    named: str = ""
    as_typed: bool = False

    @classmethod
    def checked(
        cls, laws: object, which: object, day: object, known_laws: Sequence[str]
    ) -> Narrowing:
        """Check what an HTTP client sent.

        Args:
            laws: a list of names, or words that a name holds.
            which: one of `WHICH`.
            day: ISO, or empty.
            known_laws: all that are searched.

        Raises:
            NarrowingError: `laws` is neither text nor a list of known laws, or no known law's name
                holds the text; `which` is wrong; or `day` is neither empty nor an ISO day.
        """
        named = ""
        if isinstance(laws, str):
            named = " ".join(laws.split())
            laws = laws_named(named, known_laws) if named else []
        laws = [] if laws is None else laws
        if which not in WHICH or not isinstance(laws, list) or len(laws) > len(known_laws):
            raise NarrowingError("no_choice")
        if not {*known_laws}.issuperset(law if isinstance(law, str) else "" for law in laws):
            raise NarrowingError("no_choice")
        return cls(tuple(dict.fromkeys(laws)), which, checked_day(day), named)

    def __bool__(self) -> bool:
        """Whether the reader narrowed it: to laws, or to other articles than today's or all."""
        day_chosen = self.which == "in force" and self.day is not None
        return bool(self.laws) or self.which == "not in force" or day_chosen

    @property
    def as_of(self) -> date | str | None:
        """As `pipelines.asking.ask` takes it; None where the pipeline searches the law of today."""
        return self.day if self.which == "in force" else ANY

    @property
    def filters(self) -> dict[str, Any] | None:
        """As Haystack's filters, without those that `as_of` stands for."""
        of_laws = {"field": "meta.law", "operator": "in", "value": list(self.laws)}
        filters = of_laws if self.laws else None
        if self.which == "not in force":
            return not_in_force_on(self.day or date.today(), filters)
        return filters

    def as_arguments(self) -> dict[str, Any]:
        """As arguments of `pipelines.asking.ask`."""
        given = {"filters": self.filters, "as_of": self.as_of, "states_on": self.day}
        return {**given, "correct": not self.as_typed}


def laws_named(words: str, laws: Sequence[str]) -> list[str]:
    """The laws whose names hold every one of some words; capitals and accents do not count.

    A whole name stands for its law alone, though others hold its words too.

    Raises:
        NarrowingError: there are none.
    """
    words = words[:_LONGEST_NAME]
    parts = _folded(words).split()
    names = {law: _folded(law) for law in laws}
    found = [law for law, name in names.items() if name.split() == parts]
    found = found or [law for law, name in names.items() if all(part in name for part in parts)]
    if not found:
        raise NarrowingError("no_law", words)
    return found


def _folded(text: str) -> str:
    return folded(text.casefold())


def checked_day(given: object) -> date | None:
    """The day that an HTTP client sent; None where that is empty.

    Raises:
        NarrowingError: it is not an ISO day.
    """
    written = "" if given is None else given
    if isinstance(written, str) and len(written) <= _LONGEST_DAY:
        with suppress(ValueError):
            return date.fromisoformat(written.strip()) if written.strip() else None
    raise NarrowingError("no_day")


class Searched:
    """Describes what is searched now, for notices, fields and exports.

    The laws are read once for each version of the content. It is safe to use from many threads.

    Args:
        store: what the page searches.

    Raises:
        StoreError: it cannot be read at first.
    """

    def __init__(self, store: ReadableStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version: int | None = None
        self._read()

    def __call__(self) -> Collection:
        """What is searched now, or what was before while that cannot be read or is being read."""
        # Nobody waits while another thread reads a slow store.
        if self._lock.acquire(blocking=False):
            try:
                # Answering from the store reports that it cannot be read.
                with suppress(Exception):
                    self._read()
            finally:
                self._lock.release()
        return self._collection

    def _read(self) -> None:
        # Taken before the content is read: content newer than its version is read once more.
        version = self._store.content_version()
        if version != self._version:
            self._collection = Collection.of(self._store)
            self._version = version
        else:
            # The day of the law can be recorded without any other change.
            snapshot, indexed = recorded_days(self._store)
            self._collection = replace(self._collection, snapshot=snapshot, indexed=indexed)


Recipient = Literal["engine", "generator"]
_Part = TypeVar("_Part")

OF_TODAY = Narrowing()

# Questions answered at the same time, in all languages. More than the number of cores does not
# help.
AT_ONCE = 2

# Articles whose provisions' vectors are kept: of five provisions each, 30 MB.
_KEPT_ARTICLES = 4_000
# How many of the first articles are read while a reader waits.
_READ = 3
# A law of more articles is not read before it is asked; seconds between two articles.
_MOST_PREPARED = 2_000
_PAUSE = 0.05

# Seconds between two updates of a text that is being written.
_BETWEEN_LOOKS = 0.2

# A reader is waiting: articles that a ranker has not read by then keep their order below the
# others.
_RANKING_MS = 1200.0


class Serving:
    """Answers questions with a pipeline.

    Args:
        pipeline: name or file.
        store: what is searched.
        model: in place of the one that the store records; None for that one.
        overrides: as for `load_pipeline`.

    Attributes:
        name: name or file of the pipeline, as given.
        model: as given.

    Raises:
        LoadingError: the pipeline is refused, or store and model do not fit.
        StoreError: the store cannot be read.
        ModelError: the model cannot be loaded.
    """

    def __init__(
        self,
        pipeline: str,
        store: str | Path,
        model: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = pipeline
        self.model = model
        # Own threads: memory that a model frees is kept for its thread, and the web server has
        # forty. A thread that starts while another reads a question would see one core, and keep
        # to it, unless the number of torch's threads is set.
        self._threads = ThreadPoolExecutor(
            AT_ONCE,
            thread_name_prefix="answer",
            initializer=torch.set_num_threads,
            initargs=(torch.get_num_threads(),),
        )
        # Vectors of articles' provisions, by model and text.
        self._kept: LRUCache[tuple[str, str], torch.Tensor] = LRUCache(_KEPT_ARTICLES)
        self._keeping = threading.Lock()
        self._pipeline = load_pipeline(pipeline, store, model, overrides)
        # Models and indexes are loaded now, so that the first reader does not wait for them.
        self._pipeline.warm_up()
        for _, part in self._pipeline.walk():
            if isinstance(part, StatuteRanker) and part.time_budget_ms is None:
                part.time_budget_ms = _RANKING_MS
        self._embedder = self._part(StatuteTextEmbedder)
        # What finds articles by meaning.
        hybrid = self._part(StatuteHybridRetriever)
        self._retriever = hybrid or self._part(StatuteEmbeddingRetriever)
        self._threshold = self._calibrated()

    def _part(self, kind: type[_Part]) -> _Part | None:
        return next((part for part in parts_of(self._pipeline) if isinstance(part, kind)), None)

    @property
    def pipeline(self) -> Pipeline:
        """The one that answers."""
        return self._pipeline

    @property
    def stages(self) -> list[str]:
        """Names of the stages that find articles, as `pipelines.stages` has them."""
        return [stage.name for stage in stages_of(self._pipeline)]

    def _stores(self) -> list[Any]:
        stores = (getattr(part, "document_store", None) for _, part in self._pipeline.walk())
        return [store for store in stores if store]

    @property
    def store(self) -> ReadableStore:
        """What the pipeline searches."""
        return readable(self._stores()[0])

    @property
    def sent_to(self) -> frozenset[Recipient]:
        """Who else gets a question, by the command line or the pipeline's file."""
        found: set[Recipient] = set()
        if not all(isinstance(store, StatuteDocumentStore) for store in self._stores()):
            found.add("engine")
        if any(getattr(part, "chat_generator", None) for _, part in self._pipeline.walk()):
            found.add("generator")
        return frozenset(found)

    def answer(self, question: str, narrowing: Narrowing = OF_TODAY) -> PageAnswer:
        """Ask the pipeline, in turn.

        A question that is nothing but citations gets the articles that it names at once, and no
        model runs.
        An article of which the bi-encoder read only the beginning has `words_read`, roughly how
        many words that is. Where vectors went through a graph network, the rank among them is that
        of `graph`.
        """

        def answered() -> PageAnswer:
            found = ask(self._pipeline, question, **narrowing.as_arguments())
            return self._completed(cast("PageAnswer", found))

        return self._named(question, narrowing) or self._threads.submit(answered).result()

    def answers(self, question: str, narrowing: Narrowing = OF_TODAY) -> Iterator[PageAnswer]:
        """`answer` as it grows, if a generator writes it: articles, then words, then verdicts.

        The last one is what `answer` returns.
        """
        if "generator" not in self.sent_to or self._named(question, narrowing):
            yield self.answer(question, narrowing)
            return
        grown: SimpleQueue[PageAnswer | None] = SimpleQueue()

        def grow() -> None:
            try:
                asyncio.run(self._grow(question, narrowing, grown.put))
            finally:
                grown.put(None)

        growing = self._threads.submit(grow)
        while (answer := grown.get()) is not None:
            yield answer
        growing.result()

    async def _grow(
        self, question: str, narrowing: Narrowing, show: Callable[[PageAnswer], object]
    ) -> None:
        looked, written = 0.0, ""
        found: PageAnswer
        async for part, content in stream(self._pipeline, question, **narrowing.as_arguments()):
            if part == "articles":
                found = self._completed(cast("PageAnswer", content))
            elif part == "answer":
                found["answer"] = content
                break
            else:
                written += content["text"]
            # Whether nothing was found, or nothing near enough, is told at the end.
            if found["documents"] and time.monotonic() - looked > _BETWEEN_LOOKS:
                looked = time.monotonic()
                show(cast("PageAnswer", {**found, "writing": written}))
        show(found)

    def _completed(self, answer: PageAnswer) -> PageAnswer:
        """What was found, with all that the page shows of it.

        Each article gets its best passage, unless a ranker has found one. The first articles are
        read by meaning, the others too where their vectors are known.
        `doubtful` stands where a threshold was calibrated for the store
        (`python -m pipelines.calibrate`), and tells whether the score of the law's nearest article,
        or that of the answered questions, is below it; a question that names an article is not
        doubted.
        """
        documents = answer["documents"]
        question = corrected(answer["question"], answer.get("corrections", {}))
        nearness = answer["nearness"] = {}
        encoder = self._encoder()
        vector = None if encoder is None else encoder.question_vector(question)
        shares = [1.0] * len(documents)
        if self._embedder and documents:
            parts = [(each["headings"], each["content"]) for each in documents]
            shares = self._embedder.shares_read(parts)
        for place, (document, share) in enumerate(zip(documents, shares, strict=True)):
            text, language = str(document["content"]), document.get("language")
            if share < 1:
                document["words_read"] = round(word_count(text) * share)
            near = None
            if vector is not None and encoder is not None and "passage" not in document:
                vectors = self._provision_vectors(encoder, document, only_known=place >= _READ)
                near = None if vectors is None else (vectors @ vector).tolist()
            if near is not None:
                nearness[document["id"]] = max(near)
            best = best_provision(text, analyzer(language)(question), language, near)
            if best is not None:
                document.setdefault("passage", best.span._asdict())
        named = any("citation" in document["ranks"] for document in documents)
        if vector is not None and documents and not named and self._threshold is not None:
            score = self._nearness(self._threshold.stage, question, vector)
            answer["doubtful"] = score < self._threshold.threshold
        if GRAPH in self.stages:
            for document in documents:
                ranks = document["ranks"].items()
                document["ranks"] = {GRAPH if each == DENSE else each: rank for each, rank in ranks}
        return answer

    def _provision_vectors(
        self, encoder: BiEncoder, article: Mapping[str, Any], *, only_known: bool = False
    ) -> torch.Tensor | None:
        """`[n_provisions, dim]`; None where they are not known and not to be encoded, or none."""
        text = str(article["content"])
        key = (encoder.digest, text)
        with self._keeping:
            vectors = self._kept.get(key)
        spans = [] if vectors is not None else [each.span for each in provisions_of(text)]
        if vectors is not None or only_known or not spans:
            return vectors
        heading = article["headings"][-1:]
        vectors = encoder.encode_articles([indexed_text(heading, text[a:b]) for a, b in spans])
        with self._keeping:
            self._kept[key] = vectors
        return vectors

    def calibrate(self, choose: Callable[[], object]) -> None:
        """Choose the store's threshold in the background, and doubt by it from then on.

        Args:
            choose: prepares the store and writes its threshold, unless it has them.
        """

        def calibrated(_: threading.Event) -> None:
            try:
                choose()
                self._threshold = self._calibrated()
            except Exception:
                # Answers are then given without a word of doubt.
                logger.exception("The demo's questions or threshold could not be prepared.")

        begin(calibrated, "calibration")

    def prepare(self) -> None:
        """Read the passages of a small law in the background, so that no reader waits for it."""
        encoder, store = self._encoder(), self.store
        keys = store.keys_matching(None)
        if encoder is None or len(keys) > _MOST_PREPARED:
            return

        def read(stop: threading.Event) -> None:
            for key in keys:
                for document in [] if stop.is_set() else store.fetch([key]):
                    self._provision_vectors(encoder, found_article(document, date.today()))
                    # Questions come first.
                    time.sleep(_PAUSE)

        begin(read, "passages")

    def _named(self, question: str, narrowing: Narrowing) -> PageAnswer | None:
        """The answer to a question of only citations, if all the articles may be shown."""
        retriever, start = self._part(CitationRetriever), time.perf_counter()
        if retriever is None or not retriever.is_citation(question):
            return None
        day = narrowing.as_of
        as_of = day.isoformat() if isinstance(day, date) else day
        found = retriever.run(question, filters=narrowing.filters, as_of=as_of)
        # The pipeline reports what the filters leave out.
        if not found["pinned"] or found["left_out"]:
            return None
        on = narrowing.day or date.today()
        answer = PageAnswer(
            question=question,
            pipeline=str(self._pipeline.metadata.get("name", "")),
            took_ms=round((time.perf_counter() - start) * 1000, 1),
            documents=[
                {**found_article(document, on), "ranks": {"citation": rank}}
                for rank, document in enumerate(found["pinned"], start=1)
            ],
        )
        kept = {name: found[name] for name in ("missing", "not_followed") if found[name]}
        return cast("PageAnswer", {**answer, **kept})

    def _encoder(self) -> BiEncoder | None:
        """The bi-encoder that embeds the pipeline's questions; None where there is none."""
        if self._embedder is None or self._embedder.model is None:
            return None
        return self._embedder.loaded()

    def _calibrated(self) -> AnswerThreshold | None:
        """The threshold from which on a question counts as answered; None where there is none."""
        if self._encoder() is None or self._retriever is None:
            return None
        return threshold_by_meaning(self._retriever)

    def _nearness(self, stage: ScoringStage, question: str, vector: torch.Tensor) -> float:
        """The score of all of the law that thresholds of a stage are about."""
        retriever = self._retriever
        assert retriever is not None
        if isinstance(retriever, StatuteHybridRetriever):
            if stage == "answered":
                answered = retriever.answered_questions()
                # Another model may have indexed the store since, without them.
                if answered is None:
                    return math.inf
                return max(answered.search(question, vector.numpy(), lambda _: True).values())
            retriever = retriever.dense
        state = state_of(readable(retriever.document_store))
        _, scores = retriever.current_index(state).search(vector.numpy(), 1, None)
        return float(scores[0]) if len(scores) else -1.0


_LAW_AND_NUMBER = re.compile(
    r"(?P<before>\d[\w.-]*)?[\s,]*(?P<name>[^\d].*?)[\s,]*(?P<after>\d[\w.-]*)?"
)
_SMALL_WORDS = {"the", "le", "la", "du", "des"}


class NamedLaw(NamedTuple):
    """A law that a question names and nothing else, or with the bare number of an article."""

    law: str
    number: str | None


@lru_cache(maxsize=4)
def law_names(collection: Collection) -> LawNames:
    """The names of the laws that are searched."""
    return LawNames(collection.laws, collection.names)


def named_law(question: str, names: LawNames) -> NamedLaw | None:
    """The law of a question such as "Housing Code" or "work code 37"; None for any other.

    Args:
        question: the question.
        names: of the laws that are searched.
    """
    match = _LAW_AND_NUMBER.fullmatch(question.strip().rstrip("?."))
    laws = names.anywhere(match["name"]) if match else ()
    if match is None or (match["before"] and match["after"]) or len(laws) != 1:
        return None
    (law,) = laws
    named, known = (set(re.findall(r"[^\W_]+", _folded(text))) for text in (match["name"], law))
    if not named <= known | _SMALL_WORDS:
        return None
    return NamedLaw(law, match["before"] or match["after"])
