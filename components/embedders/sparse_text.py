"""StatuteSparseTextEmbedder: a question's terms as a sparse vector."""

import asyncio
from collections.abc import Sequence
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import SparseEmbedding

from components.statutes.lexical import question_numbers
from components.statutes.question import clean_question


@component
class StatuteSparseTextEmbedder:
    """Turns a question into its terms, each with weight 1, for an engine that searches words.

    ```python
    from components.embedders.sparse_text import StatuteSparseTextEmbedder

    embedder = StatuteSparseTextEmbedder(languages=["en"])
    embedder.run("May a fund manager delegate its duties?")["sparse_embedding"]
    ```

    Terms are those of `StatuteSparseDocumentEmbedder`: each language's stems without its stop
    words. A term that the question repeats counts once.
    """

    def __init__(self, languages: list[str | None] | None = None) -> None:
        """Keep the parameter.

        Args:
            languages: of the articles; the question is analysed by the rules of each, and a null
                among them stands for the neutral rules. None only serves as a place to fill in
                YAML (`load_pipeline` puts the languages of the index there), and means the neutral
                rules alone.
        """
        self.languages = languages

    def to_dict(self) -> dict[str, Any]:
        """Serialise the parameter."""
        return default_to_dict(self, languages=self.languages)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StatuteSparseTextEmbedder":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(sparse_embedding=SparseEmbedding)
    def run(self, text: str) -> dict[str, SparseEmbedding]:
        """Embed a question.

        Args:
            text: the question.

        Returns:
            `sparse_embedding`: the terms' numbers, ascending, each with the value 1.

        Raises:
            QuestionError: the question is empty or too long.
        """
        languages: Sequence[str | None] = self.languages or [None]
        terms = question_numbers(clean_question(text), languages)
        return {"sparse_embedding": SparseEmbedding(terms, [1.0] * len(terms))}

    @component.output_types(sparse_embedding=SparseEmbedding)
    async def run_async(self, text: str) -> dict[str, SparseEmbedding]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, text)
