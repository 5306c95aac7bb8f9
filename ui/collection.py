"""What the page searches: how many articles, of which laws, and whether they are invented."""

from __future__ import annotations

from dataclasses import dataclass

from components.retrievers.resident import ReadableStore
from components.stores.sqlite import StatuteDocumentStore

# Laws that bind nobody say so in their name; the page says it beside the results.
_INVENTED = "(invented)"

# More boxes to tick than these help nobody.
MOST_LISTED_LAWS = 200


@dataclass(frozen=True, slots=True)
class Collection:
    """The content of a store, as the page tells of it.

    Attributes:
        articles: Number of articles.
        laws: Names of the laws, by first appearance.
        snapshot: ISO day of which the law's text is, where it is on record.
        indexed: ISO day on which it was last indexed, where it is on record.
    """

    articles: int
    laws: tuple[str, ...]
    snapshot: str | None = None
    indexed: str | None = None

    @classmethod
    def of(cls, store: ReadableStore) -> Collection:
        """What a store holds.

        Raises:
            StoreError: it cannot be read.
        """
        laws: dict[str, None] = {}
        count = 0
        for _, law, _ in store.entries():
            # A blank name names no law.
            if law.strip():
                laws[law] = None
            count += 1
        return cls(count, tuple(laws), *recorded_days(store))

    @property
    def lists_laws(self) -> bool:
        """Whether the laws are few enough to be chosen from a list."""
        return len(self.laws) <= MOST_LISTED_LAWS

    @property
    def invented(self) -> bool:
        """Whether any of the laws is invented."""
        return any(_INVENTED in law for law in self.laws)

    @property
    def is_aldermere(self) -> bool:
        """Whether this is the demo law, which the example questions are about."""
        return bool(self.laws) and all(
            law.endswith(f"of Aldermere {_INVENTED}") for law in self.laws
        )


def recorded_days(store: ReadableStore) -> tuple[str | None, str | None]:
    """ISO days: of which the law's text is, and on which it was indexed; None where unknown.

    Raises:
        StoreError: they cannot be read.
    """
    return (
        store.publisher.recorded_days() if isinstance(store, StatuteDocumentStore) else (None,) * 2
    )
