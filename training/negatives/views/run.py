"""A view from any ranking made elsewhere, read from a TREC run file."""

from __future__ import annotations

import math
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.curriculum import ViewInputs
from training.negatives.gold import Gold, flattened

_SHOWN = 5


class RunView:
    """The order of a run file's scores; articles that it did not find are the easiest.

    A line is `question Q0 article rank score tag`, as trec_eval reads it: the score decides. White
    space in an id is percent-encoded. Questions of the run that are not training questions are
    ignored.

    Args:
        path: The run file.
        gold: The questions and articles.
        device: Where difficulties are stored.

    Raises:
        ValueError: A line cannot be read, names an article that is not in the corpus, or repeats
            one for its question (named with file and line); or the run has no article for a
            question.
        OSError: The file cannot be opened.
    """

    name = "run"

    def __init__(self, path: Path, gold: Gold, device: torch.device) -> None:
        self._device = device
        self._n_articles = gold.n_articles
        article_at = {each: position for position, each in enumerate(gold.article_ids)}
        row_of = {each: row for row, each in enumerate(gold.question_ids)}
        found: list[dict[int, float]] = [{} for _ in gold.question_ids]
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    asked, _, article, _, score, _ = line.split()
                    row = _known(asked, row_of)
                    if row is None:
                        continue
                    position = _known(article, article_at)
                    if position is None:
                        raise ValueError(f"article {article!r} is not in the corpus")
                    if position in found[row]:
                        raise ValueError(f"article {article!r} is repeated for {asked!r}")
                    found[row][position] = float(score)
                    if not math.isfinite(found[row][position]):
                        raise ValueError(f"score {score!r} is not finite")
                except ValueError as error:
                    raise ValueError(
                        f"{path}:{number}: {error}. A run's lines are 'question Q0 article rank "
                        "score tag', over the same corpus"
                    ) from error
        missing = [gold.question_ids[row] for row, scores in enumerate(found) if not scores]
        if missing:
            raise ValueError(
                f"{path}: {len(missing):,} questions found nothing: "
                f"{', '.join(map(repr, missing[:_SHOWN]))}. Give a run of all training questions"
            )
        self._positions = [np.array(list(scores), dtype=np.int64) for scores in found]
        # Only the order counts: 1, 2, ... from the lowest score, 0 for what was not found.
        self._steps = [
            np.unique(np.array(list(scores.values())), return_inverse=True)[1].astype(np.int64) + 1
            for scores in found
        ]

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The rank from the lowest score up, float32 `[n_rows, n_articles]`."""
        row, positions = (torch.from_numpy(each) for each in flattened(self._positions, rows))
        _, steps = flattened(self._steps, rows)
        difficulty = torch.zeros(len(rows), self._n_articles, device=self._device)
        values = torch.from_numpy(steps).to(self._device, torch.float32)
        difficulty[row.to(self._device), positions.to(self._device)] = values
        return difficulty


def of(inputs: ViewInputs) -> RunView:
    """The view of the settings' run file.

    Raises:
        ValueError: As for `RunView`, or the file cannot be read; names the setting.
    """
    path = inputs.settings.run_file
    assert path is not None
    try:
        return RunView(Path(path), inputs.gold, inputs.device)
    except (OSError, ValueError) as error:
        raise ValueError(f"run_file: {path}: {error}") from error


def _known(column: str, among: dict[str, int]) -> int | None:
    return among.get(column, among.get(unquote(column)))
