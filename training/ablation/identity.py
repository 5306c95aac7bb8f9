"""What makes two runs the same run: an old line of the results is found by it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from training.settings import CusinesSettings

# Where things lie, what else tells them apart (digests, the seed), or what changes no result but
# by the order of a sum.
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "trackers"),
    *("token_budget", "gradient_caching"),
}
# All that matters of an untrained model.
_OF_THE_MODEL = {
    *("pooling", "max_tokens", "head", "passage_tokens", "max_passages", "head_pooling"),
    *("text_rule", "bm25_k1", "bm25_b", "dtype"),
}
_IDENTITY = (
    *("corpus_sha256", "questions_sha256", "split_sha256", "start"),
    *("trained", "settings", "seed", "fold", "folds"),
)


def keyed_settings(settings: CusinesSettings, *, trained: bool) -> dict[str, Any]:
    """The settings that a run's result depends on, without paths, as JSON has them."""
    values = settings.to_dict()
    return {name: values[name] for name in _names(trained=trained)}


def key_of(line: Mapping[str, Any]) -> str:
    """The key of a run, from what its line in the results says of it.

    A setting that did not exist when the line was written has its default, so that a new one does
    not make old results void.

    Raises:
        KeyError: The line lacks a field.
    """
    identity = {name: line[name] for name in _IDENTITY}
    defaults = {name: _DEFAULTS[name] for name in _names(trained=line["trained"])}
    identity["settings"] = {**defaults, **line["settings"]}
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _names(*, trained: bool) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(CusinesSettings)
        if field.name not in _NOT_IN_KEY and (trained or field.name in _OF_THE_MODEL)
    ]


_DEFAULTS: dict[str, Any] = {
    field.name: list(field.default) if isinstance(field.default, tuple) else field.default
    for field in dataclasses.fields(CusinesSettings)
}
