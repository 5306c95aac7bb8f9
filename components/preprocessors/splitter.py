"""StatuteSplitter: documents of running text into one document an article."""

from typing import Any

from haystack import Document, component

from components.converters.articles import as_documents
from components.parameters import StatuteComponent
from components.statutes.article import Article
from components.statutes.sources.check import ReadingCheck
from components.statutes.sources.plain import read_text
from components.statutes.sources.reading import CorpusError, Problem

# What a document may say of its law; every other field of its meta goes to each article.
_OF_THE_LAW = ("law", "language", "source_url")


@component
class StatuteSplitter(StatuteComponent):
    r"""Cuts law as running text into its articles, for the text of any of Haystack's converters.

    ```python
    from haystack import Document
    from components.preprocessors.splitter import StatuteSplitter

    text = "Boats Act\n\nSection 1 Scope\nThis Act applies to boats.\n\nSection 2 Oars\nKeep two."
    StatuteSplitter().run([Document(content=text)])["documents"]
    ```

    A form feed in the text begins a page, and "# " at the start of a line marks a heading. The
    numbers that run through the text say what its articles are, in any language of the unit
    tables; contents, page headers and notes are kept apart (docs/data.md).
    """

    def __init__(
        self,
        law: str | None = None,
        language: str | None = None,
        as_paragraphs: bool = False,
    ) -> None:
        """Keep the parameters.

        Args:
            law: name of the law of documents whose meta has no `law`; None to take it from their
                first lines.
            language: BCP 47 tag of documents whose meta has no `language`; None to detect it.
            as_paragraphs: cut into paragraphs instead, numbered "1", "2" ... as they come, without
                headings: for text that has no articles.
        """
        self.law = law
        self.language = language
        self.as_paragraphs = as_paragraphs

    @component.output_types(documents=list[Document], report=list[str])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Cut documents into articles.

        Args:
            documents: a law each. Their meta may name `law`, `language` and `source_url`; its
                `file_path` begins the articles' ids.

        Returns:
            `documents`: one per article, in order, with the meta that a StatuteConverter gives and
            that of the document. `report`: what was read of each law, what was kept apart and what
            is doubtful, in sentences with line or page.

        Raises:
            CorpusError: a document has no articles, or two of them give the same id.
        """
        articles: dict[str, tuple[Article, dict[str, Any]]] = {}
        problems: list[Problem] = []
        report: list[str] = []
        for document in documents:
            check = ReadingCheck()
            meta = dict(document.meta)
            of_law = {name: meta.pop(name, None) for name in _OF_THE_LAW}
            name = str(meta.get("file_path") or of_law["law"] or document.id)
            read = read_text(
                document.content or "",
                name,
                law=of_law["law"] or self.law,
                language=of_law["language"] or self.language,
                source_url=of_law["source_url"],
                as_paragraphs=self.as_paragraphs,
                problems=problems,
            )
            for place, article in check.watch(read, problems):
                if article.id in articles:
                    message = f"{article.id!r} is already the id of another document's article"
                    repair = "Give each document a file_path, or a law, of its own."
                    raise CorpusError([place.problem(message, repair, "id")])
                articles[article.id] = (article, meta)
            report += map(str, check.laws)
        if faults := [problem for problem in problems if not problem.notice]:
            raise CorpusError(faults)
        report += map(str, problems)
        return {"documents": as_documents(articles.values()), "report": report}
