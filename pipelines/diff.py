"""python -m pipelines.diff: what changed in an article, word by word.

ARTICLE is a citation ("art. 12 Housing Code") or an id. Without days the two newest wordings that
the store holds are compared; --from is the day of the first, --to of the second. [-These words-]
were deleted, {+these+} inserted. Without --store it is the invented Statutes of Aldermere.

  python -m pipelines.diff --store law.db "art. 12 Housing Code"
  python -m pipelines.diff --store law.db "section 3 Data Protection Act" --from 2019-01-01
  python -m pipelines.diff --store law.db "art. 12 Housing Code" --to 2020-12-31 --json
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from pipelines import command_line
from pipelines.command_line import DONE, FAILED, say, show

if TYPE_CHECKING:
    from haystack import Document

    from components.retrievers.citation import CitationRetriever
    from components.retrievers.validity import Validity
    from components.statutes.article import Article

_WIDTH = 100
_MOST_WORDINGS = 1_000
_MOST_NAMED = 5


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("diff", "Show what changed in an article.", __doc__)
    add = parser.add_argument
    add("article", metavar="ARTICLE", help="a citation, or the id of an article")
    add("--store", type=command_line.named, metavar="FILE", help="default: the demo store")
    add("--from", dest="since", type=command_line.day, metavar="DAY", help="of the first wording")
    add("--to", type=command_line.day, metavar="DAY", help="of the second wording")
    add("--json", action="store_true", help="print the wordings and their rows as JSON")
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _diff(options))


def _diff(options: argparse.Namespace) -> int:
    from components.retrievers.citation import CitationRetriever
    from pipelines.home import given_or_demo
    from pipelines.loading import store_with_articles

    with store_with_articles(given_or_demo(options.store, say)) as store:
        retriever = CitationRetriever(store)
        result = changes(retriever, options.article, options.since, options.to)
    show(result if options.json else _as_text(result))
    return DONE if "rows" in result else FAILED


def changes(
    retriever: CitationRetriever,
    article: str,
    since: date | None = None,
    to: date | None = None,
) -> dict[str, Any]:
    """What changed between two wordings of an article, as plain values.

    Args:
        retriever: over the law; its filters hold.
        article: a citation, or an id.
        since: day of the first wording; None for the one before the second.
        to: day of the second; None for the newest.

    Returns:
        `note`: why there is nothing to compare, or what else there is to know, if anything.
        `law` and `number`, if the article is held, and `replaced_by` of a repealed one.
        `before`, `after` and `rows`, where two wordings are compared; see `compared`.

    Raises:
        QuestionError: `article` is empty or too long.
        StoreError: the store cannot be read.
    """
    from components.retrievers.citation import with_replacement
    from components.retrievers.resident import matching_keys, readable, validity_of

    store = readable(retriever.document_store)
    validity = validity_of(store)
    keys = store.keys_of([article])
    if keys:
        ids = [article, *(str(each["id"]) for each in validity.others(article))]
        keys = matching_keys(store, validity, retriever.filters, store.keys_of(ids))
        documents = store.fetch(keys)
    else:
        found = retriever.run(article, top_k=_MOST_WORDINGS, as_of="any")
        documents = found["pinned"] or found["documents"]
    if not documents:
        return {"note": f"The store holds no article {article!r:.80}."}
    if len(documents) > 1 and not validity.are_one([each.id for each in documents]):
        named = "; ".join(_title(each) for each in documents[:_MOST_NAMED])
        more = "; ..." if len(documents) > _MOST_NAMED else ""
        return {"note": f"Several articles fit: {named}{more}. Name one, with its law, or its id."}
    with_replacement(store, documents, retriever.current_index(), retriever.filters)
    return compared(documents, validity, since, to)


def compared(
    documents: Sequence[Document],
    validity: Validity,
    since: date | None = None,
    to: date | None = None,
) -> dict[str, Any]:
    """Two of the wordings of an article, side by side.

    Args:
        documents: its wordings, at least one.
        validity: of their store.
        since: as `changes`.
        to: as `changes`.

    Returns:
        As `changes`. `before` and `after` have `id`, and `valid_from` and `valid_to` where known;
        `rows` are lists of segments, each with `kind` ("same", "deleted", "inserted") and `text`.
    """
    from components.converters.articles import article_of, replacement_of
    from components.statutes.wordings import (
        WordingError,
        changed_rows,
        in_time,
        is_changed,
        two_wordings,
    )

    wordings = [article_of(each) for each in documents]
    wordings.sort(key=in_time)
    newest = wordings[-1]
    result: dict[str, Any] = {"law": newest.law, "number": newest.number}
    replacements = {each.id: replacement_of(each.meta) for each in documents}
    if replaced_by := replacements[newest.id]:
        result["replaced_by"] = replaced_by
    if len(wordings) == 1:
        note = _NOTES[why_alone(documents[0], validity)]
        return {**result, "note": note.format(title=_title(documents[0]), day=newest.valid_from)}
    try:
        before, after = two_wordings(wordings, since, to)
    except WordingError as error:
        return {**result, "note": str(error)}
    rows = changed_rows(before.text, after.text)
    if not any(map(is_changed, rows)):
        result["note"] = "Both wordings have the same words."
    elif not (_days(before).keys() & _days(after).keys() - {"id"}):
        result["note"] = "One wording has no dates: that it is the earlier one is a guess."
    return {
        **result,
        "before": _days(before),
        "after": _days(after),
        "rows": [[each._asdict() for each in row] for row in rows],
    }


WhyAlone = Literal["amended", "inserted", "later", "one", "repealed"]

_NOTES: dict[WhyAlone, str] = {
    "amended": "{title} was amended; its earlier text is not held.",
    "inserted": "{title} was inserted; the store holds this one wording.",
    "later": (
        "{title} has been in force since {day}, later than other articles of its law: it was "
        "amended or inserted. An earlier text is not held."
    ),
    "one": (
        "{title} has only one wording in the store. An earlier one is kept where the corpus has it "
        "as an article of its own, with valid_to."
    ),
    "repealed": "{title} is no longer law; only a note of its repeal is held, not its text.",
}


def why_alone(document: Document, validity: Validity) -> WhyAlone:
    """What is known of the earlier text of an article that has one wording.

    Args:
        document: the article.
        validity: of its store.
    """
    from components.converters.articles import article_of
    from components.retrievers.validity import earlier_text

    if article_of(document).is_stub:
        return "repealed"
    known = earlier_text(document)
    if known in ("not held", "none"):
        return "amended" if known == "not held" else "inserted"
    return "later" if validity.began_later(document.meta) else "one"


def _days(article: Article) -> dict[str, str]:
    given = article.to_json()
    return {name: given[name] for name in ("id", "valid_from", "valid_to") if name in given}


def _title(document: Document) -> str:
    from components.converters.articles import article_of
    from components.statutes.article import spoken_number

    article = article_of(document)
    return f"{article.law}, {spoken_number(article.number)} [{article.id}]"


def _as_text(result: dict[str, Any]) -> str:
    from components.statutes.article import spoken_number
    from components.statutes.wordings import Segment, marked, span_text

    lines = []
    if "rows" in result:
        lines = [f"{result['law']}, {spoken_number(result['number'])}"]
        for sign, each in (("-", result["before"]), ("+", result["after"])):
            days = span_text(each.get("valid_from"), each.get("valid_to"))
            lines.append(f"{sign} {days} [{each['id']}]")
        rows = ([Segment(**each) for each in row] for row in result["rows"])
        written = chain.from_iterable(marked(row).split("\n") for row in rows)
        lines += ["", *(part for line in written for part in textwrap.wrap(line, _WIDTH))]
    if "note" in result:
        lines += [*([""] if lines else []), result["note"]]
    if replaced_by := result.get("replaced_by"):
        number = spoken_number(replaced_by["number"])
        lines.append(f"In its place: {replaced_by['law']}, {number} [{replaced_by['id']}].")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
