"""Any ranking made elsewhere as a view, read from a TREC run file."""

from __future__ import annotations

import math
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.gold import Gold, flattened
from training.negatives.options import Given

_SETTING = "run_file (in Python: run)"
_COLUMNS = 6
_SHOWN = 5
# Bytes that are no UTF-8, as surrogateescape reads them.
_BYTES = re.compile("[\udc80-\udcff]")


class RunView:
    """The order of a run file's scores; what the run did not find is easier than all it found.

    A line is `question Q0 article rank score tag`, as trec_eval reads it: the score decides. White
    space in an id is percent-encoded. Questions of the run that are not trained on are left out.

    Args:
        path: The run file.
        gold: The questions and articles.
        device: Where difficulties are put.

    Raises:
        ValueError: A line cannot be read, names an article that is not in the corpus or stands
            there twice for its question (each named with file and line); or a question found
            nothing.
        OSError: The file cannot be opened.
    """

    name = "run"

    def __init__(self, path: Path, gold: Gold, device: torch.device) -> None:
        self._device = device
        self._n_articles = gold.n_articles
        article_at = {each: position for position, each in enumerate(gold.article_ids)}
        row_of = {each: row for row, each in enumerate(gold.question_ids)}
        found: list[dict[int, float]] = [{} for _ in gold.question_ids]
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, start=1):
                if _BYTES.search(line):
                    raise ValueError(f"{path}:{number}: is not UTF-8 text. Save it as UTF-8")
                columns = line.split()
                if not columns:
                    continue
                if len(columns) != _COLUMNS:
                    raise ValueError(
                        f"{path}:{number}: {len(columns)} columns where a run has six, 'question "
                        "Q0 article rank score tag'. Mend the line"
                    )
                row = _known(columns[0], row_of)
                if row is None:
                    continue
                position = _known(columns[2], article_at)
                if position is None:
                    raise ValueError(
                        f"{path}:{number}: article {columns[2]!r} is not in the corpus. Give a run "
                        "over the same corpus"
                    )
                if position in found[row]:
                    raise ValueError(
                        f"{path}:{number}: article {columns[2]!r} stands twice for question "
                        f"{columns[0]!r}. Remove one of the lines"
                    )
                found[row][position] = _score(columns[4], f"{path}:{number}")
        missing = [gold.question_ids[row] for row, scores in enumerate(found) if not scores]
        if missing:
            raise ValueError(
                f"{path}: {len(missing):,} questions found nothing: "
                f"{', '.join(map(repr, missing[:_SHOWN]))}. Give a run of all training questions"
            )
        self._positions = [np.array(list(scores), dtype=np.int64) for scores in found]
        # The order is what counts: 1, 2, ... from the lowest score, 0 for what was not found.
        self._steps = [
            np.unique(np.array(list(scores.values())), return_inverse=True)[1].astype(np.int64) + 1
            for scores in found
        ]

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The steps from the lowest score up, float32 `[n_rows, n_articles]`."""
        row, positions = (torch.from_numpy(each) for each in flattened(self._positions, rows))
        _, steps = flattened(self._steps, rows)
        difficulty = torch.zeros(len(rows), self._n_articles, device=self._device)
        values = torch.from_numpy(steps).to(self._device, torch.float32)
        difficulty[row.to(self._device), positions.to(self._device)] = values
        return difficulty


def of(given: Given) -> RunView:
    """From the options' run file.

    Raises:
        ValueError: As for `RunView`; names the setting.
        OSError: Likewise.
    """
    path = given.options.run
    assert path is not None
    try:
        return RunView(path, given.gold, given.device)
    except OSError as error:
        raise type(error)(
            f"{_SETTING}: {path} cannot be read ({error.strerror}). Give a TREC run file"
        ) from error
    except ValueError as error:
        raise ValueError(f"{_SETTING}: {error}") from error


def _known(column: str, among: dict[str, int]) -> int | None:
    return among.get(column, among.get(unquote(column)))


def _score(column: str, place: str) -> float:
    try:
        score = float(column)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ValueError(f"{place}: score {column!r} is not a number. Mend the line")
    return score
