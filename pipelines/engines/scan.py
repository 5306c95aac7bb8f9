"""The first pass of indexing into an engine: the corpus, read once and kept law by law on disk."""

from __future__ import annotations

import hashlib
import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from components.statutes.article import Article, indexed_text
from components.statutes.corpus import canonical_line, iter_articles
from components.statutes.lexical import analyzer
from components.statutes.sources.records import Problem


@dataclass(frozen=True)
class Shard:
    """One of several processes that index a corpus together, from 1; each has its own laws."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, law: str) -> bool:
        """Whether a law is this shard's; the same on every machine."""
        digest = blake2b(law.encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


@dataclass
class Scan:
    """What a reading of the corpus found.

    Attributes:
        sha256: digest of the articles' content and order, as `StatuteCorpus.sha256`.
        articles: how many there are.
        laws: all laws of the corpus, by first appearance.
        languages: how many articles are in each.
        average_length: mean number of terms; None where it was not asked for.
        left_out: lines that are not among the articles.
    """

    sha256: str = ""
    articles: int = 0
    laws: dict[str, None] = field(default_factory=dict)
    languages: Counter[str | None] = field(default_factory=Counter)
    average_length: float | None = None
    left_out: int = 0


class LawSpool:
    """The articles of a shard on disk, to be read law by law.

    A law's articles need not stand together in the corpus. In memory is one number an article.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="lexarbor-")  # noqa: SIM115
        self._offsets: dict[str, array[int]] = {}

    def __enter__(self) -> LawSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def laws(self) -> list[str]:
        """The shard's laws, by first appearance."""
        return list(self._offsets)

    def count(self, law: str) -> int:
        """Number of articles of a law."""
        return len(self._offsets[law])

    def add(self, position: int, line: bytes, law: str) -> None:
        """Keep one article, as `canonical_line` writes it."""
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
    say: Callable[[str], object],
) -> Scan:
    """Read the whole corpus once, and keep the shard's articles.

    Args:
        source: file, folder or name of a corpus.
        spool: gets the articles of the shard's laws.
        shard: which laws those are.
        measure: whether to count the terms of every article, for the average length.
        skip_bad: leave out lines that cannot be read.
        say: takes lines for the user.

    Raises:
        CorpusError: the corpus cannot be read; names every fault. Nothing has been done then.
    """
    found = Scan()
    problems: list[Problem] = []
    digest = hashlib.sha256()
    terms = 0
    for position, (_, article) in enumerate(
        iter_articles(source, skip_bad=skip_bad, problems=problems)
    ):
        line = canonical_line(article.to_json())
        digest.update(line)
        found.articles += 1
        found.laws[article.law] = None
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
    return Article(**{**record, "headings": tuple(record["headings"])})
