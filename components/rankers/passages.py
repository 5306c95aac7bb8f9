"""StatutePassageRanker: which paragraphs of the articles found decide the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from haystack import Document, component
from haystack.utils import ComponentDevice
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, passages_of, ranks_of
from components.embedders.text import BiEncoderComponent
from components.joiners.rank_fusion import CITATION
from components.models.folder import DtypeName
from components.models.stored_vectors import text_digest
from components.parameters import check_count
from components.statutes import excerpts
from components.statutes.article import TextRule
from components.statutes.lexical import analyzer
from components.statutes.provisions import Provision, provision_texts, provisions_of, word_count
from components.statutes.question import clean_question
from components.stores.sqlite import StatuteDocumentStore

# Logistic regression on the 2,606 labelled train questions of the demo law, among the provisions of
# the ten articles that `hybrid` finds for them: docs/results/findings.md.
_INTERCEPT = -3.26
_WEIGHTS = np.array(
    [
        1.91,  # cosine
        7.04,  # how much nearer than the other provisions of the article
        1.46,  # its share of the question's words, less the best of the other provisions'
        -1.68,  # log of the article's rank
        0.31,  # log of the length in words
        -1.59,  # whether it is only a note
    ]
)
# Passages that are quoted, of all articles and of one.
_QUOTED = 3
_QUOTED_OF_ONE = 2
# Nobody reads further down a list.
_MOST_ARTICLES = 50
# Articles that tell how rare a word is.
_RARE_AMONG = 10
# Articles whose provisions are kept in memory as terms and digests.
_MOST_TEXTS = 4_096


class _Article(NamedTuple):
    """The parts of an article's features that are the same for every question.

    Attributes:
        provisions: in their order.
        terms: the index terms of each provision.
        fixed: float64 `[2, n provisions]`: log of their lengths, and whether each is a note.
    """

    provisions: tuple[Provision, ...]
    terms: tuple[frozenset[str], ...]
    fixed: NDArray[np.float64]


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
            TypeError: `device` is not a ComponentDevice, or `document_store` is another store.
            ValueError: `top_k` is not a whole number from 1.
        """
        check_count("StatutePassageRanker.top_k", top_k, 1)
        if document_store is not None and not isinstance(document_store, StatuteDocumentStore):
            raise TypeError(
                "StatutePassageRanker.document_store must be a StatuteDocumentStore, got "
                f"{document_store!r:.60}. Without one it ranks by words."
            )
        self.document_store = document_store
        BiEncoderComponent.__init__(self, model, device, dtype)
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
            `documents`: the same, in the same order. Of the first 50, `meta["passages"]` lists the
            best provisions, best first: `anchor` (of its place in the article's page, "p3"; ""
            without a number), `text` (with its exceptions, as `excerpts.excerpt`), `start` and
            `end` (the provision's characters in the content), `score` (0 to 1) and `complete`
            (whether it is a whole paragraph). A paragraph that the question names scores 1.

        Raises:
            QuestionError: the question is empty or too long.
            ModelError: the model cannot be loaded, or is not the one expected.
            StoreError: the store cannot be read.
        """
        question = clean_question(query)
        documents, others = documents[:_MOST_ARTICLES], documents[_MOST_ARTICLES:]
        read = [_article_of(each.content or "", language_of(each.meta)) for each in documents]
        # As many as the weights were learned among, however many are asked for.
        first = read[:_RARE_AMONG]
        held = Counter(chain.from_iterable(chain.from_iterable(each.terms for each in first)))
        n_read = sum(len(each.provisions) for each in first)
        rarity = {
            language: {
                term: math.log(1 + n_read / held[term])
                for term in set(analyzer(language)(question))
                if term in held
            }
            for language in {language_of(each.meta) for each in documents}
        }
        ranked = []
        nearness = self._nearness(question, documents)
        for place, (document, article) in enumerate(zip(documents, read, strict=True)):
            weighs = rarity[language_of(document.meta)]
            most = sum(weighs.values()) or 1.0
            words = np.array(
                [sum(weighs[term] for term in weighs.keys() & terms) for terms in article.terms]
            )
            near = nearness[place]
            log_rank = np.full(len(near), math.log(1 + place))
            features = [near, _above_others(near), _above_others(words / most), log_rank]
            logits = _INTERCEPT + _WEIGHTS @ np.stack([*features, *article.fixed])
            scores = 1 / (1 + np.exp(-logits))
            if (named := _named(document)) is not None:
                scores[article.provisions.index(named)] = 1.0
            best = np.argsort(-scores, kind="stable")[: self.top_k].tolist()
            passages = [_passage(document, article.provisions[n], n, scores[n]) for n in best]
            ranked.append(replace(document, meta={**document.meta, "passages": passages}))
        return {"documents": [*ranked, *others]}

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
        vectors = store.journal.vectors(record.biencoder_digest, set(chain(*digests)))
        cosines: dict[str, float] = {}
        if vectors:
            asked = self.loaded().question_vector(question).numpy()
            matrix = np.stack(list(vectors.values()))
            lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
            cosines = dict(zip(vectors, (matrix @ asked / lengths).tolist(), strict=True))
        return [np.array([cosines.get(digest, 0.0) for digest in own]) for own in digests]


def quoted(documents: Sequence[Document]) -> list[tuple[Document, dict[str, Any]]]:
    """The passages to quote: the best three of all, at most two of an article, best first.

    Args:
        documents: with the passages that `StatutePassageRanker` wrote.
    """
    passages = [
        (document, passage)
        for document in documents
        for passage in passages_of(document.meta).get("passages", [])[:_QUOTED_OF_ONE]
    ]
    return sorted(passages, key=lambda each: -each[1]["score"])[:_QUOTED]


def _above_others(values: NDArray[Any]) -> NDArray[np.float64]:
    """Each value minus the highest of the others; 0 for one alone."""
    if len(values) < 2:
        return np.zeros(len(values))
    second, first = np.sort(values)[-2:]
    others = np.where(values == first, second, first)
    difference: NDArray[np.float64] = np.asarray(values - others, dtype=np.float64)
    return difference


@lru_cache(maxsize=_MOST_TEXTS)
def _article_of(text: str, language: str | None) -> _Article:
    """The provisions of a text."""
    provisions = tuple(provisions_of(text))
    parts = [text[slice(*each.span)] for each in provisions]
    terms = analyzer(language)
    lengths = [math.log(1 + word_count(part)) for part in parts]
    notes = [float(excerpts.is_note(part)) for part in parts]
    fixed = np.array([lengths, notes])
    return _Article(provisions, tuple(frozenset(terms(part)) for part in parts), fixed)


@lru_cache(maxsize=_MOST_TEXTS)
def _digests_of(headings: tuple[str, ...], text: str, rule: TextRule) -> tuple[str, ...]:
    """Under what the vector of each provision of a text is kept."""
    return tuple(map(text_digest, provision_texts(headings, text, rule)))


@lru_cache(maxsize=_MOST_TEXTS)
def _with_exceptions(text: str, place: int, language: str | None) -> str:
    """The provision at a place of a text, with its exceptions."""
    spans = excerpts.quotation(text, provisions_of(text)[place], language)
    return excerpts.joined(text, spans)


def _named(document: Document) -> Provision | None:
    """The paragraph of an article that the question names."""
    if CITATION not in ranks_of(document.meta):
        return None
    return excerpts.provision_at(document.content or "", passages_of(document.meta).get("passage"))


def _passage(document: Document, provision: Provision, place: int, score: float) -> dict[str, Any]:
    start, end = provision.span
    return {
        "anchor": provision.anchor,
        "text": _with_exceptions(document.content or "", place, language_of(document.meta)),
        "start": start,
        "end": end,
        "score": round(float(score), 4),
        "complete": provision.is_whole,
    }
