"""What a Hugging Face Trainer logs, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

# The Trainer's names for what it logs.
LOSS, EVAL_LOSS = "loss", "eval_loss"


def measurings(
    history: Sequence[Mapping[str, Any]], is_measuring: Callable[[Mapping[str, Any]], bool]
) -> Iterator[tuple[Mapping[str, Any], dict[str, float]]]:
    """Each measuring of a run, with what the steps before it cost.

    Args:
        history: What the Trainer logged, in its order.
        is_measuring: Tells an entry of something measured from the others.

    Yields:
        The entry; and after step 0 `loss`, the mean of the training steps since the last measuring,
        and `learning_rate` of the last of them.
    """
    summed, last_logged, last_measured = 0.0, 0, 0
    rate = 0.0
    for entry in history:
        step = entry["step"]
        if LOSS in entry:
            summed += entry[LOSS] * (step - last_logged)
            last_logged, rate = step, entry["learning_rate"]
        if not is_measuring(entry):
            continue
        trained = {}
        if step > last_measured:
            trained = {"loss": summed / (step - last_measured), "learning_rate": rate}
            summed, last_measured = 0.0, step
        yield entry, trained
