"""StatuteSparseTextEmbedder: a question's terms as a sparse vector."""

import re
from collections.abc import Sequence

from haystack import component
from haystack.dataclasses import SparseEmbedding

from components.parameters import StatuteComponent
from components.statutes.lexical import question_numbers
from components.statutes.question import clean_question

_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")


@component
class StatuteSparseTextEmbedder(StatuteComponent):
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
            languages: of the articles; the question is analysed by the rules of each; null among
                them means the neutral rules. None only serves as a place to fill in YAML
                (`load_pipeline` puts the languages of the index there), and means the neutral rules
                alone.

        Raises:
            ValueError: one is not a BCP 47 tag, such as the name of a language.
        """
        for each in languages or ():
            if each is not None and not _TAG.fullmatch(str(each)):
                raise ValueError(
                    'StatuteSparseTextEmbedder.languages must be BCP 47 tags such as "en", or null '
                    f"for the neutral rules, got {each!r}."
                )
        self.languages = languages

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
