"""StatuteSparseDocumentEmbedder: an article's terms as a sparse vector."""

import math
from dataclasses import replace

from haystack import Document, component
from haystack.dataclasses import SparseEmbedding

from components.converters.articles import headings_of, language_of
from components.parameters import StatuteComponent, check_documents, check_number
from components.statutes.article import indexed_text
from components.statutes.lexical import saturated, term_counts


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

    Headings and text are analysed by the rules of `meta.language`. A term's weight is
    `tf / (tf + k1 * (1 - b + b * |d| / average_length))` (k1 1.5, b 0.75): in an engine that weighs
    the terms of a question by their IDF, such as Qdrant, the product is BM25.
    """

    def __init__(self, average_length: float = 100.0) -> None:
        """Keep the parameter.

        Args:
            average_length: mean number of terms of the corpus's articles, above 0; the same for all
                articles of an index.

        Raises:
            ValueError: `average_length` is not above 0.
        """
        check_number(
            "StatuteSparseDocumentEmbedder.average_length",
            average_length,
            lambda length: 0 < length < math.inf,
            "above 0",
        )
        self.average_length = average_length

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
        weights = saturated(counts, self.average_length)
        return SparseEmbedding(list(weights), list(weights.values()))
