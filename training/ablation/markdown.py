"""Pieces of the tables that every grid ends with, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.statutes.significance import ArmScore, Line, compare_arms

NONE = "–"


def comparison(lines: Mapping[str, Sequence[Line]], metric: str, baseline: str) -> str:
    """One metric with its interval, and beside the baseline.

    Args:
        lines: Arm to the lines of its runs.
        metric: A key of the lines' values.
        baseline: The arm that the others are compared with.
    """
    rows = [
        [arm_name(score.arm, baseline), with_interval(score), *against(score)]
        for score in compare_arms(lines, metric, baseline)
    ]
    header = [
        *("arm", metric, f"difference to {baseline}", "p (Holm)"),
        "smallest detectable difference (uncorrected)",
    ]
    return markdown(header, rows)


def with_interval(score: ArmScore) -> str:
    """A mean with its interval."""
    return f"{number(score.mean)} [{number(score.interval[0])}, {number(score.interval[1])}]"


def against(score: ArmScore) -> list[str]:
    """Difference with its interval, p, and the smallest difference that would have shown."""
    if score.against is None or score.p is None:
        return [NONE] * 3
    low, high = score.against.interval
    detectable = score.against.detectable
    return [
        f"{_signed(score.against.difference)} [{_signed(low)}, {_signed(high)}]",
        f"{score.p:.4f}",
        NONE if detectable is None else number(detectable),
    ]


def machines(lines: Mapping[str, Sequence[Line]]) -> str:
    """Where the runs were made."""
    environments = [line["environment"] for of_arm in lines.values() for line in of_arm]
    return "; ".join(
        sorted({f"{of['device']} ({of['dtype']}, torch {of['torch']})" for of in environments})
    )


def asked_and_seeds(lines: Mapping[str, Sequence[Line]]) -> tuple[int, str]:
    """How many questions were measured, and with which seeds."""
    flat = [line for of_arm in lines.values() for line in of_arm]
    questions = {question for line in flat for question in line["questions"]}
    return len(questions), ", ".join(map(str, sorted({line["seed"] for line in flat})))


def arm_name(name: str, baseline: str) -> str:
    """The baseline's stands out."""
    return f"**{name}**" if name == baseline else name


def number(value: float) -> str:
    """A metric's value."""
    return f"{value:.3f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    columns = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, columns, *rows))


def _signed(value: float) -> str:
    return f"{value:+.3f}"
