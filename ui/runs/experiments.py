"""HTML of experiments: a table of arms for each dataset, and what it tells and does not."""

from __future__ import annotations

from ui.article_text import words
from ui.language import Language, counted, decimal, number
from ui.runs.results import ArmRow, Grids, Table
from ui.texts.experiments import TEXTS

_LEVEL = 0.05
_SMALLEST_P = 0.001


def experiments(grids: Grids | None, language: Language) -> str:
    """The section on experiments; None while they are being worked out."""
    texts = TEXTS[language]
    title = f'<h2 id="experiments">{words(texts.title)}</h2><p>{words(texts.note)}</p>'
    if grids is None:
        return f'{title}<p role="status">{words(texts.working)}</p>'
    if grids.failed:
        return f'{title}<p class="fault">{words(texts.failed)}</p>'
    faults = []
    if grids.damaged:
        faults.append(counted(grids.damaged, texts.damaged, language))
    if grids.cut:
        faults.append(texts.cut)
    said = f'<p class="fault">{words(" ".join(faults))}</p>' if faults else ""
    if not grids.tables:
        return f"{title}<p>{words(texts.none)}</p>{said}"
    starts: dict[tuple[str, str], set[str]] = {}
    for table in grids.tables:
        starts.setdefault((table.system, table.dataset), set()).add(table.start)
    tables = "".join(
        _table(table, len(starts[table.system, table.dataset]) > 1, language)
        for table in grids.tables
    )
    return f"{title}<p>{words(texts.reading)}</p>{said}{tables}"


def _table(table: Table, tells_start: bool, language: Language) -> str:
    texts = TEXTS[language]
    system = texts.systems.get(table.system, table.system)
    caption = texts.caption.format(system=system, dataset=table.dataset)
    split = texts.splits.get(table.measured_on, texts.given_split)
    if table.folds > 1:
        split = texts.folds.format(folds=number(table.folds, language))
    if tells_start and table.start:
        split = f"{split}, {texts.start.format(model=table.start)}"
    asked = f"{counted(table.questions, texts.questions, language)}, {split}"
    # Laws of two versions have one name; what is asked tells most of them apart.
    label = f"{caption}, {asked}"
    main = table.metrics[0] if table.metrics else None
    compared = main is not None and table.baseline is not None
    head = [texts.arm, texts.runs, *table.metrics]
    if compared:
        head += [texts.difference.format(metric=main), texts.p]
    columns = "".join(f'<th scope="col">{words(each)}</th>' for each in head)
    rows = "".join(_row(table, row, main if compared else None, language) for row in table.rows)
    return (
        f'<div class="wide" role="region" aria-label="{words(label)}" tabindex="0">'
        f'<table class="arms"><caption><div>{words(caption)} <span>({words(asked)})</span></div>'
        f"</caption><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="told">{_told(table, main if compared else None, language)}</p>'
    )


def _row(table: Table, row: ArmRow, main: str | None, language: Language) -> str:
    texts = TEXTS[language]
    known = texts.arms.get(table.system, {}).get(row.arm)
    name = f"{words(known)} " if known else ""
    settings = "".join(f"<span>{words(n)}: {words(v)}</span>" for n, v in row.settings.items())
    note = f"<span>{words(texts.baseline)}</span>" if row.arm == table.baseline else ""
    runs = number(row.runs, language)
    if row.seeds != row.runs or row.seeds > 1:
        runs = f"{runs} ({counted(row.seeds, texts.seeds, language)})"
    cells = [words(runs)]
    for metric in table.metrics:
        score = row.scores[metric]
        cells.append(
            f"{decimal(score.mean, language, 3)} <span>{_interval(score.interval, language)}</span>"
        )
    if main is not None:
        cells += _against(row, main, language)
    told = "".join(f"<td>{cell}</td>" for cell in cells)
    return (
        f'<tr><th scope="row">{name}<code>{words(row.arm)}</code>{settings}{note}</th>{told}</tr>'
    )


def _against(row: ArmRow, metric: str, language: Language) -> list[str]:
    """The difference to the baseline with its interval, and p; emphasised where it tells."""
    texts = TEXTS[language]
    score = row.scores[metric]
    if score.against is None or score.p is None:
        return [words(texts.untold)] * 2
    sign = "+" if score.against.difference >= 0 else ""
    difference = f"{sign}{decimal(score.against.difference, language, 3)}"
    if _tells(row, metric):
        difference = f"<strong>{difference}</strong>"
    small = score.p < _SMALLEST_P
    p = decimal(_SMALLEST_P if small else score.p, language, 3)
    interval = _interval(score.against.interval, language)
    return [f"{difference} <span>{interval}</span>", f"&lt;\N{NO-BREAK SPACE}{p}" if small else p]


def _told(table: Table, main: str | None, language: Language) -> str:
    """What the table tells, and how much it could have told."""
    texts = TEXTS[language]
    if main is None:
        return words(texts.no_baseline)
    arms = [row for row in table.rows if row.scores[main].against is not None]
    telling = [row for row in arms if _tells(row, main)]
    words_of = texts.arms.get(table.system, {})
    baseline = words(words_of.get(table.baseline or "", table.baseline))
    named = texts.list_separator.join(f"<code>{words(row.arm)}</code>" for row in telling)
    template = texts.tells if telling else texts.tells_nothing
    told = [template.format(metric=words(main), baseline=baseline, arms=named)]
    if len(telling) < len(arms):
        against = (row.scores[main].against for row in arms if row not in telling)
        detectable = [each.detectable for each in against if each and each.detectable is not None]
        if detectable:
            smallest = decimal(max(detectable), language, 3)
            told.append(words(texts.detectable.format(smallest=smallest)))
    if table.measured_on != "test":
        told.append(words(texts.chosen_on))
    return " ".join(told)


def _tells(row: ArmRow, metric: str) -> bool:
    """Whether a difference is more than chance explains."""
    score = row.scores[metric]
    if score.against is None or score.p is None:
        return False
    low, high = score.against.interval
    return score.p <= _LEVEL and not low <= 0 <= high


def _interval(interval: tuple[float, float], language: Language) -> str:
    low, high = (decimal(each, language, 3) for each in interval)
    return words(f"[{low} – {high}]" if interval[0] < 0 else f"[{low}–{high}]")
