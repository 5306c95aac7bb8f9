"""What the page searches: how many articles, of which laws, and whether they are invented."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Laws that bind nobody say so in their name; the page says it beside the results.
_INVENTED = "(invented)"


@dataclass(frozen=True, slots=True)
class Collection:
    """The content of a store, as the page tells of it.

    Attributes:
        articles: Number of articles.
        laws: Names of the laws, by first appearance.
    """

    articles: int
    laws: tuple[str, ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str, str]]) -> Collection:
        """Count `(id, law, number)` entries, as a store's `entries` gives them."""
        laws: dict[str, None] = {}
        count = 0
        for _, law, _ in entries:
            laws[law] = None
            count += 1
        return cls(articles=count, laws=tuple(laws))

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
