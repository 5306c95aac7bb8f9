"""CitationAuditor: the citations of any text, checked against the laws of a store."""

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from haystack import Document, component
from haystack.document_stores.types import DocumentStore

from components.converters.articles import article_of
from components.models.lexical_index import LexicalIndex
from components.retrievers import resident
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import by_wording, citation_index
from components.retrievers.validity import TODAY, InForce, Validity, asked_day, checked_as_of
from components.statutes.article import Article, indexed_text
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation
from components.statutes.lexical import coverage, in_another_language, question_terms
from components.statutes.replies import auditing

# A statement has another article's words where that one has most of its terms and many more of them
# than the article cited, and twice its BM25 score. tests/benchmarks/audit.py measures the rule.
_FEWEST_TERMS = 5
_COVERED = 0.66
_MORE_COVERED = 0.4
_SHARE = 0.5


class _Articles(dict[str, Article]):
    """The articles of a store, each read at its first use."""

    def __init__(self, store: resident.ReadableStore) -> None:
        super().__init__()
        self.store = store
        self.documents: dict[str, Document] = {}

    def __missing__(self, id_: str) -> Article:
        for document in self.store.fetch(self.store.keys_of([id_])):
            self.documents[id_] = document
        self[id_] = article_of(self.documents[id_])
        return self[id_]


@component
class CitationAuditor(resident.IndexReader[CitationResolver]):
    """Gives each citation of a text a verdict: whether the law has it, on the day, on the subject.

    ```python
    from components.builders.citation_auditor import CitationAuditor
    from components.stores.sqlite import StatuteDocumentStore

    auditor = CitationAuditor(StatuteDocumentStore("law.db"))
    audited = auditor.run("Article 99 of the Housing Code forbids it.")["citations"]
    [(each.text, each.verdict) for each in audited]
    ```

    `AuditedCitation` says what the verdicts mean. Where `QuoteVerifier` compares a reply with the
    articles that it was written from, this compares any text, a brief or a mail as well as a
    reply, with all the law of the store. It reads citations in words; reference marks ([1]) are
    QuoteVerifier's.

    No model runs. Whether the subject differs is judged by words: an alarm needs a sentence whose
    words are plainly those of another article, so a paraphrase in other words passes.
    """

    def __init__(
        self, document_store: DocumentStore, as_of: str = TODAY, refresh_seconds: float = 60
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: the laws.
            as_of: the day on which what is cited should be in force: "today", a day as YYYY-MM-DD,
                or "any", which leaves that out.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest of all readers of one store counts.

        Raises:
            ValueError: `refresh_seconds` is less than 0, or `as_of` neither of the two words nor a
                day.
        """
        self.as_of = checked_as_of("CitationAuditor", as_of)
        self._read_from(document_store, refresh_seconds)
        self._words = StatuteBM25Retriever(document_store, refresh_seconds=refresh_seconds)

    @component.output_types(
        citations=list[auditing.AuditedCitation], counts=dict[str, int], documents=list[Document]
    )
    def run(
        self, text: str, documents: list[Document] | None = None, as_of: str | None = None
    ) -> dict[str, Any]:
        """Check the citations of a text.

        Args:
            text: plain text or Markdown. A generator's `replies` can be connected to it.
            documents: the articles that it was written from; None if it was not written from any.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `citations`: in order, each with its verdict.
            `counts`: how many have each verdict; always how many were not checked.
            `documents`: the articles cited, each once, without embedding.

        Raises:
            TypeError: `text` is not text.
            ValueError: `as_of` is neither "today", "any" nor a day.
            StoreError: the store cannot be read.
        """
        if not isinstance(text, str):
            raise TypeError(f"CitationAuditor.text must be text, got {text!r:.60}.")
        day = asked_day("CitationAuditor", self.as_of if as_of is None else as_of)
        state = resident.state_of(self._store)
        resolver = self.current_index(state)
        validity = resident.validity_of(self._store, state)
        articles = _Articles(self._store)
        words = self._words.current_index(state)
        nearer = partial(_nearer, words=words, articles=articles, allowed=validity.on(day))
        of_the_day = partial(_one_wording, validity=validity, day=day or date.today())
        given = None if documents is None else {document.id for document in documents}
        laws = auditing.LawCollection(resolver, articles, of_the_day, nearer)
        citations = auditing.audit(text, laws, day, given)
        cited = dict.fromkeys(id_ for each in citations for id_ in each.ids)
        for id_ in cited:
            articles[id_]
        return {
            "citations": citations,
            "counts": auditing.verdict_counts(citations),
            "documents": [articles.documents[id_] for id_ in cited],
        }

    def warm_up(self) -> None:
        """Read the indexes, once; `run` follows the store when its content changes.

        Raises:
            StoreError: the store cannot be read.
        """
        if not self._is_warm:
            self._words.current_index()
        resident.IndexReader.warm_up(self)

    def _shared_index(self) -> resident.ResidentIndex[CitationResolver]:
        return citation_index(self._store)


def _one_wording(resolved: ResolvedCitation, validity: Validity, day: date) -> ResolvedCitation:
    """A citation whose articles are wordings of one, with the one of the day alone."""
    if resolved.citation.through is not None:
        return resolved
    (found,) = by_wording([resolved], validity, day)
    one = len(found.ids) > 1 and validity.are_one(found.ids)
    return replace(found, ids=found.ids[:1], certain=True) if one else found


def _nearer(
    statement: str,
    id_: str,
    n_articles: int,
    words: LexicalIndex,
    articles: _Articles,
    allowed: InForce,
) -> Article | None:
    """The article in force whose words a statement has rather than those of one, if any.

    Args:
        statement: what is said, without its citations.
        id_: the article cited for it.
        n_articles: how many articles are cited for it together.
        words: the index of the store's articles.
        articles: the store's articles.
        allowed: those in force.
    """
    language = articles[id_].language
    few = len(question_terms(statement, [language])) < _FEWEST_TERMS
    if few or in_another_language(statement, [language]):
        return None
    keys, scores = words.search(statement, len(words.keys), allowed.keys)
    (own,) = articles.store.keys_of([id_])
    score = float(scores[keys == own].sum())
    if not len(keys) or own == keys[0] or score >= _SHARE / n_articles * float(scores[0]):
        return None
    best = articles.store.fetch(keys[:1])
    if not best:
        return None
    article = article_of(best[0])
    covered, own_covered = (
        coverage(statement, indexed_text(each.headings, each.text), each.language)
        for each in (article, articles[id_])
    )
    more = covered - own_covered
    return article if covered >= _COVERED and more >= _MORE_COVERED else None
