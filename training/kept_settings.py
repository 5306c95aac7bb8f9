"""Settings that a model's manifest keeps."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class KeptSettings:
    """Of a run that makes a model."""

    def to_dict(self) -> dict[str, Any]:
        """The settings as they are kept in a model's manifest."""
        values = dataclasses.asdict(self)
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}
