"""index_corpus: a corpus into a store, in three passes that can be interrupted anywhere."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from components.retrievers.bm25 import StatuteBM25Retriever
from components.statutes.article import TextRule, articles_of_laws, counted
from components.statutes.corpus import StatuteCorpus
from components.stores.sqlite import StatuteDocumentStore
from pipelines.encoding import CorpusTexts, encode_unknown
from pipelines.enriching import LawEnricher
from pipelines.files import LoadingError
from pipelines.languages import say_unknown
from pipelines.merging import Merged, merge
from pipelines.model_choice import choose_graph, choose_model
from pipelines.publishing import publish_laws


@dataclass(frozen=True)
class IndexReport:
    """What a run did.

    Attributes:
        store: the store's file.
        articles: how many it now holds.
        laws: of how many laws, other files' among them.
        model: folder or name of the model, or None for text alone.
        encoded: texts encoded by this run, with a graph headings too; equal ones once.
        truncated: of these, how many were longer than the model reads.
        changed: documents written, changed, moved or removed.
        removed: articles that the store had and no longer has.
        removed_laws: laws that the store had and no longer has.
        left_out: lines of the corpus that are not in the store.
        seconds: how long it took.
        graph: nodes, edges and unresolved citations of the graph, where one is used, and under
            "laws_computed" how many laws' vectors this run made through it.
    """

    store: str
    articles: int
    laws: int
    model: str | None
    encoded: int
    truncated: int
    changed: int
    removed: int
    removed_laws: list[str]
    left_out: int
    seconds: float
    graph: dict[str, Any] | None = None

    def __str__(self) -> str:
        done = f"{self.encoded:,} texts encoded" if self.model else "text alone, no vectors"
        lines = [
            f"{self.store}: {articles_of_laws(self.articles, self.laws)}; {done}, "
            f"{self.changed:,} changes, {self.seconds:.1f} s"
        ]
        if self.graph:
            nodes, edges = (
                ", ".join(f"{count:,} {kind}" for kind, count in self.graph[part].items())
                for part in ("nodes", "edges")
            )
            laws = counted(self.graph["laws_computed"], "law")
            lines.append(
                f"vectors of {laws} computed through the graph; its nodes: {nodes}; its edges: "
                f"{edges}; citations that lead to no article: "
                f"{self.graph['unresolved_citations']:,}"
            )
        if self.truncated:
            lines.append(f"longer than the model reads, so cut: {self.truncated:,}")
        if self.left_out:
            lines.append(f"left out of the corpus: {self.left_out:,} (named above)")
        if self.removed:
            lines.append(f"articles removed, no longer in the corpus: {self.removed:,}")
        if self.removed_laws:
            lines.append(f"laws removed, no longer in the corpus: {', '.join(self.removed_laws)}")
        return "\n".join(lines)


def index_corpus(
    source: str | Path,
    store_path: str | Path,
    *,
    model: str | None = None,
    graph: bool = False,
    snapshot: date | None = None,
    skip_bad: bool = False,
    prune: bool = False,
    replace: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> IndexReport:
    """Index a corpus; run again after an interruption, it goes on where it stopped.

    A law that the store has is replaced, one that the corpus does not have stays.

    1. Scan: the whole corpus is read, and everything wrong with it said, before work starts.
    2. Encode: texts whose vectors are not known, in blocks that are journalled in the store.
    3. Publish: law by law, each in one transaction; then the BM25 index is built and kept. With a
       graph, each law's vectors are made of the journalled ones first, which stay in the store.

    Args:
        source: file, folder or name of a corpus.
        store_path: the store; made when it is not there.
        model: folder or name of a model, "none" for text alone, None to choose (`choose_model`).
        graph: put the articles' vectors through the model's graph network; a store that was
            indexed so goes on so.
        snapshot: day of which the law's text is; None where that is not known.
        skip_bad: leave out lines that cannot be read.
        prune: remove the laws that the corpus does not have; they are listed before.
        replace: allow a corpus to have fewer than half of the articles of a law in the store.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        LoadingError: the store's path ends as a folder's does.
        CorpusError: the corpus cannot be read; names every fault.
        StoreError: the store holds another model's vectors, the corpus has fewer than half of a
            law's articles, or the disk is full.
        ModelError: the model cannot be loaded, has no graph network where one is asked for, or
            gives vectors without a direction.
    """
    if str(store_path).endswith(("/", os.sep)):
        raise LoadingError(
            f"The store {store_path} names a folder, and a store is a file: name one in it, such "
            f"as {Path(store_path) / 'law.db'}."
        )
    start = time.perf_counter()
    corpus = StatuteCorpus.read(source, skip_bad=skip_bad)
    for problem in corpus.problems:
        say(str(problem))
    say_unknown(Counter(article.language for article in corpus), say)
    store = StatuteDocumentStore(str(store_path))
    try:
        merged = merge(corpus, source, store, prune=prune, replace=replace, say=say)
        # Before the store is made, so that a model that cannot be loaded leaves no empty one.
        chosen = choose_model(model, merged.corpus, store, say)
        over = choose_graph(graph, chosen, store, say)
        model_recorded = bool(merged.stored) and store.model is not None
        if chosen is None:
            # An interrupted run may have left a model on record, and no vectors of it.
            store.publisher.forget_model()
        elif over is None or not over.converts:
            store.publisher.record_model(over.record if over else chosen.record)
        enricher = LawEnricher(over, merged.corpus, store) if over else None
        rule: TextRule = chosen.record.text_rule if chosen else "headings_text"
        texts = enricher.texts if enricher else CorpusTexts(merged.corpus, rule)
        settled: set[str] = set()
        if chosen is None:
            settled = {each.id for places in merged.kept.values() for each in places}
        elif over is None:
            settled = merged.with_vectors(model_recorded=model_recorded)
        encoded = truncated = 0
        if chosen is not None:
            if over is not None and over.converts:
                store.journal.hold(chosen.record.digest, texts.article_digests)
            encoded, truncated = encode_unknown(texts, chosen, store, say, settled)
        changed = publish_laws(merged, texts.article_digests, settled, store, enricher, say)
        if over is not None:
            store.journal.keep_only(over.record.biencoder_digest, texts.digests)
        elif chosen is not None:
            store.journal.clear()
        say("Building the BM25 index")
        StatuteBM25Retriever(store).warm_up()
        day = _snapshot(snapshot, merged, store, say)
        store.publisher.record_corpus(merged.corpus.sha256, day)
        return IndexReport(
            store=str(store_path),
            articles=store.count_documents(),
            laws=len(merged.in_file) + len(merged.kept),
            model=chosen.record.path if chosen else None,
            encoded=encoded,
            truncated=truncated,
            changed=changed,
            removed=len(merged.stored.keys() - merged.positions.keys()),
            removed_laws=sorted(
                {each.law for each in merged.stored.values()} - merged.in_file - merged.kept.keys()
            ),
            left_out=corpus.left_out,
            seconds=round(time.perf_counter() - start, 2),
            graph=enricher.report() if enricher else None,
        )
    finally:
        store.close()


def _snapshot(
    day: date | None,
    merged: Merged,
    store: StatuteDocumentStore,
    say: Callable[[str], object],
) -> date | None:
    """The day of which the whole store's text is: the earliest, where laws are of several days."""
    if day is None or not merged.kept:
        return day
    recorded, _ = store.publisher.recorded_days()
    of_all = None if recorded is None else min(day, date.fromisoformat(recorded))
    if of_all != day:
        say(
            f"The other laws of {store.path} are of {recorded or 'a day that is not recorded'}, so "
            f"{day} is not recorded as the day of the text. To move it on, index all laws in one "
            "run."
        )
    return of_all
