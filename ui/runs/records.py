"""What a run wrote down about its epochs, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ui.runs.json_lines import items, mapping, number, text, whole

Kind = Literal["biencoder", "graph", "ranker", "pretraining", "unknown"]

_MAX_STEPS = 1_000_000  # of an epoch
_MAX_NAMES = 40
_MAX_BUCKETS = 6
_MAX_EXAMPLES = 10
_MAX_NEGATIVES = 100


@dataclass(frozen=True)
class Negative:
    """An article that a question was trained against.

    Attributes:
        article: its id.
        bucket: 0 is the easiest; None where it is not known.
        view: the one that ranks it hardest; "" where there is none.
        tree_distance: to the nearest article that answers; None where it is not known.
    """

    article: str
    bucket: int | None
    view: str
    tree_distance: int | None


@dataclass(frozen=True)
class Example:
    """A question, and what was drawn for it in an epoch.

    Attributes:
        question: its id.
        text: its first characters.
        positives: ids of the articles that answer it.
        drawn: how many negatives it got.
        negatives: those of them that are on record.
    """

    question: str
    text: str
    positives: tuple[str, ...]
    drawn: int
    negatives: tuple[Negative, ...]


@dataclass(frozen=True)
class Epoch:
    """One line of `metrics.jsonl`.

    Attributes:
        number: times that everything had been learnt by then.
        step: steps done by then.
        loss: mean of the epoch that begins here; of a ranker or a pretraining, of the steps since
            the line before.
        losses: of the steps of the epoch that begins here.
        measured: metric to its mean over the questions held back.
        buckets: how many negatives came from each, from easy to difficult.
        views: how many negatives each view ranks hardest.
        tree_distance: mean over the negatives.
        overlap: share of the negatives that had been drawn in the epoch before.
        examples: negatives of single questions.
        final: whether it is of the second training, on all questions.
    """

    number: float
    step: int | None = None
    loss: float | None = None
    losses: tuple[float, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    buckets: tuple[int, ...] = ()
    views: Mapping[str, int] = field(default_factory=dict)
    tree_distance: float | None = None
    overlap: float | None = None
    examples: tuple[Example, ...] = ()
    final: bool = False


def kind_of(records: Sequence[Mapping[str, Any]]) -> Kind:
    """What was trained, as its records show."""
    for record in records:
        if "held_out_loss" in record:
            return "pretraining"
        if (
            "first_stage" in record
            or {"ranker", "biencoder"} & mapping(record.get("negatives")).keys()
        ):
            return "ranker"
        if "graph_change" in record:
            return "graph"
    known = {"dev", "negatives", "losses"}
    return "biencoder" if any(known & record.keys() for record in records) else "unknown"


def epochs_of(records: Sequence[Mapping[str, Any]]) -> tuple[Epoch, ...]:
    """The epochs on record; lines that name none are left out."""
    return tuple(epoch for record in records if (epoch := _epoch(record)))


def epoch_number(value: Any) -> float | None:
    """Times that everything had been learnt, or None where it is no number from 0 on."""
    found = number(value)
    return None if found is None or found < 0 else found


def _epoch(record: Mapping[str, Any]) -> Epoch | None:
    which = epoch_number(record.get("epoch"))
    if which is None:
        return None
    negatives = mapping(record.get("negatives"))
    buckets = [whole(each) for each in items(negatives.get("buckets"), _MAX_BUCKETS)]
    measured = _numbers(record.get("dev"))
    for name in ("perplexity", "held_out_loss"):
        if (value := number(record.get(name))) is not None:
            measured[name] = value
    losses = (number(each) for each in items(record.get("losses"), _MAX_STEPS))
    return Epoch(
        number=which,
        step=whole(record.get("step")),
        loss=number(record.get("loss")),
        losses=tuple(each for each in losses if each is not None),
        measured=measured,
        buckets=() if None in buckets else tuple(each for each in buckets if each is not None),
        views={name: int(n) for name, n in _numbers(negatives.get("views")).items() if n >= 0},
        tree_distance=number(negatives.get("mean_tree_distance")),
        overlap=number(negatives.get("overlap")),
        examples=tuple(
            _example(mapping(each)) for each in items(record.get("examples"), _MAX_EXAMPLES)
        ),
        final=record.get("final") is True,
    )


def _numbers(value: Any) -> dict[str, float]:
    named = ((name, number(each)) for name, each in list(mapping(value).items())[:_MAX_NAMES])
    return {text(name): each for name, each in named if each is not None}


def _example(value: Mapping[str, Any]) -> Example:
    negatives = tuple(
        Negative(
            text(each.get("article")),
            whole(each.get("bucket")),
            text(each.get("view")),
            whole(each.get("tree_distance")),
        )
        for each in map(mapping, items(value.get("negatives"), _MAX_NEGATIVES))
    )
    drawn = whole(value.get("drawn"))
    positives = (text(each) for each in items(value.get("positives"), _MAX_NEGATIVES))
    return Example(
        question=text(value.get("question")),
        text=text(value.get("text")),
        positives=tuple(each for each in positives if each),
        drawn=len(negatives) if drawn is None else drawn,
        negatives=tuple(each for each in negatives if each.article),
    )
