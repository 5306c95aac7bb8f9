"""Which law an article belongs to: a title may be that of several acts, an identifier is not.

Everything groups articles by `Article.law`, so two laws of one title get two names: the first
keeps the title, a later one is "TITLE (2004)" or "TITLE (its identifier)".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from components.statutes.article import Article

# A year with the act's own number next to it: "ukpga/2004/12", "BOE-A-1995-7730", "241/1990".
_YEAR = re.compile(r"(?:(?<=\d[-/])|(?<!\d)(?=\d{4}[-/]\d))(?:1[5-9]|20)\d\d(?!\d)")


class LawIdentity(NamedTuple):
    """The name, identifier and other names of a law, as in `Article`."""

    law: str
    law_id: str | None = None
    law_names: tuple[str, ...] = ()


def year_of(law_id: str) -> str | None:
    """The year of an act by its identifier; None if it has none, or two numbers may be it.

    >>> year_of("ukpga/2004/12"), year_of("ar/LEY-1950"), year_of("act/1990/1991")
    ('2004', None, None)
    """
    years = _YEAR.findall(law_id)
    return years[0] if len(years) == 1 else None


def title_of(law: str, law_id: str) -> str:
    """The title of a law, without the words that tell its name from another law's.

    >>> title_of("Finance Act (2004)", "ukpga/2004/12")
    'Finance Act'
    """
    for words in (law_id, year_of(law_id)):
        law = law.removesuffix(f" ({words})")
    return law


def names_of_laws(laws: Iterable[Article | LawIdentity]) -> dict[str, tuple[str, ...]]:
    """The further names of each law: its bare title, identifier, and those of its source.

    Args:
        laws: Laws, or all their articles.
    """
    distinct = dict.fromkeys((each.law, each.law_id, each.law_names) for each in laws)
    names: dict[str, dict[str, None]] = {}
    for law, law_id, others in distinct:
        known = names.setdefault(law, {})
        if law_id is not None:
            title, year = title_of(law, law_id), year_of(law_id)
            dated = f"{title} {year}" if year and year not in title else title
            known |= dict.fromkeys((title, dated, law_id))
        known |= dict.fromkeys(others)
        known.pop(law, None)
    return {law: tuple(known) for law, known in names.items()}


class DistinctLaws:
    """Gives each law a name that no other law has.

    A law keeps the name that it is known by. An article without an identifier is of the law with
    its title, and a law whose identifier is unknown is the first one that comes with its title.

    Args:
        known: Laws that have their names already, such as those of a store.

    Attributes:
        renamed: The names of laws whose title is another law's.
    """

    def __init__(self, known: Iterable[LawIdentity] = ()) -> None:
        self._id_of: dict[str, str | None] = {}
        self._name_of: dict[tuple[str, str], str] = {}  # by title and identifier
        self._years: set[tuple[str, str | None]] = set()  # titles with the years of their acts
        self.renamed: list[str] = []
        for law, law_id, _ in known:
            self._keep(law, law_id)

    def article(self, article: Article) -> Article:
        """The article under the name of its law."""
        name = self.name(article.law, article.law_id)
        return article if name == article.law else replace(article, law=name)

    def name(self, law: str, law_id: str | None) -> str:
        """The name of a law by its title, or by a name that an earlier run gave it."""
        if law_id is None:
            self._id_of.setdefault(law, None)
            return law
        name = self._name_of.get((law, law_id))
        if name is None:
            title = title_of(law, law_id)
            name = self._name_of.get((title, law_id)) or self._free_name(law, title, law_id)
            self._keep(name, law_id)
            self._name_of[law, law_id] = name
            if name != law and name.startswith(law):
                self.renamed.append(name)
        return name

    def _free_name(self, law: str, title: str, law_id: str) -> str:
        year = year_of(law_id)
        names = [law, f"{title} ({law_id})"]
        if year and year not in title and (title, year) not in self._years:
            names.insert(1, f"{title} ({year})")
        return next(name for name in names if self._id_of.get(name) in (None, law_id))

    def _keep(self, law: str, law_id: str | None) -> None:
        self._id_of[law] = self._id_of.get(law) or law_id
        if law_id is not None:
            title = title_of(law, law_id)
            self._name_of.setdefault((title, law_id), law)
            self._years.add((title, year_of(law_id)))
