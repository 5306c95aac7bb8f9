"""Where runs lie: the demo's own, that of the store's model, those of folders that were named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from components.stores.failures import StoreError
from ui.runs.json_lines import stamp_of
from ui.runs.run import METRICS_FILE, PROGRESS_FILE

if TYPE_CHECKING:
    from components.retrievers.readable import ReadableStore
    from pipelines.trained_demo import TrainedDemo

_MAX_ENTRIES = 2000
_DEMO = "aldermere"
_WORK = ".work"


@dataclass(frozen=True)
class RunFolder:
    """A run, and where it lies.

    Attributes:
        name: what it is called on the page; no other run has the same.
        folder: with its files.
        finished: whether its model is complete.
        changed: when it last wrote its metrics, in seconds since 1970.
    """

    name: str
    folder: Path
    finished: bool
    changed: float


class Sources:
    """Finds runs; what is not there at the moment is not found.

    Args:
        store: what is searched at this moment; its model's folder may be a run's.
        folders: each may be a run's, and so may every folder right below it.
        demo: the training on the demo law.
    """

    def __init__(
        self,
        store: Callable[[], ReadableStore],
        folders: Sequence[Path] = (),
        demo: TrainedDemo | None = None,
    ) -> None:
        self._store = store
        self._folders = [folder.expanduser().resolve() for folder in folders]
        self._demo = demo

    def runs(self) -> list[RunFolder]:
        """The runs, the latest first."""
        found: dict[Path, RunFolder] = {}
        for model, name in self._places():
            run = _run_of(model, name)
            if run is not None:
                found.setdefault(_resolved(run.folder), run)
        named: dict[str, RunFolder] = {}
        for run in found.values():
            name = next(each for each in _names(run.name) if each not in named)
            named[name] = replace(run, name=name)
        return sorted(named.values(), key=lambda run: -run.changed)

    def _places(self) -> Iterator[tuple[Path, str]]:
        """Folders that may hold a model, and what its run is called."""
        if self._demo is not None:
            yield self._demo.model, _DEMO
        model = self._model_of_store()
        if model is not None:
            yield from _named(model)
        for folder in self._folders:
            yield from _named(folder)
            try:
                below = list(islice(folder.iterdir(), _MAX_ENTRIES))
            except OSError:
                continue
            for each in sorted(below):
                yield from _named(each)

    def _model_of_store(self) -> Path | None:
        try:
            # Stores of other engines record none.
            recorded = getattr(self._store(), "model", None)
        except StoreError:
            return None
        return None if recorded is None else Path(recorded.path)


def _named(folder: Path) -> Iterator[tuple[Path, str]]:
    name = folder.name.removesuffix(_WORK)
    if name:
        # What is no text in UTF-8 could not stand in an address.
        shown = name.encode("utf-8", "replace").decode()
        yield folder.with_name(name), shown


def _names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} ({number})" for number in count(2))


def _run_of(model: Path, name: str) -> RunFolder | None:
    """The run that made a model, or that is making it."""
    stamp = stamp_of(model / METRICS_FILE)
    if stamp is not None:
        return RunFolder(name, model, True, stamp[0] / 1e9)
    work = model.with_name(f"{model.name}{_WORK}")
    for file in (METRICS_FILE, PROGRESS_FILE):
        stamp = stamp_of(work / file)
        if stamp is not None:
            return RunFolder(name, work, False, stamp[0] / 1e9)
    return None


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder
