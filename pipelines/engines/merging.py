"""What becomes of the laws in an engine once a file is indexed: replaced, kept or removed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from haystack import Document

from components.statutes.article import Article, TextRule
from components.stores.engines.base import LAW, ArticleEngine, Listed, digest_of
from components.stores.rows import StoreError
from pipelines.engines.scan import LawSpool, as_article
from pipelines.engines.writing import text_digest_of
from pipelines.merging import half_refused, id_refused

_ASKED_AT_ONCE = 1_000


def changed_laws(engine: ArticleEngine, spool: LawSpool, model_digest: str) -> dict[str, str]:
    """The spool's laws that are not in the engine as they should be, with their digests.

    Args:
        engine: where they go.
        spool: the articles.
        model_digest: of the model that encodes them.
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
    staying: Collection[str],
    source: str | Path,
    rule: TextRule,
    *,
    replace: bool,
) -> set[str]:
    """Refuse what `--replace` is needed for, before anything is written.

    Args:
        engine: where the articles go.
        spool: the articles.
        changed: laws that will be written.
        staying: laws in the engine that the corpus does not have and that are kept.
        source: the corpus, for messages.
        rule: what of an article its vector stands for.
        replace: refuse nothing.

    Returns:
        Those of the staying laws that lose articles to laws of the corpus.

    Raises:
        StoreError: the corpus has fewer than half of a law's articles, or gives an id of a law
            that stays to another text.
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
            if document.content != articles[document.id].text and not replace:
                raise StoreError(id_refused(source, document.id, law, other, where))
            losing.add(other)
    return losing


def settle_left(engine: ArticleEngine, staying: Collection[str]) -> None:
    """Count again what stays of laws that lost articles; forget those of which nothing does."""
    for law, state in engine.states(LAW).items():
        if law in staying and not state["digest"]:
            if articles := len(engine.listed(law)):
                engine.put_state(LAW, law, {"digest": "", "articles": articles})
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
    """How many of the articles that are there the corpus has, under their ids or others."""
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
