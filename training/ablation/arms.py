"""The arms of the comparison: one training run each, one switch apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from training.command_line import SettingsError
from training.settings import CusinesSettings

BASELINE = "bm25_fixed"
UNTRAINED = "untrained"
IN_BATCH = "in_batch"

# What the arms differ in; an arm that does not name one of these has CuSINeS's own value.
_FULL: Mapping[str, Any] = {
    "views": ("tree", "sequence", "semantic"),
    "schedule": "curriculum",
    "permute_tree": False,
}
MAX_BUCKETS = 6

ARMS: Mapping[str, Mapping[str, Any]] = {
    # The model as training starts from it.
    UNTRAINED: {},
    # No negatives of its own; `arm_settings` makes the batches larger instead.
    IN_BATCH: {"negatives_per_question": 0, "views": (), "buckets": 1},
    # Uniform over the corpus, drawn anew in each epoch.
    "random": {"views": (), "buckets": 1},
    # The papers' baseline: the best of BM25's ranking, the same in each epoch.
    BASELINE: {"views": ("bm25",), "schedule": "fixed", "buckets": 1},
    "tree": {"views": ("tree",)},
    "sequence": {"views": ("sequence",)},
    "semantic": {"views": ("semantic",)},
    "structural": {"views": ("tree", "sequence")},
    # A control: neighbours in the law are no neighbours here, all else is CuSINeS.
    "permuted": {"permute_tree": True},
    "constant": {"schedule": "constant"},
    "reversed": {"schedule": "reversed"},
    "hardest": {"schedule": "fixed", "buckets": 1},
    "static": {"views": ("tree", "sequence", "bm25")},
    "cusines": {},
    # Not of the paper: words count as a view of their own beside the model that is trained.
    "mixed": {"views": ("tree", "sequence", "semantic", "bm25")},
    **{f"buckets_{buckets}": {"buckets": buckets} for buckets in range(1, MAX_BUCKETS + 1)},
}
"""Arm to the settings in which it differs from CuSINeS with everything."""

_BUCKETS = tuple(name for name in ARMS if name.startswith("buckets_"))

TABLES: Mapping[str, Sequence[str]] = {
    "main": (
        *(UNTRAINED, IN_BATCH, "random", BASELINE, "structural"),
        *("permuted", "constant", "static", "cusines"),
    ),
    "table2": (UNTRAINED, IN_BATCH, "random", BASELINE, "semantic", "cusines"),
    "table3": (BASELINE, "tree", "sequence", "semantic", "structural", "permuted", "cusines"),
    "table4": (BASELINE, "static", "cusines"),
    "figure1": (BASELINE, "hardest", "constant", "reversed", "cusines", *_BUCKETS),
}
"""The paper's tables and figure, and `main`, which has an arm for each part of the method."""

SCHEDULES = ("hardest", "constant", "reversed", "cusines")
BUCKETS = _BUCKETS


def arms_of(tables: Sequence[str], arms: Sequence[str]) -> tuple[str, ...]:
    """The arms of some tables and those named beside them, each once, in the order of `ARMS`.

    Raises:
        SettingsError: There is no such table or arm.
    """
    for field, names, known in (("tables", tables, TABLES), ("arms", arms, ARMS)):
        for name in names:
            if name not in known:
                raise SettingsError(f"{field}: none is called {name!r}; there are {_list(known)}.")
    wanted = {*arms, *(arm for table in tables for arm in TABLES[table])}
    return tuple(arm for arm in ARMS if arm in wanted)


def arm_settings(arm: str, base: CusinesSettings) -> CusinesSettings:
    """The settings of an arm's run.

    Args:
        arm: A name of `ARMS`.
        base: What all arms have in common.
    """
    changes = {**_FULL, **ARMS[arm]}
    if arm == IN_BATCH:
        # The other arms encode a pair's positive and n negatives. Here a batch has 1 + n times
        # the pairs, and they are seen 1 + n times as often: as many articles a step and in all,
        # and, but for short last batches, as many steps.
        times = 1 + base.negatives_per_question
        # Measured as often as the others, it has no more epochs to choose the best from.
        changes |= {
            "batch_size": base.batch_size * times,
            "epochs": base.epochs * times,
            "measure_every": base.measure_every * times,
        }
    return replace(base, **changes)


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(names)
