"""What a store will hold once a file is indexed: the file's laws, and the stored ones that stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from components.converters.articles import article_of
from components.statutes.article import Article, counted
from components.statutes.corpus import StatuteCorpus
from components.stores.publishing import Place, Published, arrange
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore

# Bounds the memory: only their articles are kept.
_DOCUMENTS_AT_ONCE = 2_000
_NAMED = 5


@dataclass(frozen=True)
class Merged:
    """What the store will hold of law.

    Attributes:
        corpus: the articles, in the order of the law; of other writers' documents those with text.
        positions: their places in the store, by id.
        stored: what the store holds now, by id.
        kept: documents of laws that the file does not have, by law.
        in_file: laws of the file.
        shifts: whether articles of the store must move to make room.
    """

    corpus: StatuteCorpus
    positions: Mapping[str, int]
    stored: Mapping[str, Published]
    kept: Mapping[str, Sequence[Place]]
    in_file: Set[str]
    shifts: bool

    def moved(self, but: Container[str]) -> dict[str, int]:
        """New positions of documents that are kept, except those of some laws."""
        return {
            each.id: self.positions[each.id]
            for law, places in self.kept.items()
            for each in places
            if law not in but and self.positions[each.id] != each.position
        }

    def with_vectors(self, *, model_recorded: bool) -> set[str]:
        """Ids of the documents that are kept with the vector that they have.

        Args:
            model_recorded: whether the store says which model its vectors are of. Where it does
                not, those that indexing did not write may be of any.
        """
        return {
            each.id
            for places in self.kept.values()
            for each in places
            if self.stored[each.id].has_vector
            and (model_recorded or self.stored[each.id].text_digest is not None)
        }


def merge(
    corpus: StatuteCorpus,
    source: str | Path,
    store: StatuteDocumentStore,
    *,
    prune: bool,
    replace: bool,
    say: Callable[[str], object],
) -> Merged:
    """Put the file's laws in place of the store's, and keep the other laws.

    Nothing is written: this works out what the store will hold, and lists what will be removed.

    Args:
        corpus: the file's articles.
        source: the file, for messages.
        store: where they go; it is not made here.
        prune: remove laws that the file does not have.
        replace: allow a file to have fewer than half of the articles of a law.
        say: takes lines for the user.

    Raises:
        StoreError: the file has fewer than half of a law's articles, or gives an id of another law
            to another text.
    """
    exists = store.database.path.exists()
    stored = store.publisher.published() if exists else {}
    present: dict[str, list[Place]] = {}
    places = store.publisher.places() if exists else []
    for place in places:
        present.setdefault(place.law, []).append(place)
    given = {article.id: article.law for article in corpus}
    in_file = set(given.values())
    if not replace:
        for law in (each for each in corpus.laws if each in present):
            _check_half(law, present[law], given, corpus, source, store)
        if not prune:
            moving = [p for p in places if p.id in given and p.law not in in_file]
            _check_ids(moving, corpus, source, store)
    _say_removals(present, given, source, prune=prune, say=say)
    staying = [p for p in places if p.id not in given and not (prune or p.law in in_file)]
    kept: dict[str, list[Place]] = {}
    for place in staying:
        kept.setdefault(place.law, []).append(place)
    positions = arrange((p for p in places if not prune or p.law in in_file), given)
    for place in staying:
        positions.setdefault(place.id, place.position)
    if kept:
        articles = {article.id: article for article in corpus}
        articles |= {each.id: each for each in _articles_at(staying, store)}
        corpus = StatuteCorpus(articles[id_] for id_ in positions if id_ in articles)
    shifts = bool(kept) and any(positions.get(p.id, p.position) != p.position for p in places)
    return Merged(corpus, positions, stored, kept, in_file, shifts)


def _check_half(
    law: str,
    present: Sequence[Place],
    ids: Container[str],
    corpus: StatuteCorpus,
    source: str | Path,
    store: StatuteDocumentStore,
) -> None:
    """Refuse a file that has less than half of a law: it is more likely a part than the whole."""
    # Articles that the file has in another law are not lost.
    others = [each for each in present if each.id not in ids]
    found = len(present) - len(others)
    articles = [corpus[position] for position in corpus.positions_of(law)]
    if 2 * found < len(present):
        # They may have been given other ids.
        texts = {article.text for article in articles}
        found += sum(each.text in texts for each in _articles_at(others, store))
    if 2 * found < len(present):
        raise StoreError(half_refused(source, law, found, len(present), len(articles), store.path))


def half_refused(
    source: str | Path, law: str, found: int, stored: int, given: int, where: object
) -> str:
    """What to say where a file has fewer than half of a law's articles.

    Args:
        source: the file.
        law: the law.
        found: how many of the articles that are stored it has.
        stored: how many are stored.
        given: how many the file has of the law in all.
        where: the store or engine.
    """
    new = f" and {given - found:,} new ones" if given > found else ""
    return (
        f"{source} has {found:,} of the {stored:,} articles of {law} in {where}{new}; a law is "
        f"replaced whole, so {stored - found:,} would be removed. Index a file with the whole law, "
        "or give --replace if this is all of it now."
    )


def _check_ids(
    moving: Sequence[Place],
    corpus: StatuteCorpus,
    source: str | Path,
    store: StatuteDocumentStore,
) -> None:
    """Refuse ids that stand for another text in a law that stays: that article would be lost."""
    for article in _articles_at(moving, store):
        given = corpus[corpus.position(article.id)]
        if given.text != article.text:
            raise StoreError(id_refused(source, article.id, given.law, article.law, store.path))


def id_refused(source: str | Path, id_: str, law: str, other: str, where: object) -> str:
    """What to say where a file gives an id of another law, which it does not have, to a new text.

    Args:
        source: the file.
        id_: the id.
        law: the law that it stands in there.
        other: the law that it stands in now.
        where: the store or engine.
    """
    return (
        f"{source} has the id '{id_}' in {law}; in {where} it is an article of {other} with "
        "another text, which would be removed. Give the file's articles ids of their own, or give "
        "--replace if the article did move."
    )


def _say_removals(
    present: Mapping[str, Sequence[Place]],
    given: Mapping[str, str],
    source: str | Path,
    *,
    prune: bool,
    say: Callable[[str], object],
) -> None:
    in_file = set(given.values())
    moves: Counter[tuple[str, str]] = Counter()
    for law, places in present.items():
        moves.update((law, given[p.id]) for p in places if given.get(p.id, law) != law)
        if law in in_file and (gone := [p.id for p in places if p.id not in given]):
            say(removal(source, law, gone))
    for (law, other), count in moves.items():
        say(f"Moving {counted(count, 'article')} of {law} to {other}")
    if prune:
        say_pruned(source, {law: len(present[law]) for law in present.keys() - in_file}, say)


def removal(source: str | Path, law: str, ids: Sequence[str]) -> str:
    """What to say before articles are removed from a law that is replaced."""
    return (
        f"Removing {counted(len(ids), 'article')} of {law} that {source} does not have: "
        f"{_first(ids)}"
    )


def say_pruned(source: str | Path, laws: Mapping[str, int], say: Callable[[str], object]) -> None:
    """Say which laws --prune will remove, before it does.

    Args:
        source: the file.
        laws: how many articles each has.
        say: takes a line for the user.
    """
    if laws:
        named = [f"{law} ({counted(laws[law], 'article')})" for law in sorted(laws)]
        say(f"Removing {counted(len(laws), 'law')} that {source} does not have: {_first(named)}")


def _first(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _articles_at(places: Sequence[Place], store: StatuteDocumentStore) -> Iterator[Article]:
    """The stored articles at some places; documents without text are left out."""
    for start in range(0, len(places), _DOCUMENTS_AT_ONCE):
        chunk = places[start : start + _DOCUMENTS_AT_ONCE]
        for document in store.fetch([each.key for each in chunk]):
            if document.content:
                yield article_of(document)
