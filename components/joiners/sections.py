"""StatuteSectionMerger: found sub-articles as the section that they are parts of."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from haystack import Document, component
from haystack.document_stores.types import DocumentStore

from components.converters.articles import number_of
from components.parameters import check_count
from components.retrievers import resident
from components.retrievers.validity import TODAY, asked_day, checked_as_of
from components.statutes.citations.patterns import parse_number


class _Sections:
    """The articles of each section that stands in the store as several, in the law's order."""

    def __init__(self, store: resident.ReadableStore) -> None:
        parts: dict[Hashable, list[str]] = {}
        divided: set[Hashable] = set()
        for id_, law, printed in store.entries():
            number = parse_number(printed)
            if number is not None:
                section = law, number.division, number.core
                parts.setdefault(section, []).append(id_)
                if number.paragraphs:
                    divided.add(section)
        self.of: dict[str, list[str]] = {
            id_: parts[section]
            for section in divided
            if len(parts[section]) > 1
            for id_ in parts[section]
        }


@component
class StatuteSectionMerger(resident.IndexReader[_Sections]):
    """Puts a section in the place of its sub-articles where several of them are found.

    Some laws stand in a store by sub-article: 17(1), 17(2), 17(3). Where a question finds several,
    the section reads better whole.

    ```python
    from components.joiners.sections import StatuteSectionMerger
    from components.stores.sqlite import StatuteDocumentStore

    merger = StatuteSectionMerger(StatuteDocumentStore("adgm.db"))
    merger.run(documents=[])["documents"]
    ```

    The merged document stands where the best of its parts did, and has that part's id, score and
    metadata. Its `number` is the section's; its content is all parts in the order of the law, each
    on a line after its number; `meta["merged"]` has their ids.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        at_least: int = 2,
        as_of: str = TODAY,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles are.
            at_least: how many sub-articles of a section must be found.
            as_of: skips parts that were not in force: "today", a day as YYYY-MM-DD, or "any",
                which takes them all.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again. Lexarbor's own store is always up to date.

        Raises:
            ValueError: `at_least` is below 2, or `as_of` neither "today", "any" nor a day.
        """
        check_count("StatuteSectionMerger.at_least", at_least, 2)
        self.at_least = at_least
        self.as_of = checked_as_of("StatuteSectionMerger", as_of)
        self._read_from(document_store, refresh_seconds)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], as_of: str | None = None) -> dict[str, Any]:
        """Merge sub-articles.

        Args:
            documents: articles of the store, best first; others stay as they are.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: in the same order, fewer where some were merged.

        Raises:
            ValueError: `as_of` is neither "today", "any" nor a day.
            StoreError: the store cannot be read.
        """
        day = asked_day("StatuteSectionMerger", self.as_of if as_of is None else as_of)
        state = resident.state_of(self._store)
        sections = self.current_index(state)
        found: dict[str, int] = {}
        for each in documents:
            first = sections.of.get(each.id, [each.id])[0]
            found[first] = found.get(first, 0) + 1
        left_out = resident.validity_of(self._store, state).on(day).left_out
        merged: dict[str, Document] = {}
        for each in documents:
            parts = sections.of.get(each.id, [each.id])
            if found[parts[0]] < self.at_least:
                merged[each.id] = replace(each, embedding=None)
            elif parts[0] not in merged:
                keys = self._store.keys_of(id_ for id_ in parts if id_ not in left_out)
                merged[parts[0]] = _merged(each, self._store.fetch(keys))
        return {"documents": list(merged.values())}

    def _shared_index(self) -> resident.ResidentIndex[_Sections]:
        return resident.resident_index(self._store, "sections", _Sections)


def _merged(best: Document, parts: list[Document]) -> Document:
    number = number_of(best.meta)
    text = "\n".join(f"{number_of(each.meta)} {each.content or ''}" for each in parts)
    # A ranker's passages are characters of the part, not of the whole.
    meta = {key: best.meta[key] for key in best.meta if key not in ("passage", "passages_read")}
    meta["number"] = number.partition("(")[0].strip()
    meta["merged"] = [each.id for each in parts]
    return replace(best, content=text, meta=meta, embedding=None)
