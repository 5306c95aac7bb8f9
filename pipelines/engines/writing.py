"""LawWriter: what changed of each law, encoded in blocks and written into an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.statutes.article import Article, TextRule, indexed_text
from components.stores.engines.base import LAW, ArticleEngine, EngineRecord, Listed, as_row
from components.stores.journal import text_digest
from pipelines.encoding import block_size
from pipelines.engines.scan import LawSpool, as_article
from pipelines.model_choice import ChosenModel
from pipelines.usable_vectors import ANOTHER_MODEL, check_usable

_DOCUMENTS_AT_ONCE = 100
_REMOVED_AT_ONCE = 1_000


@dataclass(frozen=True)
class _Changed:
    """An article to write.

    Attributes:
        document: with the metadata of its row.
        listed: text digest of what the engine has of it under its law; None where it has nothing.
    """

    document: Document
    listed: str | None


@dataclass(frozen=True)
class _Law:
    """A law whose articles are all written or waiting, and what makes it done."""

    name: str
    digest: str
    articles: int
    stale: Sequence[str]


class LawWriter:
    """Brings laws in an engine up to date.

    A law is marked as unfinished before its first write and as done, with the digest of all its
    articles, after its last: a run that is repeated passes over what is done without looking at
    its articles, and asks the engine about the others what it has.

    Args:
        engine: where the articles go.
        model: encodes them; loaded when the first text must be.
        record: what the collection is indexed with.
        after: how many articles there are, where laws stay that the corpus does not have: then a
            law keeps its places, and a new one comes after all. None where positions are the
            corpus's.

    Attributes:
        encoded: texts encoded.
        truncated: of these, how many were longer than the model reads.
        written: articles written.
        words_cut: of these, how many have more terms than the engine takes.
        removed: articles removed from laws that go on.
    """

    def __init__(
        self,
        engine: ArticleEngine,
        model: ChosenModel,
        record: EngineRecord,
        after: int | None,
    ) -> None:
        self.encoded = self.truncated = self.written = self.words_cut = self.removed = 0
        self._engine = engine
        self._model = model
        self._after = after
        self._sparse = StatuteSparseDocumentEmbedder(record.average_length, engine.weighting)
        self._waiting: list[_Changed] = []
        self._laws: list[_Law] = []
        self._with_stale: list[_Law] = []

    def write(self, spool: LawSpool, changed: Mapping[str, str]) -> None:
        """Write the laws of a spool that are not as they should be.

        Args:
            spool: the articles.
            changed: the digest of each of these laws, as `changed_laws` gives it.

        Raises:
            ModelError: the model cannot be loaded, or gives vectors without a direction.
            StoreError: the engine does not answer.
        """
        for law, digest in tqdm(changed.items(), desc="Indexing", unit="law", disable=None):
            self._change(spool, law, digest)
        self._flush()
        # Not before all are written: what is gone from one law may have moved to another, which
        # takes its vector along.
        for each in self._with_stale:
            for start in range(0, len(each.stale), _REMOVED_AT_ONCE):
                self._engine.remove(each.name, each.stale[start : start + _REMOVED_AT_ONCE])
            self.removed += len(each.stale)
            self._mark(each)

    def _change(self, spool: LawSpool, law: str, digest: str) -> None:
        present = self._engine.listed(law)
        unfinished = {"digest": "", "articles": max(len(present), spool.count(law))}
        self._engine.put_state(LAW, law, unfinished)
        positions = self._positions(spool, law, present.values())
        for position, (_, line) in zip(positions, spool.lines(law), strict=False):
            article = as_article(line)
            document = as_document(article, position)
            row = as_row(document, text_digest_of(article, self._model.record.text_rule))
            kept = present.pop(document.id, None)
            if kept and (kept.text_digest, kept.row_digest) == (
                row["text_digest"],
                row["row_digest"],
            ):
                continue
            listed = None if kept is None else kept.text_digest
            self._waiting.append(_Changed(replace(document, meta=row), listed))
            if len(self._waiting) >= block_size(self._model):
                self._flush()
        self._laws.append(_Law(law, digest, spool.count(law), list(present)))
        if not self._waiting:
            self._flush()

    def _positions(self, spool: LawSpool, law: str, present: Iterable[Listed]) -> Iterator[int]:
        """Positions of a law's articles: its own where it stays among others, and those behind."""
        if self._after is None:
            yield from (position for position, _ in spool.lines(law))
            return
        places = sorted(each.position for each in present)
        if not places:
            yield from (self._after + position for position, _ in spool.lines(law))
            return
        yield from places
        yield from count(places[-1] + 1)

    def _flush(self) -> None:
        """Encode and write what waits, then mark the laws that are as they should be by it."""
        embedded = self._embedded(self._waiting)
        for start in range(0, len(embedded), _DOCUMENTS_AT_ONCE):
            batch = embedded[start : start + _DOCUMENTS_AT_ONCE]
            self._engine.write(batch)
            self.written += len(batch)
        self._waiting = []
        for law in self._laws:
            if law.stale:
                self._with_stale.append(law)
            else:
                self._mark(law)
        self._laws = []

    def _mark(self, law: _Law) -> None:
        done = {"digest": law.digest, "articles": law.articles}
        self._engine.put_state(LAW, law.name, done)

    def _embedded(self, changed: Sequence[_Changed]) -> list[Document]:
        documents = [each.document for each in changed]
        # What is not under its law may be there under another: the law's old name, or the law that
        # it stood in.
        held = self._engine.text_digests([each.document.id for each in changed if not each.listed])
        held |= {each.document.id: each.listed for each in changed if each.listed}
        known = self._engine.vectors(
            [each.id for each in documents if held.get(each.id) == each.meta["text_digest"]]
        )
        rule = self._model.record.text_rule
        texts = {
            each.id: indexed_text(each.meta["headings"], each.content or "", rule)
            for each in documents
            if each.id not in known
        }
        vectors = known | self._encoded(texts)
        embedded = self._sparse.run(documents)["documents"] if documents else []
        most = self._engine.most_terms
        if most is not None:
            self.words_cut += sum(_terms(each) > most for each in embedded)
        return [replace(each, embedding=vectors[each.id]) for each in embedded]

    def _encoded(self, texts: dict[str, str]) -> dict[str, list[float]]:
        """Vectors by article id; equal texts are encoded once."""
        distinct = list(dict.fromkeys(texts.values()))
        if not distinct:
            return {}
        vectors, report = self._model.encoder.encode_articles_report(distinct)
        matrix = vectors.numpy()

        def name(row: int) -> str:
            return next(f"article '{id_}'" for id_, text in texts.items() if text == distinct[row])

        check_usable(matrix, self._model.record.path, name, ANOTHER_MODEL)
        self.encoded += len(distinct)
        self.truncated += report.n_cut
        rows = dict(zip(distinct, matrix.tolist(), strict=True))
        return {id_: rows[text] for id_, text in texts.items()}


def text_digest_of(article: Article, rule: TextRule) -> str:
    """Digest of the text that an article's vector stands for, as an engine keeps it."""
    return text_digest(indexed_text(article.headings, article.text, rule))[:32]


def _terms(document: Document) -> float:
    return sum(document.sparse_embedding.values) if document.sparse_embedding else 0.0
