"""StatuteConverter: files of law into documents."""

import io
from pathlib import Path
from typing import Any

from haystack import Document, component, logging
from haystack.components.converters.utils import normalize_metadata
from haystack.dataclasses import ByteStream

from components.converters.articles import LAW_ARTICLES, as_documents
from components.parameters import StatuteComponent
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.identity import DistinctLaws
from components.statutes.sources.reading import CorpusError, Problem

logger = logging.getLogger(__name__)

# Absent optional fields must not come back through the caller's meta as if the law had them.
_OF_ARTICLE = {*Article.__slots__, "position", LAW_ARTICLES} - {"id", "text"}


@component
class StatuteConverter(StatuteComponent):
    """Reads law in any of Lexarbor's formats as Haystack documents.

    ```python
    from components.converters.statutes import StatuteConverter

    StatuteConverter().run(["aldermere"])["documents"]
    ```

    A source is a native file (JSON lines, plain or gzipped) or a folder that holds one, a file of
    law in a published format or as text (docs/data.md) or a folder of such files, a folder of
    BSARD or SoICT tables, "aldermere" (the demo law), or a ByteStream of the native format.
    """

    def __init__(self, skip_bad: bool = False, format: str | None = None) -> None:
        """Keep the parameters.

        Args:
            skip_bad: leave out lines, and in a folder files of law, that cannot be read, each
                named in the log, in place of refusing the source.
            format: of every source that is a path, one of
                `components.statutes.sources.opening.FORMATS`; None to recognise it.
        """
        self.skip_bad = skip_bad
        self.format = format

    @component.output_types(documents=list[Document])
    def run(
        self,
        sources: list[str | Path | ByteStream],
        meta: dict[str, Any] | list[dict[str, Any]] | None = None,
    ) -> dict[str, list[Document]]:
        """Read sources.

        Args:
            sources: what to read, in the order of the law.
            meta: added to the documents of all sources, or one dictionary per source. A
                ByteStream's own meta is added too.

        Returns:
            `documents`: one per article, with its id. `meta`: law, number, headings, position
            (counted over these sources), law_articles (how many articles of its law these sources
            have), and language, valid_from, valid_to (ISO dates), source_url, law_id, law_names
            and jurisdiction where the source has them. A StatuteDocumentStore replaces position and
            law_articles by its own when it writes them, and law where another law has its title.

        Raises:
            CorpusError: anything is wrong with a source, or two sources have an id in common;
                names file, line, field and repair.
            TypeError: `sources` is not a list.
            ValueError: `meta` holds a field of the articles themselves, or its length differs.
        """
        # A string would be read as a list of its letters.
        if not isinstance(sources, list | tuple):
            raise TypeError("StatuteConverter.sources must be a list. Put brackets around one.")
        articles: dict[str, tuple[Article, dict[str, Any]]] = {}
        laws = DistinctLaws()
        for source, added in zip(sources, normalize_metadata(meta, len(sources)), strict=True):
            name = _name(source)
            if isinstance(source, ByteStream):
                added = {**source.meta, **added}
            taken = sorted(_OF_ARTICLE & added.keys())
            if taken:
                raise ValueError(
                    f"StatuteConverter.meta for {name} holds the articles' {taken[0]!r}."
                )
            corpus = StatuteCorpus.read(
                _opened(source, name), skip_bad=self.skip_bad, format=self.format, laws=laws
            )
            for problem in corpus.problems:
                logger.warning("{problem}", problem=str(problem))
            for article in corpus:
                if article.id in articles:
                    message = f"{article.id!r} is already the id of an article of an earlier source"
                    repair = "Give each source once, and its own ids."
                    raise CorpusError([Problem(name, None, "id", message, repair)])
                articles[article.id] = (article, added)
        return {"documents": as_documents(articles.values())}


def _name(source: str | Path | ByteStream) -> str:
    if not isinstance(source, ByteStream):
        return str(source)
    named = source.meta.get("file_path") or source.meta.get("file_name")
    return str(named or "<ByteStream>")


def _opened(source: str | Path | ByteStream, name: str) -> Any:
    if not isinstance(source, ByteStream):
        return source
    file = io.BytesIO(source.data)
    # Messages name an open file by its own name.
    file.name = name
    return file
