"""index_corpus: a corpus into a store, in three passes that can be interrupted anywhere."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
from haystack import Document
from tqdm import tqdm

from components.converters.statutes import as_document
from components.models.errors import ModelError
from components.retrievers.bm25 import StatuteBM25Retriever
from components.statutes.article import TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.stores.database import StoreError
from components.stores.publishing import Published
from components.stores.sqlite import StatuteDocumentStore
from pipelines.model_choice import ChosenModel, choose_model

# Texts encoded between two writes to the journal: a kill costs at most one block, some seconds.
_BLOCK = {"cpu": 256}
_BLOCK_ON_ACCELERATORS = 4_096


@dataclass(frozen=True)
class IndexReport:
    """What a run did.

    Attributes:
        store: the store's file.
        articles: how many it now holds.
        laws: of how many laws.
        model: folder or name of the model, or None for text alone.
        encoded: texts encoded by this run; equal texts are encoded once.
        truncated: of these, how many were longer than the model reads.
        changed: documents written, changed or removed.
        removed_laws: laws that the corpus no longer has.
        left_out: lines of the corpus that are not in the store.
        seconds: how long it took.
    """

    store: str
    articles: int
    laws: int
    model: str | None
    encoded: int
    truncated: int
    changed: int
    removed_laws: list[str]
    left_out: int
    seconds: float

    def __str__(self) -> str:
        done = f"{self.encoded:,} texts encoded" if self.model else "text alone, no vectors"
        lines = [
            f"{self.store}: {self.articles:,} articles of {self.laws:,} laws; {done}, "
            f"{self.changed:,} changes, {self.seconds:.1f} s"
        ]
        if self.truncated:
            lines.append(f"longer than the model reads, so cut: {self.truncated:,}")
        if self.left_out:
            lines.append(f"left out of the corpus: {self.left_out:,} (named above)")
        if self.removed_laws:
            lines.append(f"removed, no longer in the corpus: {', '.join(self.removed_laws)}")
        return "\n".join(lines)


def index_corpus(
    source: str | Path,
    store_path: str | Path,
    *,
    model: str | None = None,
    skip_bad: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> IndexReport:
    """Index a corpus; run again after an interruption, it goes on where it stopped.

    1. Scan: the whole corpus is read, and everything wrong with it said, before work starts.
    2. Encode: texts whose vectors are not known, in blocks that are journalled in the store.
    3. Publish: law by law, each in one transaction; then the BM25 index is built and kept.

    Args:
        source: file, folder or name of a corpus.
        store_path: the store; made when it is not there.
        model: folder or name of a model, "none" for text alone, None to choose (`choose_model`).
        skip_bad: leave out lines that cannot be read.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        CorpusError: the corpus cannot be read; names every fault.
        StoreError: the store holds another model's vectors or another corpus, or the disk is full.
        ModelError: the model cannot be loaded, or gives vectors without a direction.
    """
    start = time.perf_counter()
    corpus = StatuteCorpus.read(source, skip_bad=skip_bad)
    for problem in corpus.problems:
        say(str(problem))
    unnamed = sum(article.language is None for article in corpus)
    if unnamed:
        say(
            f"Articles that name no language: {unnamed:,}. Their words are matched as they stand, "
            "without stems or stop words. Give each a 'language', such as \"en\"."
        )
    store = StatuteDocumentStore(str(store_path))
    try:
        chosen = choose_model(model, corpus, store, say)
        rule: TextRule = "headings_text"
        if chosen is None:
            # An interrupted run may have left a model on record, and no vectors of it.
            store.publisher.forget_model()
        else:
            rule = chosen.record.text_rule
            store.publisher.record_model(chosen.record)
        digests = [_digest(text) for text in _texts(corpus, rule)]
        stored = store.publisher.published()
        _check_same_corpus(corpus, digests, stored, store)
        encoded = truncated = 0
        if chosen is not None:
            encoded, truncated = _encode(corpus, digests, chosen, store, say)
        changed = _publish(corpus, digests, stored, store, say)
        if chosen is not None:
            store.publisher.clear_journal()
        say("Building the BM25 index")
        StatuteBM25Retriever(store).warm_up()
        store.publisher.record_corpus(corpus.sha256)
        return IndexReport(
            store=str(store_path),
            articles=store.count_documents(),
            laws=len(corpus.laws),
            model=chosen.record.path if chosen else None,
            encoded=encoded,
            truncated=truncated,
            changed=changed,
            removed_laws=sorted({each.law for each in stored.values()} - set(corpus.laws)),
            left_out=corpus.left_out,
            seconds=round(time.perf_counter() - start, 2),
        )
    finally:
        store.close()


def _texts(corpus: StatuteCorpus, rule: TextRule) -> Iterator[str]:
    return (indexed_text(article.headings, article.text, rule) for article in corpus)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _check_same_corpus(
    corpus: StatuteCorpus,
    digests: Sequence[str],
    stored: Mapping[str, Published],
    store: StatuteDocumentStore,
) -> None:
    """A store keeps one corpus: what the corpus lacks is removed, so a wrong name costs a store."""
    laws = {each.law for each in stored.values()}
    if not stored or not laws.isdisjoint(corpus.laws):
        return
    known = {each.text_digest for each in stored.values()}
    if known.isdisjoint(digests):
        raise StoreError(
            f"{store.path} holds another corpus ({len(stored):,} articles of "
            f"{', '.join(sorted(laws)[:3])}{' ...' if len(laws) > 3 else ''}), and nothing of this "
            "one. Name a new store, or delete that one first."
        )


def _encode(
    corpus: StatuteCorpus,
    digests: Sequence[str],
    model: ChosenModel,
    store: StatuteDocumentStore,
    say: Callable[[str], object],
) -> tuple[int, int]:
    """Journal the vectors that are not known; how many were encoded, and how many cut."""
    known = store.publisher.known_digests(model.record.digest)
    first: dict[str, int] = {}
    for position, digest in enumerate(digests):
        first.setdefault(digest, position)
    todo = [position for digest, position in first.items() if digest not in known]
    if not todo:
        return 0, 0
    say(f"Encoding {len(todo):,} texts ({len(corpus) - len(todo):,} known or alike)")
    rule = model.record.text_rule
    size = _BLOCK.get(model.encoder.device.type, _BLOCK_ON_ACCELERATORS)
    truncated = 0
    with tqdm(total=len(todo), desc="Encoding", unit="text", disable=None) as bar:

        def advance(done: int) -> None:
            bar.update(done)

        for start in range(0, len(todo), size):
            block = todo[start : start + size]
            articles = [corpus[position] for position in block]
            vectors, report = model.encoder.encode_articles_report(
                [indexed_text(each.headings, each.text, rule) for each in articles],
                progress=advance,
            )
            matrix = vectors.numpy()
            usable = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)
            if not usable.all():
                faulty = articles[int(usable.argmin())]
                raise ModelError(
                    f"{model.record.path} gives NaN or zeros for article '{faulty.id}' of "
                    f"{faulty.law}. Use another model, or take the article out."
                )
            truncated += report.n_cut
            store.publisher.journal(
                model.record.digest,
                {digests[place]: vector for place, vector in zip(block, matrix, strict=True)},
            )
    return len(todo), truncated


def _publish(
    corpus: StatuteCorpus,
    digests: Sequence[str],
    stored: Mapping[str, Published],
    store: StatuteDocumentStore,
    say: Callable[[str], object],
) -> int:
    """Publish law by law; how many documents changed."""
    model = store.model
    if model is not None:
        published = {each.text_digest for each in stored.values() if each.has_vector}
        moving = {
            digest
            for article, digest in zip(corpus, digests, strict=True)
            if digest in published
            and stored.get(article.id) != Published(article.law, digest, has_vector=True)
        }
        store.publisher.hold(model.digest, moving)
    laws = set(corpus.laws)
    say(f"Publishing {len(corpus.laws):,} laws")
    changed = 0
    for group in tqdm(_together(corpus, stored), desc="Publishing", unit="law", disable=None):
        changed += store.publisher.publish(
            {law: _documents(corpus, digests, law) if law in laws else [] for law in group}
        )
    return changed


def _documents(
    corpus: StatuteCorpus, digests: Sequence[str], law: str
) -> list[tuple[Document, str]]:
    return [
        (as_document(corpus[position], position), digests[position])
        for position in corpus.positions_of(law).tolist()
    ]


def _together(corpus: StatuteCorpus, stored: Mapping[str, Published]) -> list[list[str]]:
    """Laws old and new, grouped so that an article moves between laws in one transaction."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(corpus.laws)
    graph.add_nodes_from(each.law for each in stored.values())
    graph.add_edges_from(
        (stored[article.id].law, article.law) for article in corpus if article.id in stored
    )
    return [sorted(group) for group in nx.connected_components(graph)]
