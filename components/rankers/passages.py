"""StatutePassageRanker: which paragraphs of the articles found decide the question."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from haystack import Document, component
from haystack.utils import ComponentDevice
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of
from components.embedders.text import BiEncoderComponent
from components.models.devices import DtypeName
from components.parameters import check_count, checked_device
from components.statutes import excerpts
from components.statutes.article import TextRule
from components.statutes.lexical import analyzer
from components.statutes.provisions import Provision, provision_texts, provisions_of, word_count
from components.statutes.question import clean_question
from components.stores.publishing import text_digest
from components.stores.sqlite import StatuteDocumentStore

# Logistic regression on the 2,606 labelled train questions of the demo law, among the provisions of
# the ten articles that `hybrid` finds for them: docs/results/findings.md.
_INTERCEPT = -3.26
_WEIGHTS = {
    "nearness": 1.91,
    "nearer_than_others": 7.04,
    "more_words_than_others": 1.46,
    "log_rank": -1.68,
    "log_length": 0.31,
    "note": -1.59,
}
# Articles whose provisions are kept in memory as terms and digests.
_MOST_TEXTS = 4_096


class _Candidate(NamedTuple):
    """A provision of an article found."""

    document: int
    provision: Provision
    features: tuple[float, ...]


@component
class StatutePassageRanker(BiEncoderComponent):
    """Ranks the provisions of the articles found, and writes the best into their metadata.

    ```python
    from components.rankers.passages import StatutePassageRanker
    from components.retrievers.hybrid import StatuteHybridRetriever
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("law.db")
    question = "Can the bailiff take my car?"
    found = StatuteHybridRetriever(store, store.model.path).run(question)["documents"]
    ranked = StatutePassageRanker(store, store.model.path).run(question, found)["documents"]
    ranked[0].meta["passages"][0]["text"]
    ```

    A provision is a numbered paragraph with its items, or a part of a long one
    (`components.statutes.provisions`). Its score is the probability that it decides the question,
    by a logistic regression over: the cosine of its vector and the question's; how much nearer it
    is than the other provisions of its article, and how many more of the question's words it has,
    each weighing by its rarity among the provisions read; the article's rank; its length; and
    whether it is only an editor's note.

    The vectors are those that `python -m pipelines.index` keeps with the store. Where there are
    none, words decide.
    """

    def __init__(
        self,
        document_store: StatuteDocumentStore | None = None,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        top_k: int = 3,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: holds the provisions' vectors; None ranks by words.
            model: the store's; None ranks by words.
            device: where it runs; None takes the best available when it is loaded.
            dtype: number format; "auto" is bfloat16 where that is fast.
            top_k: how many passages an article gets at most.

        Raises:
            TypeError: `device` is not a ComponentDevice.
            ValueError: `top_k` is not a whole number from 1.
        """
        check_count("StatutePassageRanker.top_k", top_k, 1)
        self.document_store = document_store
        self.model = model
        self.device = checked_device("StatutePassageRanker", device)
        self.dtype = dtype
        self.top_k = top_k

    def warm_up(self) -> None:
        """Load the model, once.

        Raises:
            ModelError: it cannot be loaded, or is not the one expected.
        """
        if self.model is not None:
            self.loaded()

    def close(self) -> None:
        """Close the store; the next question opens it again."""
        if self.document_store is not None:
            self.document_store.close()

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        """Rank the provisions of documents.

        Args:
            query: the question.
            documents: articles, best first.

        Returns:
            `documents`: the same, in the same order. `meta["passages"]` lists the best provisions
            of each, best first: `anchor` (of its place in the article's page, "p3"; "" without a
            number), `text` (with its exceptions, as `excerpts.excerpt`), `start` and `end` (the
            provision's characters in the content), `score` (0 to 1) and `complete` (whether it is
            a whole paragraph).

        Raises:
            QuestionError: the question is empty or too long.
            ModelError: the model cannot be loaded, or is not the one expected.
            StoreError: the store cannot be read.
        """
        question = clean_question(query)
        candidates = self._candidates(question, documents)
        scored: list[list[tuple[float, Provision]]] = [[] for _ in documents]
        weights = np.array(list(_WEIGHTS.values()))
        for place, provision, features in candidates:
            logit = _INTERCEPT + float(weights @ features)
            scored[place].append((1 / (1 + math.exp(-logit)), provision))
        ranked = []
        for document, each in zip(documents, scored, strict=True):
            best = sorted(each, key=lambda pair: -pair[0])[: self.top_k]
            passages = [_passage(document, provision, score) for score, provision in best]
            ranked.append(replace(document, meta={**document.meta, "passages": passages}))
        return {"documents": ranked}

    def _candidates(self, question: str, documents: list[Document]) -> list[_Candidate]:
        """Every provision of the documents, with its features in the order of `_WEIGHTS`."""
        read = [_terms_of(each.content or "", language_of(each.meta)) for each in documents]
        held = Counter(term for article in read for terms in article for term in terms)
        n_read = sum(map(len, read))
        nearness = self._nearness(question, documents)
        candidates = []
        for place, (document, article) in enumerate(zip(documents, read, strict=True)):
            text = document.content or ""
            asked = set(analyzer(language_of(document.meta))(question))
            rarity = {term: math.log(1 + n_read / held[term]) for term in asked if term in held}
            most = sum(rarity.values()) or 1.0
            words = np.array([sum(rarity.get(t, 0.0) for t in terms) / most for terms in article])
            near = nearness[place]
            columns = zip(near, _above_others(near), _above_others(words), strict=True)
            for provision, (cosine, nearer, more) in zip(provisions_of(text), columns, strict=True):
                part = text[slice(*provision.span)]
                features = (
                    *(float(cosine), float(nearer), float(more)),
                    *(math.log(1 + place), math.log(1 + word_count(part))),
                    float(excerpts.is_note(part)),
                )
                candidates.append(_Candidate(place, provision, features))
        return candidates

    def _nearness(self, question: str, documents: list[Document]) -> list[NDArray[np.float64]]:
        """The cosine of each document's provisions to the question; 0 where one has no vector."""
        store = self.document_store
        record = None if store is None or self.model is None else store.model
        if store is None or record is None:
            return [np.zeros(len(provisions_of(each.content or ""))) for each in documents]
        digests = [
            _digests_of(tuple(headings_of(each.meta)), each.content or "", record.text_rule)
            for each in documents
        ]
        found = [np.zeros(len(each)) for each in digests]
        vectors = store.journal.vectors(record.biencoder_digest, set(chain(*digests)))
        asked = self.loaded().question_vector(question).numpy()
        asked = asked / np.linalg.norm(asked)
        for own, cosines in zip(digests, found, strict=True):
            for row, digest in enumerate(own):
                if (vector := vectors.get(digest)) is not None:
                    cosines[row] = vector @ asked / np.linalg.norm(vector)
        return found


def _above_others(values: NDArray[Any]) -> NDArray[np.float64]:
    """Each value minus the highest of the others; 0 for one alone."""
    if len(values) < 2:
        return np.zeros(len(values))
    second, first = np.sort(values)[-2:]
    others = np.where(values == first, second, first)
    difference: NDArray[np.float64] = np.asarray(values - others, dtype=np.float64)
    return difference


@lru_cache(maxsize=_MOST_TEXTS)
def _terms_of(text: str, language: str | None) -> tuple[frozenset[str], ...]:
    """The terms of each provision of a text."""
    terms = analyzer(language)
    return tuple(frozenset(terms(text[slice(*each.span)])) for each in provisions_of(text))


@lru_cache(maxsize=_MOST_TEXTS)
def _digests_of(headings: tuple[str, ...], text: str, rule: TextRule) -> tuple[str, ...]:
    """Under what the vector of each provision of a text is kept."""
    return tuple(map(text_digest, provision_texts(headings, text, rule)))


def _passage(document: Document, provision: Provision, score: float) -> dict[str, Any]:
    text, (start, end) = document.content or "", provision.span
    spans = excerpts.excerpt(text, provision, language_of(document.meta))
    return {
        "anchor": provision.anchor,
        "text": "\n".join(text[first:last] for first, last in spans),
        "start": start,
        "end": end,
        "score": round(score, 4),
        "complete": provision.is_whole,
    }
