"""HTML of a run: the list that it is chosen from, what is known of it, its curves and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import PurePath
from typing import Any

from ui.article_text import words
from ui.language import Language, address, counted, day, decimal, number
from ui.law.links import with_query
from ui.runs.curves import (
    CHARTS,
    Chart,
    alternative,
    chart_note,
    chart_title,
    charts_of,
    epoch_name,
    evenly,
    measure,
    metric_name,
    parts_of,
    some_bars,
)
from ui.runs.drawing import HEIGHT, WIDTH, percent
from ui.runs.records import Epoch
from ui.runs.run import Progress, Run
from ui.runs.sources import RunFolder
from ui.texts import curves as texts_of_curves
from ui.texts.training import TEXTS

TRAINING = "/training"
CURVES = "/curves"

_FIRST_RUNS = 8
_LISTED_RUNS = 60
_MAX_ROWS = 60
_LISTED_METRICS = ("R@10", "R@100", "MAP", "MRR@10")
_MAX_METRICS = 4
_DRAWING = ("biencoder", "graph")
_CUT_METRIC = re.compile(r"(R|MAP|MRR)(?:@(\d{1,4}))?")


def run_link(name: str, language: Language, question: int | None = None) -> str:
    """The address of a run's view; with a question, that of its negatives there."""
    steps = [("run", name)]
    if question is not None:
        steps.append(("question", str(question)))
    there = address(with_query(TRAINING, steps), language)
    return there if question is None else f"{there}#curriculum"


def run_list(runs: Sequence[RunFolder], chosen: RunFolder, language: Language) -> str:
    """The latest runs as links, and the chosen one."""
    texts = TEXTS[language]
    shown = list(runs[:_LISTED_RUNS])
    if chosen not in shown:
        shown.append(chosen)
    listed = []
    for run in shown:
        current = ' aria-current="true"' if run is chosen else ""
        told = [texts.changed.format(day=day(on, language))] if (on := _day(run.changed)) else []
        if not run.finished:
            told.append(texts.unfinished)
        listed.append(
            f'<li><a href="{words(run_link(run.name, language))}"{current}>{words(run.name)}</a>'
            f" <span>{words(', '.join(told))}</span></li>"
        )
    first, others = ("".join(part) for part in (listed[:_FIRST_RUNS], listed[_FIRST_RUNS:]))
    folded = ""
    if others:
        open_ = " open" if chosen in shown[_FIRST_RUNS:] else ""
        left = len(runs) - len(shown)
        more = f"<p>{words(counted(left, texts.unlisted, language))}</p>" if left else ""
        folded = (
            f"<details{open_}><summary>{words(texts.older)}</summary>"
            f'<ul class="choices">{others}</ul>{more}</details>'
        )
    return (
        f'<h2 id="runs">{words(texts.runs)}</h2><p class="quiet">{words(texts.runs_note)}</p>'
        f'<nav aria-labelledby="runs"><ul class="choices">{first}</ul>{folded}</nav>'
    )


def run_summary(folder: RunFolder, run: Run, progress: Progress | None, language: Language) -> str:
    """What was trained, from what, how far it is, what was kept, and what could not be read."""
    texts = TEXTS[language]
    told = [f"{texts.kinds[run.kind]}."]
    if run.base_model:
        # A path says more of the machine than of the model.
        told.append(texts.started_from.format(model=PurePath(run.base_model).name))
    if run.best is not None:
        told.append(texts.kept_epoch.format(epoch=epoch_name(run.best, language)))
        if run.chosen_by and run.metric:
            told.append(texts.chosen_by.format(metric=metric_name(run.metric, language)))
    if any(epoch.final for epoch in run.epochs):
        told.append(texts.final)
    faults = []
    if not folder.finished:
        faults.append(texts.going)
        if progress is not None:
            step, steps = (number(n, language) for n in (progress.step, progress.steps))
            faults.append(texts.going_steps.format(step=step, steps=steps))
    if run.missing:
        faults.append(texts.missing)
    if run.damaged:
        faults.append(counted(run.damaged, texts.damaged, language))
    if run.cut:
        faults.append(texts.cut)
    said = f'<p class="fault">{words(" ".join(faults))}</p>' if faults else ""
    return (
        f'<h2 class="named">{words(folder.name)}</h2><p>{words(" ".join(told))}</p>{said}'
        f"{_settings(run, language)}"
    )


def curves(name: str, run: Run, language: Language) -> str:
    """The charts of a run, and its numbers as a table."""
    texts = texts_of_curves.TEXTS[language]
    charts = charts_of(run)
    drawn = "".join(_figure(name, run, chart, language) for chart in CHARTS if chart in charts)
    shown = f'<div class="charts">{drawn}</div>' if drawn else f"<p>{words(texts.no_curves)}</p>"
    numbers = _numbers(name, run, language) if run.epochs else ""
    return f"<h3>{words(texts.curves)}</h3>{shown}{numbers}"


def _figure(name: str, run: Run, chart: Chart, language: Language) -> str:
    def source(scheme: str) -> str:
        steps = [("run", name), ("chart", chart), ("scheme", scheme)]
        return words(address(with_query(CURVES, steps), language))

    note = chart_note(run, chart, language)
    if chart == "dev":
        note = f"{note} {_metric_help(run.metric or '', language)}".rstrip()
    note = f"{note} {some_bars(run, chart, language)}".rstrip()
    return (
        f"<figure><h4>{words(chart_title(run, chart, language))}</h4><picture>"
        f'<source srcset="{source("dark")}" media="(prefers-color-scheme: dark)">'
        f'<img src="{source("light")}" alt="{words(alternative(run, chart, language))}"'
        f' width="{WIDTH}" height="{HEIGHT}"></picture>'
        f"<figcaption>{words(note)}</figcaption></figure>"
    )


def _metric_help(metric: str, language: Language) -> str:
    texts = texts_of_curves.TEXTS[language]
    cut = _CUT_METRIC.fullmatch(metric)
    help_ = texts.metric_help.get(cut[1] if cut else metric, "")
    return help_.format(metric=metric, k=cut[2] if cut else "")


def _settings(run: Run, language: Language) -> str:
    texts = TEXTS[language]
    listed = "".join(
        f"<div><dt>{words(label)}</dt><dd>{words(_setting(run.settings[name]))}</dd></div>"
        for name, label in texts.settings_names.items()
        if run.settings.get(name) is not None
    )
    if not listed:
        return ""
    return (
        f'<details><summary>{words(texts.settings)}</summary><dl class="facts">{listed}</dl>'
        "</details>"
    )


def _setting(value: Any) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown[:100]


def _numbers(name: str, run: Run, language: Language) -> str:
    texts = texts_of_curves.TEXTS[language]
    measured = dict.fromkeys(name for epoch in run.epochs for name in epoch.measured)
    metrics = [
        metric
        for metric in dict.fromkeys((run.metric, *_LISTED_METRICS, *measured))
        if metric in measured
    ][:_MAX_METRICS]
    rows = evenly(run.epochs, _MAX_ROWS)
    some = ""
    if len(rows) < len(run.epochs):
        counts = {"epochs": len(run.epochs), "shown": len(rows)}
        said = texts.some_epochs.format(**{k: number(v, language) for k, v in counts.items()})
        some = f"<p>{words(said)}</p>"
    drawn = run.kind in _DRAWING
    origins: list[Chart] = [each for each in charts_of(run) if each in ("buckets", "views")]
    parts = [part for origin in origins for part in parts_of(run, origin, language)]
    below = [texts.loss, *parts, texts.tree_distance, texts.overlap] if drawn else []
    head = [metric_name(metric, language) for metric in metrics]
    groups = "".join(
        f'<th scope="colgroup" colspan="{len(columns)}">{words(label)}</th>'
        for label, columns in (
            (texts.measured_columns, head),
            (texts.drawn_columns, below),
        )
        if columns
    )
    alone = "" if drawn else f'<th scope="col" rowspan="2">{words(texts.loss_before)}</th>'
    columns = "".join(f'<th scope="col">{words(label)}</th>' for label in [*head, *below])
    body = "".join(
        _row(run, epoch, metrics, origins if drawn else None, language) for epoch in rows
    )
    caption = texts.numbers_caption.format(name=name)
    return (
        f"<details><summary>{words(texts.numbers)}</summary>{some}"
        f'<div class="wide" role="region" aria-label="{words(caption)}" tabindex="0"><table>'
        f"<caption><div>{words(caption)}</div></caption><thead><tr>"
        f'<th scope="col" rowspan="2">{words(texts.epochs_learnt)}</th>{groups}{alone}</tr>'
        f"<tr>{columns}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def _row(
    run: Run,
    epoch: Epoch,
    metrics: Sequence[str],
    origins: Sequence[Chart] | None,
    language: Language,
) -> str:
    """A line of the table; `origins` of the negatives are None where nothing is drawn."""
    texts = texts_of_curves.TEXTS[language]
    name = epoch_name(epoch.number, language)
    if epoch.final:
        name = texts.final_row.format(epoch=name)
    cells = [
        measure(epoch.measured[metric], language) if metric in epoch.measured else None
        for metric in metrics
    ]
    cells.append(None if epoch.loss is None else decimal(epoch.loss, language, 3))
    if origins is not None:
        if "buckets" in origins:
            cells += _shares(epoch.buckets, run.buckets, language)
        if "views" in origins:
            counts = [epoch.views.get(view, 0) for view in run.views]
            cells += _shares(counts, len(run.views), language)
        far, again = epoch.tree_distance, epoch.overlap
        cells.append(None if far is None else decimal(far, language, 1))
        cells.append(None if again is None else percent(again, language))
    told = "".join(f"<td>{words(texts.untold if cell is None else cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{words(name)}</th>{told}</tr>'


def _shares(counts: Sequence[int], parts: int, language: Language) -> list[str | None]:
    total = sum(counts)
    if not total or len(counts) != parts:
        return [None] * parts
    return [percent(count / total, language) for count in counts]


def _day(seconds: float) -> date | None:
    try:
        return date.fromtimestamp(seconds)
    except (OverflowError, OSError, ValueError):
        return None
