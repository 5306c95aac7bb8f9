"""Boosted trees that order a question's candidates, learnt from questions with known articles.

LambdaMART (Burges, 2010), which is LightGBM's `lambdarank`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.models.errors import ModelError

if TYPE_CHECKING:
    from lightgbm import Booster

FEW_QUESTIONS = 300
"""With fewer questions than this the trees are smaller, and training.fusion cross-validates."""

_PARAMETERS: Mapping[str, Any] = {
    "objective": "lambdarank",
    "metric": "ndcg",
    "eval_at": [10],
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.5,
    "lambda_l2": 5,
    "lambdarank_truncation_level": 30,
    "num_threads": 1,
    "deterministic": True,
    # Otherwise LightGBM times both histogram methods, and on a busy machine either may win.
    "force_row_wise": True,
    "verbosity": -1,
}
_LEAVES_OF_FEW = 5
_MOST_ROUNDS = 600
_PATIENCE = 100
_VALIDATION = 6  # one in so many questions decides when to stop


@dataclass(frozen=True)
class Example:
    """A question to learn from.

    Attributes:
        table: One row for each candidate, float32 `[n, n_columns]`.
        relevant: Which candidates answer it, bool `[n]`.
    """

    table: NDArray[np.float32]
    relevant: NDArray[np.bool_]


class BoostedTrees:
    """Boosted trees that score candidates by the columns of a table.

    Args:
        booster: The LightGBM model.
        columns: Names of the table's columns.
    """

    def __init__(self, booster: Booster, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._booster = booster

    @classmethod
    def learn(
        cls,
        examples: Sequence[Example],
        columns: Sequence[str],
        *,
        seed: int = 0,
        rounds: int | None = None,
    ) -> BoostedTrees:
        """Learn from questions; the same ones and the same seed give the same trees.

        Questions without a candidate that answers them are left out.

        Args:
            examples: At least two with a candidate that answers.
            columns: Names of the columns of their tables.
            seed: Of what is drawn.
            rounds: Number of trees. If given, all questions are learnt from and the trees are
                small. If None, a random sixth of the questions is held out, and learning stops when
                their nDCG@10 no longer rises; the trees are small only if there are fewer than
                `FEW_QUESTIONS` questions.

        Raises:
            ModelError: Fewer than two questions have a candidate that answers; or LightGBM cannot
                be loaded.
        """
        lightgbm = load_lightgbm()
        useful = [each for each in examples if each.relevant.any()]
        if len(useful) < 2:
            raise ModelError(
                f"Questions with a candidate that answers them: {len(useful)}. Learning needs at "
                "least 2. Give more questions."
            )
        order = np.random.default_rng(seed).permutation(len(useful)).tolist()
        n_stopping = 0 if rounds else max(1, len(useful) // _VALIDATION)

        def dataset(places: Sequence[int], reference: Any = None) -> Any:
            chosen = [useful[place] for place in sorted(places)]
            return lightgbm.Dataset(
                np.concatenate([each.table for each in chosen]),
                label=np.concatenate([each.relevant for each in chosen]).astype(np.float32),
                group=[len(each.relevant) for each in chosen],
                feature_name=list(columns),
                reference=reference,
                params={"verbosity": -1},
            )

        parameters = {**_PARAMETERS, "seed": seed}
        if rounds or len(useful) < FEW_QUESTIONS:
            parameters["num_leaves"] = _LEAVES_OF_FEW
        learnt = dataset(order[n_stopping:])
        stopping: dict[str, Any] = {}
        if not rounds:
            stopping = {
                "valid_sets": [dataset(order[:n_stopping], learnt)],
                "callbacks": [lightgbm.early_stopping(_PATIENCE, verbose=False)],
            }
        booster = lightgbm.train(parameters, learnt, rounds or _MOST_ROUNDS, **stopping)
        # Read back from its text: what is measured now is what will be loaded.
        text = booster.model_to_string(num_iteration=booster.best_iteration)
        return cls(lightgbm.Booster(model_str=text), columns)

    def scores(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """The score of each candidate, float64 `[n]`: higher is better, within one question."""
        # A question's table is too small for a second thread to pay.
        return np.asarray(self._booster.predict(table, num_threads=1), dtype=np.float64)

    def importance(self) -> dict[str, float]:
        """Share of all gain that each column brought, highest first."""
        gains = self._booster.feature_importance("gain")
        shares = (gains / max(gains.sum(), 1e-12)).tolist()
        by_name = dict(zip(self.columns, shares, strict=True))
        return dict(sorted(by_name.items(), key=lambda item: -item[1]))

    def save(self, path: Path) -> str:
        """Write the trees as text; returns its sha256."""
        text = self._booster.model_to_string().encode()
        path.write_bytes(text)
        return hashlib.sha256(text).hexdigest()

    @classmethod
    def load(cls, path: Path, columns: Sequence[str], sha256: str) -> BoostedTrees:
        """Read what `save` wrote.

        Args:
            path: The file.
            columns: Names of the columns that it must have.
            sha256: What `save` returned.

        Raises:
            ModelError: The file is missing, broken, changed or of other columns; or LightGBM cannot
                be loaded.
        """
        repair = "Copy the model folder again, or learn this part again."
        try:
            text = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read ({error}). {repair}") from error
        # What a copy damaged is refused here, before anything reads it.
        if hashlib.sha256(text).hexdigest() != sha256:
            raise ModelError(f"{path}: is not what was saved (digest differs). {repair}")
        lightgbm = load_lightgbm()
        try:
            written = text.decode()
            _check_trees(written, len(columns))
            booster = lightgbm.Booster(model_str=written)
        except (lightgbm.basic.LightGBMError, KeyError, ValueError) as error:
            raise ModelError(f"{path}: is not a booster ({error}). {repair}") from error
        if booster.feature_name() != list(columns):
            raise ModelError(f"{path}: its columns are not the expected ones. {repair}")
        return cls(booster, columns)


def _check_trees(text: str, n_features: int) -> None:
    """Refuse trees that LightGBM, which trusts what it reads, would follow in a circle or too far.

    Raises:
        KeyError, ValueError: the text does not describe such trees.
    """
    header, _, _ = text.partition("\n\n")
    sizes = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)["tree_sizes"]
    start = len(header) + 2
    blocks = []
    for number, size in enumerate(map(int, sizes.split())):
        blocks.append(text[start : start + size])
        if size < 1 or not blocks[-1].startswith(f"Tree={number}\n"):
            raise ValueError(f"the length of tree {number} does not match tree_sizes")
        start += size
    if not text.startswith("end of trees", start):
        raise ValueError("the trees do not end where tree_sizes says")
    for block in blocks:
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        n_leaves = int(fields["num_leaves"])
        if n_leaves < 1 or int(fields["num_cat"]):
            raise ValueError("a tree has no leaf, or splits by category")
        if n_leaves == 1:
            continue
        # A node's children come after it; -1 - n stands for the n-th leaf.
        for side in ("left_child", "right_child"):
            children = [int(each) for each in fields[side].split()]
            if len(children) != n_leaves - 1 or not all(
                node < child < n_leaves - 1 or -n_leaves <= child < 0
                for node, child in enumerate(children)
            ):
                raise ValueError(f"the nodes of a tree do not fit together ({side})")
        columns = [int(each) for each in fields["split_feature"].split()]
        counts = [len(fields[each].split()) for each in ("threshold", "leaf_value")]
        if len(columns) != n_leaves - 1 or counts != [n_leaves - 1, n_leaves]:
            raise ValueError("a tree has too few or too many numbers")
        if not all(0 <= column < n_features for column in columns):
            raise ValueError("a tree reads a column that is not there")


def load_lightgbm() -> Any:
    """LightGBM, imported when it is first needed.

    Raises:
        ModelError: It cannot be loaded; names the package to install.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise ModelError("boosted trees need LightGBM: pip install lightgbm.") from error
    except OSError as error:
        raise ModelError(
            f"LightGBM cannot be loaded ({error}). Install OpenMP's library: apt install libgomp1 "
            "(Debian, Ubuntu), dnf install libgomp (Fedora), brew install libomp (macOS)."
        ) from error
    return lightgbm
