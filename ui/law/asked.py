"""What an address asks for, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import get_args
from urllib.parse import parse_qsl

from starlette.requests import Request

from ui.language import Language, language_of, number
from ui.takeaway import Kind
from ui.texts.refusals import TEXTS

KINDS: tuple[Kind, ...] = get_args(Kind)

# A division's address names every heading on the way to it, in percent signs.
MOST_CHARACTERS = 16_384
_MOST_PARAMETERS = 100
_SHOWN = 80

# What mail and social networks append to links; it asks for nothing, and would end a shared link.
_APPENDED = re.compile(
    r"utm_\w+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|igshid|ttclid|twclid|li_fat_id|yclid"
    r"|mc_[ce]id|mtm_\w+|pk_\w+|_hsenc|_hsmi|srsltid"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PAGE = re.compile(r"[1-9][0-9]{0,5}")


class WrongRequestError(Exception):
    """An address that is not right; says why, in the reader's language."""


@dataclass(frozen=True)
class Asked:
    """The parameters of a request.

    Attributes:
        language: Of the interface.
        values: Each parameter's values, in their order, none of them blank.
    """

    language: Language
    values: dict[str, list[str]]

    @classmethod
    def of(cls, request: Request, once: Sequence[str], often: Sequence[str] = ()) -> Asked:
        """Read a request.

        Args:
            request: What was sent.
            once: Parameters that may be given, once.
            often: Parameters that may be given more than once.

        Raises:
            WrongRequestError: A parameter is unknown, repeated or blank, or all are too long.
        """
        language = language_of(request.url.path)
        texts = TEXTS[language]
        sent: bytes = request.scope["query_string"]
        if len(sent) > MOST_CHARACTERS or sent.count(b"&") >= _MOST_PARAMETERS:
            raise WrongRequestError(texts.too_long.format(most=number(MOST_CHARACTERS, language)))
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(sent.decode("utf-8", "replace"), keep_blank_values=True):
            if name not in (*once, *often):
                if _APPENDED.fullmatch(name):
                    continue
                known = ", ".join((*once, *often))
                told = texts.unknown_parameter.format(name=shortened(name), known=known)
                raise WrongRequestError(told)
            if not value.strip():
                raise WrongRequestError(texts.empty.format(name=name))
            values.setdefault(name, []).append(value)
            if name in once and len(values[name]) > 1:
                raise WrongRequestError(texts.twice.format(name=name))
        return cls(language, values)

    def one(self, name: str) -> str | None:
        """The value of a parameter; None where it is not given."""
        return self.values.get(name, [None])[0]

    def required(self, name: str) -> str:
        """The value of a parameter.

        Raises:
            WrongRequestError: It is not given.
        """
        value = self.one(name)
        if value is None:
            raise WrongRequestError(TEXTS[self.language].absent_parameter.format(name=name))
        return value

    def day(self, name: str) -> date | None:
        """The day that a parameter gives; None where it gives none.

        Raises:
            WrongRequestError: It is no day.
        """
        value = self.one(name)
        if value is None:
            return None
        try:
            if _DAY.fullmatch(value):
                return date.fromisoformat(value)
        except ValueError:
            pass
        raise WrongRequestError(TEXTS[self.language].wrong_day.format(value=shortened(value)))

    def kind(self, name: str) -> Kind | None:
        """The kind of file that a parameter gives; None where it gives none.

        Raises:
            WrongRequestError: There is no such kind.
        """
        value = self.one(name)
        if value is None:
            return None
        for kind in KINDS:
            if kind == value:
                return kind
        told = TEXTS[self.language].wrong_kind
        raise WrongRequestError(told.format(known=", ".join(KINDS), value=shortened(value)))

    def page(self, name: str) -> int:
        """The page that a parameter gives, from 1; 1 where it gives none.

        Raises:
            WrongRequestError: It is no page.
        """
        value = self.one(name)
        if value is None:
            return 1
        if not _PAGE.fullmatch(value):
            raise WrongRequestError(TEXTS[self.language].wrong_page.format(value=shortened(value)))
        return int(value)


def shortened(value: str) -> str:
    """The beginning of what was asked, where it is long."""
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
