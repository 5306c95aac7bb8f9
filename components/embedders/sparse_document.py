"""StatuteSparseDocumentEmbedder: an article's terms as a sparse vector."""

import math
from dataclasses import replace
from typing import Literal, get_args

from haystack import Document, component
from haystack.dataclasses import SparseEmbedding

from components.converters.articles import headings_of, language_of
from components.parameters import StatuteComponent, check_documents, check_number
from components.statutes.article import indexed_text
from components.statutes.lexical import saturated, term_counts

_Weighting = Literal["bm25", "count"]


@component
class StatuteSparseDocumentEmbedder(StatuteComponent):
    """Turns articles into weighted terms, for an engine that searches words.

    ```python
    from haystack import Document

    from components.embedders.sparse_document import StatuteSparseDocumentEmbedder

    embedder = StatuteSparseDocumentEmbedder(average_length=75.0)
    article = Document(id="12", content="The landlord shall ...", meta={"language": "en"})
    embedder.run([article])["documents"][0].sparse_embedding
    ```

    Headings and text are analysed by the rules of `meta.language`. With the weighting "bm25" a
    term's weight is `tf / (tf + k1 * (1 - b + b * |d| / average_length))` (k1 1.5, b 0.75): in an
    engine that weighs the terms of a question by their IDF, such as Qdrant, the product is BM25.
    With "count" it is `tf`, for an engine that computes BM25 itself, such as Milvus.
    """

    def __init__(self, average_length: float = 100.0, weighting: _Weighting = "bm25") -> None:
        """Keep the parameters.

        Args:
            average_length: mean number of terms of the corpus's articles, above 0; the same for all
                articles of an index.
            weighting: what the vectors hold.

        Raises:
            ValueError: `average_length` is not above 0, or `weighting` is unknown.
        """
        check_number(
            "StatuteSparseDocumentEmbedder.average_length",
            average_length,
            lambda length: 0 < length < math.inf,
            "above 0",
        )
        if weighting not in get_args(_Weighting):
            raise ValueError(
                f"StatuteSparseDocumentEmbedder.weighting is not 'bm25' or 'count': {weighting!r}."
            )
        self.average_length = average_length
        self.weighting = weighting

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Embed articles.

        Args:
            documents: with content; `meta.headings` are the divisions above each.

        Returns:
            `documents`: new ones with `sparse_embedding`, the terms' numbers ascending.

        Raises:
            TypeError: `documents` is not a list of Documents.
            ValueError: a document has no content; names it.
        """
        check_documents("StatuteSparseDocumentEmbedder", documents)
        return {
            "documents": [
                replace(document, sparse_embedding=self._embedded(document))
                for document in documents
            ]
        }

    def _embedded(self, document: Document) -> SparseEmbedding:
        text = indexed_text(headings_of(document.meta), document.content or "")
        counts = term_counts(text, language_of(document.meta))
        if self.weighting == "count":
            return SparseEmbedding(list(counts), [float(count) for count in counts.values()])
        weights = saturated(counts, self.average_length)
        return SparseEmbedding(list(weights), list(weights.values()))
