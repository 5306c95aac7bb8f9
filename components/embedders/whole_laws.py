"""Whether the documents at hand are all articles of their laws."""

from collections.abc import Mapping, Sequence

from haystack import Document

from components.converters.articles import LAW_ARTICLES
from components.statutes.article import counted
from components.stores.rows import position_of
from components.stores.sqlite import StatuteDocumentStore


def by_law(component: str, documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each law, laws by first appearance.

    Args:
        component: name of the embedder, for the message.
        documents: what it was given.

    Raises:
        ValueError: a document names no law, or two have one id.
    """
    laws: dict[str, list[Document]] = {}
    ids: set[str] = set()
    for document in documents:
        law = document.meta.get("law")
        if not isinstance(law, str) or not law:
            raise ValueError(
                f"document '{document.id}': meta.law is {law!r}. {component} needs the law that an "
                "article stands in; name it."
            )
        if document.id in ids:
            raise ValueError(f"document '{document.id}' is given twice. Give each article once.")
        ids.add(document.id)
        laws.setdefault(law, []).append(document)
    return laws


def incomplete_laws(
    laws: Mapping[str, Sequence[Document]], store: StatuteDocumentStore | None
) -> dict[str, str]:
    """Laws that are not known to be whole, each with the reason.

    A law is whole when its documents are as many as their `meta.law_articles` says, which
    StatuteConverter writes: how many articles the law has in its source. A source may be one
    amended section, so no article that the store has of the law may be missing either. Where the
    documents do not say how many there are, the store alone decides; a law of which neither says
    anything is not known to be whole.

    Args:
        laws: the documents of each law; no two with one id.
        store: holds the laws, or None.

    Raises:
        StoreError: the store cannot be read.
    """
    silent = {
        law for law, documents in laws.items() if all(_said(each) is None for each in documents)
    }
    stored: dict[str, set[str]] = {}
    given = {each.id for documents in laws.values() for each in documents}
    if store is not None:
        for id_, law, _ in store.entries():
            if law in laws:
                stored.setdefault(law, set()).add(id_)
    reasons: dict[str, str] = {}
    for law, documents in laws.items():
        numbers = {_said(each) for each in documents}
        if missing := stored.get(law, set()) - given:
            reasons[law] = (
                f"the store has {counted(len(missing), 'more article')} of it, such as "
                f"{min(missing)!r}; delete from the store what the law no longer has"
            )
        elif law in silent and law in stored:
            continue
        elif law in silent:
            reasons[law] = (
                "nothing says how many articles it has: its documents have no meta.law_articles "
                "(StatuteConverter writes it), and no store that holds it is given"
            )
        elif len(numbers) > 1:
            said = ", ".join(sorted(str(number) for number in numbers))
            reasons[law] = f"its documents do not agree on meta.law_articles ({said})"
        elif numbers != {len(documents)}:
            reasons[law] = f"{len(documents):,} of its {numbers.pop():,} articles are given"
    return reasons


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Documents by `meta.position`; those without one come last, as they are given."""
    return sorted(documents, key=position_of)


def _said(document: Document) -> int | None:
    number = document.meta.get(LAW_ARTICLES)
    return number if type(number) is int else None
