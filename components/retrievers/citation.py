"""CitationRetriever: the articles that the question itself names."""

import re
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from haystack import Document, component
from haystack.document_stores.types import DocumentStore

from components.converters.articles import article_of, day_of, headings_of, law_of, number_of
from components.retrievers.resident import (
    IndexReader,
    ReadableStore,
    ResidentIndex,
    Retriever,
    matching_keys,
    resident_index,
    settled,
    validity_of,
)
from components.retrievers.validity import TODAY, Validity, state_on
from components.statutes.citations.patterns import NUMBER, canonical_core, parse_number
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation, only_cites
from components.statutes.identity import names_of_laws
from components.statutes.question import clean_question
from components.statutes.wordings import successor_citation

_MOST_LEFT_OUT = 10  # reported; a longer list would not be read
_UNREAD_SHOWN = 80  # characters of a question whose citations are too many


# What `run` hands out, here and over engines.
CITED: dict[str, Any] = {
    "pinned": list[Document],
    "documents": list[Document],
    "left_out": list[Document],
    "missing": list[str],
    "not_followed": list[str],
    "unanswerable": bool,
    "query": str,
}


@component
class CitationRetriever(IndexReader[CitationResolver], Retriever):
    """Finds the articles that a question cites, such as "art. 12 Housing Code", by their number.

    ```python
    from components.retrievers.citation import CitationRetriever
    from components.stores.sqlite import StatuteDocumentStore

    retriever = CitationRetriever(StatuteDocumentStore("adgm.db"))
    retriever.run("What does section 14(2) require?")["pinned"]
    ```

    No model runs. A citation that names one article without doubt gives a pinned document; one that
    fits several (a number that occurs in several laws, with no law named) gives a list. A question
    that asks for nothing but what it cites ("art. 12", "What does article 12 say?") asks for every
    article that it fits: all are pinned.

    A number that has several wordings names the one in force on the day. With `as_of="any"` it
    names all of them, first the one in force today, then the latest.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles are.
            top_k: how many to return at most, in each of the three lists.
            filters: Haystack filters that always hold.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest of all retrievers over one store counts. Lexarbor's own store is
                always up to date.

        Raises:
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is less than 1, `refresh_seconds` less than 0, or `as_of` neither
                of the two words nor a day.
        """
        Retriever.__init__(self, document_store, top_k, filters, as_of)
        self._read_from(document_store, refresh_seconds)

    @component.output_types(**CITED)
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles that a question cites.

        Args:
            query: the question.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most in each list, in place of the component's.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `pinned`: articles named without doubt, or by a question that asks for nothing else,
            in the order of their citations, score 1.
            `documents`: these, then articles that fit a citation in doubt, in the order of the
            citations, then of the law; their score is 1 divided by how many fit.
            `left_out`: the first ten articles that would be pinned but for the filters and `as_of`.
                An article is not listed if another wording of it is found. A repealed one names
                the article in its place in `meta["replaced_by"]` where there is one.
            Each article has its other wordings in `meta["wordings"]` where there are any, and the
            paragraph that is cited ("art. 12(3)") in `meta["passage"]`.
            `missing`: the words of citations of articles that the store does not hold; of a
            range that it holds in part, the end that it lacks.
            `not_followed`: the words of citations that are not looked up: whose number is not read
            whole ("§ 7 q"); ranges after the eighth; of a longer range what comes after its first
            200 articles; and the question from its 31st citation on.
            `unanswerable`: whether the question asks for articles that are missing or left out,
            and for nothing else: then no other article answers it.
            `query`: the question as it was read; for an embedder, whose input is called `text`.

        Raises:
            QuestionError: the question is empty or too long.
            FilterError: the filters are malformed.
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither "today", "any" nor a day.
            StoreError: the store cannot be read.
        """
        question = clean_question(query)
        request = self._request(filters, top_k, as_of)
        return settled(self._store, lambda state: self.find(state, question, *request))

    def find(
        self,
        state: Hashable,
        question: str,
        filters: dict[str, Any] | None,
        k: int,
        day: date | None,
    ) -> tuple[dict[str, Any], bool]:
        """`run` in a state of the store, as `settled` takes it; all arguments were checked."""
        cited, unread = self.current_index(state).resolve_question(question)
        validity = validity_of(self._store, state)
        citations = by_wording(cited, validity, day or date.today())
        keys, left_out = self._keys(citations), validity.on(day).left_out
        matching = set(matching_keys(self._store, validity, filters, list(keys.values())))
        allowed = {id_ for id_, key in keys.items() if id_ not in left_out and key in matching}
        scores = scores_of(question, citations, keys, allowed)
        found = []
        for score in scores:
            ids = list(score)[:k]
            articles = self._store.fetch([keys[id_] for id_ in ids], [score[id_] for id_ in ids])
            found.append(validity.with_wordings(articles))
        whole = [len(each) for each in found] == [min(k, len(each)) for each in scores]
        given = outputs(question, citations, unread, found, k)
        resolver = self.current_index(state)
        repealed_by = max(day or date.today(), date.today())
        with_replacement(self._store, given["left_out"], resolver, filters, repealed_by)
        return given, whole

    def is_citation(self, query: str) -> bool:
        """Whether a question asks for the articles that it cites, and for nothing else.

        Raises:
            QuestionError: the question is empty or too long.
            StoreError: the store cannot be read.
        """
        question = clean_question(query)
        resolver = self.current_index()
        return only_cites(question, resolver.resolve_question(question).citations)

    def _keys(self, citations: list[ResolvedCitation]) -> dict[str, int]:
        """The key of each cited article that is in the store."""
        ids = list(dict.fromkeys(id_ for each in citations for id_ in each.ids))
        # One by one: those that are not there are left out.
        return {id_: key for id_ in ids for key in self._store.keys_of([id_])}

    def _shared_index(self) -> ResidentIndex[CitationResolver]:
        return citation_index(self._store)


def citation_index(store: ReadableStore) -> ResidentIndex[CitationResolver]:
    """The process's index of a store's articles by law and number."""
    return resident_index(store, "citations", resolver_of)


def resolver_of(store: ReadableStore) -> CitationResolver:
    """A resolver for the articles of a store."""
    return CitationResolver(store.entries(), names_of_laws(store.laws()))


def with_replacement(
    store: ReadableStore,
    documents: list[Document],
    resolver: CitationResolver,
    filters: dict[str, Any] | None = None,
    on: date | None = None,
) -> list[Document]:
    """Documents just read; a repealed one names the article in its place, where the law shows it.

    Its own note may say so ("renumbered 90.220 in 2005"). Otherwise it is an article of the same
    division that begins the day after, whose number goes on from it: 25-1, or 25a, for 25.

    Args:
        store: where they are.
        documents: those in force are left as they are.
        resolver: of the store.
        filters: that the other article must meet.
        on: the day by which they are repealed; None for today.
    """
    day = on or date.today()
    for document in documents:
        if state_on(day, document) == "repealed":
            found = _named_in(store, document, resolver, filters, day) or _following(
                store, document, filters
            )
            if found is not None:
                law, number = law_of(found.meta), number_of(found.meta)
                document.meta["replaced_by"] = {"id": found.id, "law": law, "number": number}
    return documents


def _named_in(
    store: ReadableStore,
    document: Document,
    resolver: CitationResolver,
    filters: dict[str, Any] | None,
    day: date,
) -> Document | None:
    article = article_of(document)
    words = successor_citation(article)
    if words is None:
        return None
    validity = validity_of(store)
    resolved = resolver.resolve(words, within=article.id, language=article.language)
    for cited in by_wording(resolved[:1], validity, day):
        if cited.certain and cited.citation.start == 0 and article.id not in cited.ids:
            keys = matching_keys(store, validity, filters, store.keys_of(cited.ids[:1]))
            return next(iter(store.fetch(keys)), None)
    return None


def _following(
    store: ReadableStore, document: Document, filters: dict[str, Any] | None
) -> Document | None:
    last, number = day_of(document.meta.get("valid_to")), parse_number(number_of(document.meta))
    if last is None or last == date.max or number is None:
        return None
    law, begins = law_of(document.meta), (last + timedelta(days=1)).isoformat()
    from_then = {"field": "meta.valid_from", "operator": "==", "value": begins}
    same_law = {"field": "meta.law", "operator": "==", "value": law}
    conditions = [same_law, from_then, *([filters] if filters else [])]
    keys = store.keys_matching({"operator": "AND", "conditions": conditions})
    for each in store.fetch(keys):
        other = parse_number(number_of(each.meta))
        goes_on = other and re.match(rf"{re.escape(number.core)}(?!\d)", other.core)
        # Of the same number it is the next wording, and the article was amended.
        if goes_on and other != number and headings_of(each.meta) == headings_of(document.meta):
            return each
    return None


def scores_of(
    question: str,
    citations: list[ResolvedCitation],
    present: Iterable[str],
    allowed: Container[str],
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Scores of the articles to pin, of others that fit, and of those to pin but not allowed.

    Args:
        question: the question.
        citations: what it cites.
        present: ids of the cited articles that are in the store.
        allowed: those of them that the filters and the day let through.
    """
    alone = only_cites(question, citations)
    pinned, listed = divided(citations, allowed, alone=alone)
    refused = {id_ for id_ in present if id_ not in allowed}
    # "Article 12", narrowed to the Housing Code, means that code's, so no other one is left out.
    unmet = [each for each in citations if each.laws or not any(id_ in allowed for id_ in each.ids)]
    left_out, _ = divided(unmet, refused, alone=alone)
    return pinned, listed, left_out


def outputs(
    question: str,
    citations: list[ResolvedCitation],
    unread: str,
    found: Sequence[list[Document]],
    k: int,
) -> dict[str, Any]:
    """What a citation retriever returns, from the documents of each of `scores_of`."""
    pinned, others, barred = (_with_passages(each, citations) for each in found)
    fitting = [*pinned, *others][:k]
    absent = list(dict.fromkeys(_named(each) for each in citations if each.missing or each.absent))
    too_much = not_followed(citations, unread)
    return {
        "pinned": pinned,
        "documents": fitting,
        "left_out": left_out_of(barred, fitting),
        "missing": absent,
        "not_followed": too_much,
        "unanswerable": not (fitting or unread)
        and bool(barred or absent or too_much)
        and only_cites(question, citations),
        "query": question,
    }


def _with_passages(documents: list[Document], citations: list[ResolvedCitation]) -> list[Document]:
    """Articles just read; of those with a cited paragraph, `meta["passage"]` is its place."""
    cited = {id_: each.citation.paragraph for each in reversed(citations) for id_ in each.ids}
    for document in documents:
        level = re.match(r"\((\w+)\)", cited.get(document.id) or "")
        number = parse_number(number_of(document.meta))
        if level is None or (number and number.paragraphs):  # such an article is the paragraph
            continue
        marker = rf"^[ \t]*\(?{level[1]}[.)]\s"
        paragraph = re.compile(rf"{marker}.*?(?=^[ \t]*\(?\d{{1,3}}[a-z]?[.)]\s|\Z)", re.M | re.S)
        if found := paragraph.search(document.content or ""):
            document.meta["passage"] = {"start": found.start(), "end": found.end()}
    return documents


def left_out_of(barred: list[Document], given: list[Document]) -> list[Document]:
    """The requested articles that are reported as left out.

    Each wording of an amended article is a document. If one wording is returned, the others are not
    reported; if several are left out, only the first is.
    """
    others: dict[Hashable, Document] = {}
    for document in barred:
        others.setdefault(_place(document), document)
    for document in given:
        others.pop(_place(document), None)
    return list(others.values())[:_MOST_LEFT_OUT]


def _place(document: Document) -> Hashable:
    """What wordings of one article have in common."""
    printed = number_of(document.meta)
    return law_of(document.meta), parse_number(printed) or printed or document.id


def by_wording(
    citations: Sequence[ResolvedCitation], validity: Validity, day: date
) -> list[ResolvedCitation]:
    """The citations with wordings of one article in order: in force on the day, then the latest.

    A citation that fits only wordings of one article names it without doubt.
    """
    return [
        replace(
            each,
            ids=validity.ordered(each.ids, day),
            certain=each.certain or (each.clear and validity.are_one(each.ids)),
        )
        for each in citations
    ]


def not_followed(citations: list[ResolvedCitation], unread: str) -> list[str]:
    """The words of citations that were not looked up, each once."""
    rest = unread if len(unread) <= _UNREAD_SHOWN else f"{unread[:_UNREAD_SHOWN]}…"
    words = [_with_law(each, each.unfollowed) for each in citations if each.unfollowed is not None]
    return list(dict.fromkeys([*words, *([rest] if rest else [])]))


def _named(resolved: ResolvedCitation) -> str:
    """A citation of what is missing; of a range that is partly there, the missing end."""
    words = resolved.citation.text
    if resolved.absent is not None:
        printed = (number[0] for number in NUMBER.finditer(words))
        of_end = (each for each in printed if canonical_core(each) == resolved.absent)
        words = next(of_end, resolved.absent)
    return _with_law(resolved, words)


def _with_law(resolved: ResolvedCitation, words: str) -> str:
    law = resolved.laws[0] if len(resolved.laws) == 1 else resolved.citation.law_hint
    return f"{words}, {law}" if law else words


def divided(
    citations: list[ResolvedCitation], keys: Container[str], *, alone: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Scores of the articles that are cited without doubt, and of the others that fit.

    Args:
        citations: what the question cites.
        keys: the articles that are in the store and allowed.
        alone: whether the question asks for nothing but its citations, and so for all that fits.
    """
    cited: dict[tuple[tuple[str, ...], bool], None] = {}
    for each in citations:
        certain = each.certain or (alone and not each.doubtful)
        if each.citation.onward and each.clear:  # of "§§ 535 ff." the first is certain
            cited[each.ids[:1], True] = None
        cited[each.ids, certain and not each.citation.onward] = None
    present = [([id_ for id_ in ids if id_ in keys], certain) for ids, certain in cited]
    pinned = {id_: 1.0 for ids, certain in present if certain for id_ in ids}
    listed: dict[str, float] = {}
    for ids, _ in present:
        for id_ in ids:
            if id_ not in pinned:
                listed.setdefault(id_, 1 / len(ids))
    return pinned, listed
