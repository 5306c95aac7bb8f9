"""StatuteGuideRetriever: the guide that tells what to do, where one fits the question."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from haystack import Document, component, logging
from haystack.utils import ComponentDevice
from numpy.typing import NDArray
from pydantic import BaseModel

from components.converters.articles import article_of, ranks_of
from components.embedders.text import BiEncoderComponent
from components.models.folder import DtypeName
from components.retrievers.answered import AnsweredQuestions
from components.statutes.article import Article, normalised
from components.statutes.guides import ArticleOf, Guides, KeptGuide
from components.statutes.lexical import analyzer
from components.statutes.question import clean_question
from components.stores.database import damaged
from components.stores.sqlite import StatuteDocumentStore

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder

logger = logging.getLogger(__name__)

_FORMAT = "1"
_RECORD, _GUIDES, _VECTORS = "guides-record", "guides", "guides-vectors"
_WORDS = "words"


@dataclass(frozen=True)
class GuideThreshold:
    """How similar a question must be to a guide's own, and how that was measured.

    Attributes:
        similarity: of the nearest of the guide's questions, at least.
        margin: by which the guide fits better than the next one, at least (`GuideIndex.match`).
        precision: share of the guides shown that were right; None where nobody measured.
        coverage: share of the questions with a right guide that got it.
        shown: guides shown.
        asked: questions asked.
        questions: name of the set of questions.
        date: ISO day on which it was chosen.
    """

    similarity: float
    margin: float
    precision: float | None = None
    coverage: float | None = None
    shown: int = 0
    asked: int = 0
    questions: str = ""
    date: str = ""


# Where nobody has calibrated them for a store's guides. Of 167 labelled dev questions of the demo
# law 9 get a guide, all right; of 224 test questions 9, 7 of them right.
_UNMEASURED = GuideThreshold(0.3, 0.4)
# What fits less is not offered: of the dev questions without a right guide 45 in 100 fit less, of
# those with one 8.
_OFFERED, _MOST_OFFERED = 0.35, 3


class GuideMatch(NamedTuple):
    """The guide whose question is nearest to a new one.

    Attributes:
        guides: all of them.
        kept: the guide.
        question: of the guide, the nearest.
        similarity: of that question.
        margin: by which it fits better than the next guide.
        is_excluded: whether a question of its `unless` is nearer still.
        alike: it and the next two, where they fit at all, best first, each with its nearest
            question.
    """

    guides: Guides
    kept: KeptGuide
    question: str
    similarity: float
    margin: float
    is_excluded: bool = False
    alike: tuple[tuple[KeptGuide, str], ...] = ()


class GuideIndex:
    """The questions of guides, by meaning or by words.

    By meaning two questions are as similar as answered questions are (`AnsweredQuestions`). By
    words it is the cosine of their terms, each weighing by its rarity among all questions.

    Args:
        guides: of a store.
        vectors: of their questions, in order, float32 `[n, dim]` of length 1; None without.
        thresholds: of the store, as `_Stored` describes them.
    """

    def __init__(
        self,
        guides: Guides,
        vectors: NDArray[np.float32] | None,
        thresholds: Mapping[str, GuideThreshold],
    ) -> None:
        self.guides = guides
        self.thresholds = thresholds
        self.by_words = vectors is None
        self._texts, rows = _questions(guides)
        self._guide = np.array([row for row, _ in rows], dtype=np.int64)
        self._is_when = np.array([is_when for _, is_when in rows], dtype=bool)
        self._standing_on: dict[str, list[int]] = defaultdict(list)
        for row, each in enumerate(guides.kept):
            for id_ in each.guide.articles:
                self._standing_on[id_].append(row)
        self._questions: Any
        if vectors is None:
            self._questions = _TermCosine(
                self._texts, {each.guide.language for each in guides.kept}
            )
        else:
            self._questions = AnsweredQuestions(self._texts, [[]] * len(rows), vectors, 1.0)

    def match(
        self, question: str, vector: NDArray[np.float32] | None, found: Mapping[str, float]
    ) -> GuideMatch | None:
        """The guide that fits a question best, of those that stand on an article found.

        How well it fits: the similarity of the nearest question of its `when`, and the share that
        its articles have in the scores of those found. On the demo law's labelled dev questions the
        right guide is the first for .84 that have one and among three for .96; by similarity alone
        the first for .67.

        Args:
            question: its words.
            vector: float32 `[dim]`; None where words are compared.
            found: scores of the articles found, by id.

        Returns:
            None where no guide stands on one of them.
        """
        similarity = self._questions.similarities(question, vector)
        n = len(self.guides.kept)
        for_it, against = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
        np.maximum.at(for_it, self._guide[self._is_when], similarity[self._is_when])
        np.maximum.at(against, self._guide[~self._is_when], similarity[~self._is_when])
        share, total = np.zeros(n), sum(found.values()) or 1.0
        for id_, score in found.items():
            share[self._standing_on.get(id_, [])] += score / total
        fit = for_it + share
        order = [row for row in np.argsort(-fit, kind="stable").tolist() if share[row] > 0]
        if not order:
            return None
        best, kept = order[0], self.guides.kept
        # Translations are not rivals.
        distinct = {kept[row].guide.id: row for row in reversed(order)}
        rows = sorted(distinct.values(), key=order.index)[:_MOST_OFFERED]

        def nearest(row: int) -> str:
            own = np.where(self._is_when & (self._guide == row), similarity, -math.inf)
            return self._texts[int(np.argmax(own))]

        return GuideMatch(
            self.guides,
            kept[best],
            nearest(best),
            similarity=float(for_it[best]),
            margin=float(fit[best] - (fit[rows[1]] if len(rows) > 1 else 0.0)),
            is_excluded=bool(against[best] > for_it[best]),
            alike=tuple((kept[row], nearest(row)) for row in rows if fit[row] >= _OFFERED),
        )


# Of the articles found, as many as the page shows.
_FOUND = 10


def scores_of(found: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """The scores of the first articles, of (id, score), for `GuideIndex.match`."""
    return {id_: score or 0.0 for id_, score in islice(found, _FOUND)}


def _questions(guides: Guides) -> tuple[list[str], list[tuple[int, bool]]]:
    """Every question; and the row of its guide, with whether it is one of `when`."""
    texts, rows = [], []
    for row, each in enumerate(guides.kept):
        own = [*each.guide.when, *each.guide.unless]
        texts += own
        rows += [(row, place < len(each.guide.when)) for place in range(len(own))]
    return texts, rows


class _TermCosine:
    """Texts compared by their terms, as each of the languages reads them.

    Args:
        texts: to compare with.
        languages: of these.
    """

    def __init__(self, texts: Sequence[str], languages: Iterable[str]) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
        from sklearn.pipeline import make_pipeline

        analyzers = {language: analyzer(language) for language in sorted(languages)}

        def terms(text: str) -> list[str]:
            return [f"{each} {term}" for each, read in analyzers.items() for term in read(text)]

        # Hashed terms, so that one that no text has weighs as the rarest.
        hashed = HashingVectorizer(
            analyzer=terms, binary=True, norm=None, alternate_sign=False, dtype=np.float32
        )
        self._terms = make_pipeline(hashed, TfidfTransformer())
        self._matrix = self._terms.fit_transform(texts)

    def similarities(self, question: str, _: object = None) -> NDArray[np.float32]:
        """The cosine with each text, `[n]`."""
        product = self._matrix @ self._terms.transform([question]).T
        similarities: NDArray[np.float32] = product.toarray()[:, 0]
        return similarities


# Guides in a store.


class _Stored(BaseModel):
    """The record of a store's guides. It is small, so that each question can look.

    Attributes:
        n: how many questions they have.
        model: digest of the one that embedded these; "" for none.
        sha256: of the guides and the vectors.
        thresholds: by the digest of a model, or `_WORDS`.
    """

    n: int
    model: str
    sha256: str
    thresholds: dict[str, GuideThreshold]


def keep_guides(store: StatuteDocumentStore, guides: Guides, model: BiEncoder | None) -> None:
    """Keep guides with a store, in place of those that it had; none removes them.

    Args:
        store: of the law.
        guides: to keep.
        model: embeds their questions; None to compare these by words.
    """
    thresholds = _stored(store, _record_of(store)).thresholds
    content = guides.model_dump_json(by_alias=True, exclude_none=True).encode()
    texts, _ = _questions(guides)
    vectors, digest = b"", ""
    if model is not None and texts:
        matrix = model.answered_vectors(texts).numpy()
        matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        vectors, digest = matrix.astype(np.float32).tobytes(), model.digest
    # If this stops half-way, the store has none.
    store.save_blob(_RECORD, _FORMAT, b"")
    store.save_blob(_GUIDES, _FORMAT, content)
    store.save_blob(_VECTORS, _FORMAT, vectors)
    checksum = sha256(content + vectors).hexdigest()
    _save(store, _Stored(n=len(texts), model=digest, sha256=checksum, thresholds=thresholds))


def kept_guides(store: StatuteDocumentStore) -> Guides:
    """The guides of a store.

    Raises:
        StoreError: they are damaged.
    """
    return _read(store, _stored(store, _record_of(store)))[0]


def encoded_by(store: StatuteDocumentStore) -> str:
    """Digest of the model that embedded the guides' questions; "" if none did."""
    return _stored(store, _record_of(store)).model


def save_threshold(
    store: StatuteDocumentStore, model_digest: str, threshold: GuideThreshold
) -> None:
    """Keep the threshold of a store's guides for a model ("" for words).

    Raises:
        StoreError: the store cannot be written.
    """
    stored = _stored(store, _record_of(store))
    stored.thresholds[model_digest or _WORDS] = threshold
    _save(store, stored)


def _save(store: StatuteDocumentStore, stored: _Stored) -> None:
    store.save_blob(_RECORD, _FORMAT, stored.model_dump_json().encode())


def _record_of(store: StatuteDocumentStore) -> bytes:
    """What changes whenever a store's guides do; empty where it has none."""
    kept = store.load_blob(_RECORD)
    return kept[1] if kept is not None and kept[0] == _FORMAT else b""


def _stored(store: StatuteDocumentStore, record: bytes) -> _Stored:
    try:
        none = _Stored(n=0, model="", sha256="", thresholds={})
        return _Stored.model_validate_json(record) if record else none
    except ValueError as error:
        raise damaged(store.database.path, "its record of guides cannot be read") from error


def _read(
    store: StatuteDocumentStore, stored: _Stored
) -> tuple[Guides, NDArray[np.float32] | None]:
    """The guides on record and the vectors of their questions."""
    if not stored.n:
        return Guides(), None
    content, vectors = (
        kept[1] if (kept := store.load_blob(name)) else b"" for name in (_GUIDES, _VECTORS)
    )
    try:
        if sha256(content + vectors).hexdigest() != stored.sha256:
            raise ValueError
        matrix = np.frombuffer(vectors, np.float32).reshape(stored.n, -1) if vectors else None
        return Guides.model_validate_json(content), matrix
    except ValueError as error:
        raise damaged(store.database.path, "its guides cannot be read") from error


def articles_in(store: StatuteDocumentStore, ids: Iterable[str] = ()) -> ArticleOf:
    """Looks articles of a store up, each once; those with `ids` at once."""
    known: dict[str, Article | None] = {
        each.id: article_of(each) for each in store.fetch(store.keys_of(ids))
    }

    def article(id_: str) -> Article | None:
        if id_ not in known:
            found = store.fetch(store.keys_of([id_]))
            known[id_] = article_of(found[0]) if found else None
        return known[id_]

    return article


@component
class StatuteGuideRetriever(BiEncoderComponent):
    """Finds at most one guide: what to do, step by step, each standing on an article.

    ```python
    from components.retrievers.guides import StatuteGuideRetriever
    from components.retrievers.hybrid import StatuteHybridRetriever
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("law.db")
    question = "The bailiff wants to take my car"
    found = StatuteHybridRetriever(store, store.model.path).run(question)["documents"]
    StatuteGuideRetriever(store, store.model.path).run(question, found)["guide"]["steps"]
    ```

    A wrong guide is worse than none. So one is given only if the question is near to one of the
    guide's own and the guide fits better by a margin than any other that stands on an article found
    (`GuideIndex.match`). `python -m pipelines.guides --calibrate` chooses how near.
    `python -m pipelines.index --guides` keeps guides with a store.
    """

    def __init__(
        self,
        document_store: StatuteDocumentStore | None = None,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: holds the guides; None has none.
            model: the store's; None compares questions by words.
            device: where it runs; None takes the best available when it is loaded.
            dtype: number format; "auto" is bfloat16 where that is fast.

        Raises:
            TypeError: `device` is not a ComponentDevice, or `document_store` is another store.
        """
        if document_store is not None and not isinstance(document_store, StatuteDocumentStore):
            raise TypeError(
                "StatuteGuideRetriever.document_store must be a StatuteDocumentStore, got "
                f"{document_store!r:.60}."
            )
        self.document_store = document_store
        BiEncoderComponent.__init__(self, model, device, dtype)
        # One value, since other threads may be asking when the store's guides change.
        self._read: tuple[bytes, GuideIndex | None] = (b"", None)

    def warm_up(self) -> None:
        """Read the guides and load the model, once; `run` follows the store.

        Raises:
            ModelError: the model cannot be loaded, or is not the one expected.
            StoreError: the guides are damaged.
        """
        self.index()

    def close(self) -> None:
        """Close the store; the next question opens it again."""
        if self.document_store is not None:
            self.document_store.close()

    @component.output_types(guide=dict[str, Any] | None, situations=list[dict[str, str]])
    def run(
        self, query: str, documents: list[Document], as_of: str | None = None
    ) -> dict[str, Any]:
        """Find the guide for a question, or the situations that it may be about.

        Args:
            query: the question.
            documents: the articles found for it, best first.
            as_of: the day that the question is about, YYYY-MM-DD. Guides tell what to do today,
                so there is none for another day.

        Returns:
            `guide`: None, or what `shown_guide` describes.
            `situations`: where no guide is certain, those that may fit, at most three, best first:
            the `id`, `language` and `title` of each, and `question`, its nearest, which gets the
            guide if it is asked. Empty where the question names an article.

        Raises:
            QuestionError: the question is empty or too long.
            ModelError: the model cannot be loaded, or is not the one expected.
            StoreError: the store cannot be read, or its guides are damaged.
        """
        question = clean_question(query)
        today = date.today()
        found: dict[str, Any] = {"guide": None, "situations": []}
        if as_of not in (None, today.isoformat()):
            return found
        match = self.match(question, scores_of((each.id, each.score) for each in documents))
        store = self.document_store
        if store is None or match is None:
            return found
        if self.is_certain(match, question):
            ids = (*match.kept.guide.articles, *(each.article for each in match.guides.rules))
            found["guide"] = shown_guide(match, articles_in(store, dict.fromkeys(ids)), today)
        elif not any("citation" in ranks_of(each.meta) for each in documents):
            found["situations"] = _situations(match)
        return found

    def is_certain(self, match: GuideMatch, question: str) -> bool:
        """Whether a guide fits so well that it is shown unasked.

        A question that the guide has word for word counts as one of its own.
        """
        threshold = self.threshold()
        if match.is_excluded or match.similarity < threshold.similarity:
            return False
        is_own = normalised(question) == normalised(match.question)
        return is_own or match.margin >= threshold.margin

    def match(self, question: str, found: Mapping[str, float]) -> GuideMatch | None:
        """The guide that fits best, however well (`GuideIndex.match`).

        Args:
            question: clean.
            found: scores of the articles found, by id.
        """
        index = self.index()
        if index is None or not found:
            return None
        vector = None if index.by_words else self.loaded().question_vector(question).numpy()
        return index.match(question, vector, found)

    def guides(self) -> Guides:
        """The guides that the store has now.

        Raises:
            ModelError: the model cannot be loaded, or is not the one expected.
            StoreError: the store cannot be read, or its guides are damaged.
        """
        index = self.index()
        return Guides() if index is None else index.guides

    @property
    def compares_by(self) -> str:
        """Digest of the model by whose vectors the guides read last are compared; "" for words."""
        index = self._read[1]
        return "" if index is None or index.by_words else str(self.loaded().digest)

    def threshold(self) -> GuideThreshold:
        """What a match must reach: the calibrated, else Lexarbor's."""
        index = self.index()
        model = self.compares_by
        kept = index.thresholds.get(model or _WORDS) if index else None
        return kept or _UNMEASURED

    def index(self) -> GuideIndex | None:
        """The store's guides as they are now."""
        store = self.document_store
        record = b"" if store is None else _record_of(store)
        if store is not None and record != self._read[0]:
            stored = _stored(store, record)
            guides, vectors = _read(store, stored)
            if self.model is None:
                vectors = None
            elif vectors is not None and self.loaded().digest != stored.model:
                logger.warning(
                    "{store}: another model embedded the guides' questions; they are compared by "
                    "words. Index the law again.",
                    store=store.path,
                )
                vectors = None
            index = GuideIndex(guides, vectors, stored.thresholds) if guides.kept else None
            self._read = (record, index)
        return self._read[1]


def _situations(match: GuideMatch) -> list[dict[str, str]]:
    return [
        {
            "id": kept.guide.id,
            "language": kept.guide.language,
            "title": kept.guide.title,
            "question": question,
        }
        for kept, question in match.alike
    ]


def shown_guide(match: GuideMatch, article_of: ArticleOf, today: date) -> dict[str, Any]:
    """A guide as plain values, as it is shown.

    Returns:
        The fields of `Guide` but its questions. If the law under the guide has changed, `answer`
        is None and `changed` has the day, `on`, and the `articles`; otherwise `changed` is None. A
        step's `article` has its id, law and number (these two only if the store has it). Its
        `deadline` is absent if its article changed, and has `rule`, the article that says how time
        is computed, or None. `question` is the guide's nearest, `similarity` that of the two
        questions.
    """
    kept = match.kept.compared(article_of, today)
    shown = kept.guide.to_json(exclude={"when", "unless"})
    for step in shown["steps"]:
        id_, article = step["article"], article_of(step["article"])
        step["article"] = _described(id_, article)
        if id_ in kept.changed:  # the law may give another number of days now
            step.pop("deadline", None)
        if "deadline" in step:
            rule = match.guides.rule_for(article.law) if article else None
            step["deadline"]["rule"] = rule and {
                **_described(rule.article, article_of(rule.article)),
                "passages": list(rule.passages),
            }
    changed = None
    if kept.changed:
        shown["answer"] = None
        changed = {"on": max(kept.changed.values()), "articles": list(kept.changed)}
    shown |= {"changed": changed, "question": match.question}
    return {**shown, "similarity": round(match.similarity, 4)}


def _described(id_: str, article: Article | None) -> dict[str, str]:
    named = {} if article is None else {"law": article.law, "number": article.number}
    return {"id": id_, **named}
