"""What a run records: metrics by epoch and its environment."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from components.models.folder import whole_file

METRICS_FILE = "metrics.jsonl"

_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "numpy", "lexarbor")


def write_metrics(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records of all epochs so far, one JSON object per line, replacing the file."""
    with whole_file(path) as partial:
        partial.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def refresh_shares(record: Mapping[str, Any], n_articles: int, n_pairs: int) -> dict[str, float]:
    """Share of an epoch's time spent encoding the law, and the share to expect.

    Training on a text costs a forward and a backward pass, about three times as much as encoding
        it: with N articles, Q questions of P positives and n negatives each, the share should be
    N / (N + 3 Q (P + n)).

    Args:
        record: The epoch's record, its steps done.
        n_articles: N.
        n_pairs: Q P.
    """
    encoding, training = record["seconds_encoding"], record["seconds_training"]
    trained_on = n_pairs + record["negatives"]["drawn"]
    return {
        "refresh_share": encoding / (encoding + training),
        "predicted_refresh_share": n_articles / (n_articles + 3 * trained_on),
    }


LEAST_OWN_MASS = 0.1
"""Below this share of the gradient, where a question's own negatives come from hardly matters."""


def own_mass_warning(records: Sequence[Mapping[str, Any]], n_epochs: int) -> str | None:
    """A warning if the drawn negatives have got almost none of the gradient from the beginning on.

    It comes once: after the second epoch, or the only one.

    Args:
        records: Of the epochs so far, the last one's steps done.
        n_epochs: Epochs of the whole run.
    """
    trained = [each for each in records if each.get("own_mass") is not None]
    masses = [sum(each["own_mass"]) for each in trained if each["negatives"]["drawn"]]
    if len(trained) != min(2, n_epochs) or not masses or max(masses) >= LEAST_OWN_MASS:
        return None
    return (
        f"These negatives teach almost nothing: {max(masses):.3f} at most of the gradient of an "
        "epoch's negatives falls on those drawn for the question, the rest on the batch's other "
        "articles. Draw harder ones (candidates 100), or compare with them alone (in_batch false)"
    )


def environment(device: str) -> dict[str, Any]:
    """What a result may depend on besides the settings.

    Args:
        device: The kind of device, such as "cuda".
    """
    packages: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {"python": platform.python_version(), "device": name, **packages}


def numbers_of(record: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a record under one-level names, joined by "/"."""
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            numbers |= numbers_of(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            numbers[prefix + name] = value
    return numbers
