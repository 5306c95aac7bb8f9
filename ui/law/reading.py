"""Reading: what stands where in a store, read once for a version of its content."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from haystack import Document

from components.converters.articles import article_of
from components.retrievers.resident import ReadableStore
from components.statutes.article import Article
from components.statutes.graph import cross_references
from components.statutes.tree import ROOT
from pipelines.tree_view.layout import Citations, LawStructure, Neighbourhood, neighbourhood_in
from pipelines.tree_view.picture import window

_BLOCK = 500  # documents that are in memory at a time


class Law:
    """The articles of a store in their places, without their texts.

    Documents without a law stand nowhere and are not in it.

    Attributes:
        articles: In the store's order, with `text` empty.
        structure: Their tree.
        position_of: Position of each article, by its id.
        citations: Who cites whom; None until the texts are read.
        unread: Whether the citations could not be read, and will stay None.
    """

    def __init__(self, store: ReadableStore) -> None:
        """Reads where every article stands.

        Args:
            store: What is read, now and whenever texts are asked for.

        Raises:
            StoreError: It cannot be read.
        """
        self._store = store
        self._keys: list[int] = []
        self.articles: list[Article] = []
        headings: dict[tuple[str, ...], tuple[str, ...]] = {}
        laws: dict[str, str] = {}
        for key, document in _every(store):
            article = article_of(document)
            if not article.law.strip():
                continue
            # Articles of one division share its name in memory.
            place = headings.setdefault(article.headings, article.headings)
            law = laws.setdefault(article.law, article.law)
            self.articles.append(replace(article, law=law, headings=place, text=""))
            self._keys.append(key)
        self.structure = LawStructure(self.articles)
        self.position_of = {article.id: place for place, article in enumerate(self.articles)}
        tree = self.structure.tree
        self._inner_by_label = {
            (int(tree.parent[node]), tree.label[node]): node
            for node in range(1, tree.n_nodes - tree.n_articles)
        }
        self.citations: Citations | None = None
        self.unread = False

    def position_at(self, node: int) -> int | None:
        """Position of the article at a node of the tree; None for a law or a division."""
        tree = self.structure.tree
        inner = tree.n_nodes - tree.n_articles
        return node - inner if node >= inner else None

    def way_to(self, node: int) -> tuple[str, list[str]]:
        """The law of a node and the headings down to it; ("", []) for the root.

        Of an article, the headings above it and its number.
        """
        tree = self.structure.tree
        labels = [tree.label[each] for each in tree.ancestors[node] if each > ROOT]
        return (labels[0], labels[1:]) if labels else ("", [])

    def find(self, law: str, headings: Sequence[str]) -> tuple[int | None, int]:
        """The node of a law or a division, or as far as the way to it can be gone.

        Args:
            law: Its title.
            headings: From the top of the law down.

        Returns:
            The last node that is there (None: not even the law), and how many headings led to it.
        """
        inner = self._inner_by_label
        node = inner.get((ROOT, law))
        if node is None:
            return None, 0
        for level, heading in enumerate(headings):
            below = inner.get((node, heading))
            if below is None:
                return node, level
            node = below
        return node, len(headings)

    def page_of(self, position: int, size: int) -> int:
        """The page, from 1, on which an article stands in a list of what is right below its
        division.

        Args:
            position: Of the article.
            size: Entries of a page.
        """
        tree = self.structure.tree
        node = int(tree.article_node[position])
        return tree.children(int(tree.parent[node])).index(node) // size + 1

    def language_of(self, node: int) -> str | None:
        """The language of the first article in a law or division; None for the root."""
        if node == ROOT:
            return None
        position = self.position_at(node)
        while position is None:
            node = self.structure.tree.children(node)[0]
            position = self.position_at(node)
        return self.articles[position].language

    def neighbourhood(self, position: int, citations: int) -> Neighbourhood:
        """An article in its place, with the texts of what is shown around it.

        Args:
            position: Of the article.
            citations: How many articles that it cites, and that cite it, are shown.

        Raises:
            StoreError: The store cannot be read.
        """
        known = self.citations
        siblings = self.structure.siblings(position)
        first, last = window(len(siblings), siblings.index(position))
        shown = {position, *siblings[first:last]}
        tree = self.structure.tree
        shown.update(
            each for each in (tree.previous(position), tree.next(position)) if each is not None
        )
        if known:
            shown.update(known.cited_in(position)[:citations])
            shown.update(known.citing(position)[:citations])
        texts = self.with_texts(sorted(shown))
        return neighbourhood_in(
            self.structure, known, position, lambda each: texts.get(each, self.articles[each])
        )

    def with_texts(self, positions: Sequence[int]) -> dict[int, Article]:
        """Articles with their texts, by position; one that is gone since has none.

        Raises:
            StoreError: The store cannot be read.
        """
        documents = self._store.fetch([self._keys[position] for position in positions])
        texts = {document.id: document.content or "" for document in documents}
        return {
            position: replace(article, text=texts.get(article.id, ""))
            for position in positions
            for article in [self.articles[position]]
        }

    def read_citations(self, stop: threading.Event) -> None:
        """Read the citations in every text.

        Args:
            stop: Ends the reading early when it is set.

        Raises:
            StoreError: The store cannot be read.
        """
        try:
            references = cross_references(self.articles, self._texts(stop))
        except _StoppedError:
            return
        except BaseException:
            self.unread = True
            raise
        self.citations = Citations(references, len(self.articles))

    def _texts(self, stop: threading.Event) -> Iterator[Article]:
        for start in range(0, len(self.articles), _BLOCK):
            block = range(start, min(start + _BLOCK, len(self.articles)))
            for article in self.with_texts(block).values():
                if stop.is_set():
                    raise _StoppedError
                yield article
                # Others who want to run now do: this can wait.
                time.sleep(0)


class _StoppedError(Exception):
    """The reading was ended early."""


def _every(store: ReadableStore) -> Iterator[tuple[int, Document]]:
    """Every document with its key, in the store's order."""
    keys = [int(key) for key in store.keys_matching(None)]
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        documents = store.fetch(block)
        if len(documents) == len(block):
            yield from zip(block, documents, strict=True)
        else:
            # Some were deleted since: one by one it is known which.
            for key in block:
                yield from ((key, document) for document in store.fetch([key]))
