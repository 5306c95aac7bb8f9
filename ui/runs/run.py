"""A training run, read from its folder as far as its files go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ui.runs.json_lines import mapping, read_lines, read_object, stamp_of, text, whole
from ui.runs.records import Epoch, Kind, epoch_number, epochs_of, kind_of

METRICS_FILE = "metrics.jsonl"
PROGRESS_FILE = "progress.json"
_MANIFEST_FILE = "manifest.json"

_METRICS_LIMIT = 8 << 20
_METRICS_LINES = 2000
_OBJECT_LIMIT = 1 << 20
_KEPT = 16

# Of what is measured, what stands for all of it where nobody says by what the model was chosen.
_TELLING = ("R@10", "MRR@10", "MAP", "perplexity")


@dataclass(frozen=True)
class Run:
    """What is known of a run.

    Attributes:
        kind: what was trained.
        epochs: in their order.
        metric: of what is measured, the one that is drawn; None where nothing is measured.
        chosen_by: whether that one chose the model.
        best: the epoch whose weights were kept, where that is on record.
        settings: as the model's manifest has them; empty where it has none.
        base_model: what training started from, as the manifest says; may be "".
        corpus: digest of the law that was trained on; "" where that is not on record.
        missing: whether nothing is written down yet.
        damaged: how many of the lines that were read are none of an epoch.
        cut: whether the file is longer than what was read.
    """

    kind: Kind
    epochs: tuple[Epoch, ...]
    metric: str | None
    chosen_by: bool
    best: float | None
    settings: Mapping[str, Any]
    base_model: str
    corpus: str
    missing: bool
    damaged: int
    cut: bool

    @cached_property
    def shown(self) -> tuple[Epoch, ...]:
        """The epochs that are drawn: those of the first training, which chose the model."""
        return tuple(epoch for epoch in self.epochs if not epoch.final)

    @cached_property
    def buckets(self) -> int:
        """Into how many parts the ranking was cut; 0 where that is not known."""
        return max((len(epoch.buckets) for epoch in self.epochs), default=0)

    @cached_property
    def views(self) -> tuple[str, ...]:
        """The views that ranked the negatives."""
        return tuple(dict.fromkeys(name for epoch in self.epochs for name in epoch.views))


@dataclass(frozen=True)
class Progress:
    """Where a run that is not finished is: steps done, and of how many."""

    step: int
    steps: int


def read_run(folder: Path) -> Run:
    """Read a run; what is damaged or missing is left out, and said."""
    metrics, manifest = folder / METRICS_FILE, folder / _MANIFEST_FILE
    return _read(metrics, stamp_of(metrics), manifest, stamp_of(manifest))


def read_progress(folder: Path) -> Progress | None:
    """Where a run is, if it says so."""
    where = read_object(folder / PROGRESS_FILE, _OBJECT_LIMIT)
    step, steps = whole(where.get("step")), whole(where.get("steps"))
    return Progress(step, steps) if step is not None and steps else None


@lru_cache(maxsize=_KEPT)
def _read(
    metrics: Path,
    _metrics_stamp: tuple[int, int] | None,
    manifest: Path,
    _manifest_stamp: tuple[int, int] | None,
) -> Run:
    """The stamps are in the key, so that what is kept of older contents is not found."""
    found = read_lines(metrics, _METRICS_LIMIT, _METRICS_LINES)
    about = read_object(manifest, _OBJECT_LIMIT)
    settings = mapping(about.get("config"))
    epochs = epochs_of(found.objects)
    measured = dict.fromkeys(name for epoch in epochs for name in epoch.measured)
    select_by = text(settings.get("select_by"))
    preferred = [name for name in (select_by, *_TELLING, *measured) if name in measured]
    return Run(
        kind=kind_of(found.objects),
        epochs=epochs,
        metric=preferred[0] if preferred else None,
        chosen_by=bool(preferred) and preferred[0] == select_by,
        best=epoch_number(mapping(about.get("metrics")).get("epoch")),
        settings=settings,
        base_model=text(about.get("base_model")),
        corpus=text(mapping(about.get("data")).get("corpus_sha256")),
        missing=found.missing,
        damaged=found.damaged + len(found.objects) - len(epochs),
        cut=found.cut,
    )
