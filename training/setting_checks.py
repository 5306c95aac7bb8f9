"""What the settings of every training are held to; each refusal names the setting."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path

from components.statutes.metrics import metric_depth
from training.command_line import SettingsError
from training.kept_settings import KeptSettings

_MAX_SEED = 2**32 - 1


def at_least(settings: object, least: float, *names: str) -> None:
    """Refuse a field below its least value or not finite; one that is not given passes."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not least <= value < math.inf:
            raise SettingsError(f"{name} is {value}; it must be at least {least}{_finite(value)}.")


def above_zero(settings: object, *names: str) -> None:
    """Refuse a field that is zero, below or not finite; one that is not given passes."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not 0 < value < math.inf:
            raise SettingsError(f"{name} is {value}; it must be above 0{_finite(value)}.")


def seed_in_range(seed: int) -> None:
    """Refuse a seed that one of NumPy, PyTorch and transformers would not take, long after."""
    if not 0 <= seed <= _MAX_SEED:
        raise SettingsError(f"seed is {seed}; it must be from 0 to {_MAX_SEED:,}.")


def share(settings: object, *names: str) -> None:
    """Refuse a field that is no share, from 0 to below 1; one that is not given passes."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not 0 <= value < 1:
            raise SettingsError(f"{name} is {value}; it is a share, below 1 and not below 0.")


def share_above_zero(settings: object, *names: str) -> None:
    """Refuse a field that is no share between 0 and 1, both left out."""
    for name in names:
        value = getattr(settings, name)
        if not 0 < value < 1:
            raise SettingsError(f"{name} is {value}; it is a share between 0 and 1.")


def only_where(settings: KeptSettings, used: bool, needs: str, *names: str) -> None:
    """Refuse a field with another value than its default where nothing would use it."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in names and not used and value != field.default:
            raise SettingsError(
                f"{field.name} is {value}, and nothing would use it: it is of {needs}. Ask for "
                "that too, or leave it out."
            )


def folder_named(output: str | Path) -> None:
    """Refuse an output that has no name, as "." and "" have none."""
    if not Path(output).name:
        raise SettingsError(
            f"output: {str(output)!r} has no name. Name a folder to make, such as models/mine."
        )


def depth_of_metric(name: str, metric: str) -> int:
    """How many articles the metric looks at that the setting `name` asks for.

    Raises:
        SettingsError: There is no such metric.
    """
    try:
        return metric_depth(metric)
    except ValueError as error:
        raise SettingsError(f"{name}: {error}.") from error


def first_card(device: str | None) -> None:
    """Refuse any card but the first, which transformers' Trainer would take without a word."""
    if (device or "").startswith("cuda:") and device != "cuda:0":
        raise SettingsError(
            f"device is {device}; the Trainer takes the first card that it sees. Set "
            "CUDA_VISIBLE_DEVICES to choose another, and leave device out."
        )


def _finite(value: float) -> str:
    return " and finite" if value == math.inf else ""
