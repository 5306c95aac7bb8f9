"""The view of training runs: what training and its grids wrote to their folders, as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import count, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from markupsafe import Markup
from pydantic import BaseModel, Field, FiniteFloat, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.stores.database import StoreError
from ui.article import article_title
from ui.frame import VIEWS, Collection, document, notice, render
from ui.language import (
    LANGUAGES,
    Language,
    address,
    article_link,
    day,
    decimal,
    language_of,
    number,
    with_query,
)
from ui.law import refusal_main
from ui.texts import TRAINING_TEXTS

if TYPE_CHECKING:
    from components.retrievers.resident import ReadableStore
    from pipelines.home import TrainedDemo

PLOT = "/training/plot"

_METRICS, _PROGRESS, _MANIFEST = "metrics.jsonl", "progress.json", "manifest.json"
_PLOT_FILE = "metrics.png"
_WORK = ".work"
_COMMAND = "python -m training.cusines --config training/configs/demo.yaml --output models/demo"
_HEADERS = {"Cache-Control": "no-cache"}

# Limits on what one page reads and shows, whatever lies in the folders.
_MAX_BYTES = 16 << 20
_MAX_ENTRIES = 2000
_MAX_ROWS = 100
_MAX_METRICS = 8

# What a reader of results notices, with the name of each if that is another.
_TELLING = {"R@10": "R@10", "MRR@10": "MRR@10", "Exist@1": "hit@1"}
_MAX_TABLES = 30

Count = Annotated[int, Field(ge=0, lt=10**12)]


class Negative(BaseModel):
    """A wrong answer that a question was trained against; bucket 0 is the easiest."""

    article: str
    bucket: Count = 0
    view: str | None = None
    tree_distance: Count | None = None


class Example(BaseModel):
    """A question and its negatives in one epoch."""

    question: str
    text: str
    positives: list[str] = []
    negatives: list[Negative] = []


class Drawn(BaseModel):
    """Counts of an epoch's negatives by bucket and by view, and two means."""

    buckets: list[Count] = []
    views: dict[str, Count] = {}
    mean_tree_distance: FiniteFloat | None = None
    overlap: FiniteFloat | None = None


class Epoch(BaseModel):
    """A line of `metrics.jsonl`; `final` marks a second training, on all questions.

    `dev_unseen` is measured on the dev questions whose articles answer no training question.
    """

    epoch: Annotated[float, Field(ge=0, lt=10**9)]
    dev: dict[str, FiniteFloat] = {}
    dev_unseen: dict[str, FiniteFloat] = {}
    loss: FiniteFloat | None = None
    held_out_loss: FiniteFloat | None = None
    perplexity: FiniteFloat | None = None
    negatives: Drawn = Drawn()
    examples: list[Example] = []
    final: bool = False


class Kept(BaseModel):
    """The epoch whose weights the model has."""

    epoch: Annotated[float, Field(ge=0, lt=10**9)] | None = None


class Manifest(BaseModel):
    """What a model's manifest says about its training."""

    base_model: str = ""
    config: dict[str, Any] = {}
    metrics: Kept = Kept()


class Progress(BaseModel):
    """`progress.json` of a run that is not finished."""

    step: Count
    steps: Count


Record = TypeVar("Record", bound=BaseModel)


@dataclass(frozen=True)
class RunFolder:
    """A run's folder, and when it last wrote its metrics (seconds since 1970)."""

    folder: Path
    changed: float

    @property
    def finished(self) -> bool:
        """Whether its model is complete."""
        return not self.folder.name.endswith(_WORK)


@dataclass(frozen=True)
class Run:
    """What a run wrote, as far as it can be read; `unreadable` names the files and lines."""

    epochs: list[Epoch] = field(default_factory=list)
    manifest: Manifest = field(default_factory=Manifest)
    progress: Progress | None = None
    has_plot: bool = False
    unreadable: list[str] = field(default_factory=list)

    @property
    def base_model(self) -> str:
        """What training started from; a path would say more about the machine."""
        return PurePath(self.manifest.base_model).name


@dataclass(frozen=True)
class Table:
    """A table of text; the first cell of a row is its heading."""

    caption: str
    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Sources:
    """Where runs and grids may be.

    Attributes:
        store: what is searched now; its model may be the result of a run.
        folders: each may hold a run or a grid, and so may its subfolders.
        demo: the training on the demo law.
    """

    store: Callable[[], ReadableStore]
    folders: Sequence[Path] = ()
    demo: TrainedDemo | None = None

    def runs(self) -> dict[str, RunFolder]:
        """The runs under names of their own, the latest first."""
        found: dict[Path, tuple[str, RunFolder]] = {}
        for model, name in self._models():
            if (run := _run_of(model)) is not None:
                found.setdefault(run.folder.resolve(), (name, run))
        runs: dict[str, RunFolder] = {}
        for name, run in found.values():
            numbered = (name if n == 1 else f"{name} ({n})" for n in count(1))
            runs[next(each for each in numbered if each not in runs)] = run
        return dict(sorted(runs.items(), key=lambda each: -each[1].changed))

    def candidates(self) -> Iterator[Path]:
        """The named folders and their subfolders."""
        for folder in self.folders:
            yield folder
            with suppress(OSError):
                yield from sorted(islice(folder.iterdir(), _MAX_ENTRIES))

    def _models(self) -> Iterator[tuple[Path, str]]:
        """Folders that may hold the model of a run, with a name each."""
        if self.demo is not None:
            yield self.demo.model, "aldermere"
        models = list(self.candidates())
        with suppress(StoreError):
            # Stores of other engines record no model.
            if recorded := getattr(self.store(), "model", None):
                models.insert(0, Path(recorded.path))
        for folder in models:
            if name := folder.name.removesuffix(_WORK):
                yield folder.with_name(name), _as_text(name)


def training_routes(sources: Sources, searched: Callable[[], Collection]) -> list[Route]:
    """The routes of the view, in every language.

    The name in an address is looked up among the runs that are found; it never becomes a path.

    Args:
        sources: where runs are.
        searched: describes what is searched now, for the notice.
    """
    view = VIEWS["training"]

    def page(request: Request) -> Response:
        language = language_of(request.url.path)
        texts = TRAINING_TEXTS[language]
        asked = request.query_params.get("run")
        runs = sources.runs()
        if asked is not None and asked not in runs:
            all_runs = (texts.runs, address(view, language))
            main = refusal_main(texts.not_found, texts.no_run, [all_runs], language)
            refused = document("training", language, texts.not_found, main, view)
            return HTMLResponse(refused, 404, _HEADERS)
        name = next(iter(runs), None) if asked is None else asked
        main = training_main(sources, runs, name, searched(), language)
        here = view if asked is None else with_query(view, [("run", asked)])
        return HTMLResponse(
            document("training", language, texts.title, main, here), headers=_HEADERS
        )

    def plot(request: Request) -> Response:
        run = sources.runs().get(request.query_params.get("run", ""))
        content = None if run is None else _content(run.folder / _PLOT_FILE)
        if content is None:
            return PlainTextResponse("Not found.\n", 404, _HEADERS)
        return Response(content, media_type="image/png", headers=_HEADERS)

    return [
        Route(address(path, language), endpoint)
        for language in LANGUAGES
        for path, endpoint in ((view, page), (PLOT, plot))
    ]


def training_main(
    sources: Sources,
    runs: Mapping[str, RunFolder],
    name: str | None,
    collection: Collection,
    language: Language,
) -> Markup:
    """HTML of the view.

    Args:
        sources: where the runs are.
        runs: those found there.
        name: of the run to show; None if there are none.
        collection: what is searched, for the notice.
        language: of the interface.
    """
    run = Run() if name is None else read_run(runs[name].folder)
    examples = followed(run.epochs)
    return render(
        "training.html",
        language,
        texts=TRAINING_TEXTS[language],
        notice=notice(collection, language),
        command=_COMMAND,
        is_starting=sources.demo is not None and sources.demo.begun,
        runs={
            each: (folder.finished, day(date.fromtimestamp(folder.changed), language))
            for each, folder in runs.items()
        },
        name=name,
        run=run,
        gains=_gains_table(run, language),
        table=_metrics_table(run, name or "", language),
        examples=examples,
        articles=_articles(sources.store(), examples, language),
        grids=_grids(sources.candidates(), language),
        link=lambda path, run: address(with_query(path, [("run", run)]), language),
        view=VIEWS["training"],
        plot=PLOT,
        number=partial(number, language=language),
        epoch_name=partial(_epoch_name, language=language),
    )


def read_run(folder: Path) -> Run:
    """Read what a run wrote to its folder."""
    unreadable: list[str] = []
    epochs = _records(folder / _METRICS, Epoch, unreadable, lines=True)
    manifests = _records(folder / _MANIFEST, Manifest, unreadable)
    progress = _records(folder / _PROGRESS, Progress, unreadable)
    return Run(
        epochs,
        manifests[0] if manifests else Manifest(),
        progress[0] if progress else None,
        _content(folder / _PLOT_FILE) is not None,
        unreadable,
    )


def followed(epochs: Sequence[Epoch]) -> list[list[tuple[Epoch, Example]]]:
    """Each question that a run follows, in the first and in the latest epoch that has it."""
    questions: dict[str, list[tuple[Epoch, Example]]] = {}
    for epoch in epochs:
        for example in () if epoch.final else epoch.examples:
            questions.setdefault(example.question, []).append((epoch, example))
    return [[found[0], *found[1:][-1:]] for found in questions.values()]


def _run_of(model: Path) -> RunFolder | None:
    """The run that made a model, or that is making it in the folder next to it."""
    work = model.with_name(f"{model.name}{_WORK}")
    for file in (model / _METRICS, work / _METRICS, work / _PROGRESS):
        with suppress(OSError, ValueError):  # the latter for a null byte in a path
            return RunFolder(file.parent, file.stat().st_mtime)
    return None


def _content(path: Path) -> bytes | None:
    """A file's content; None if it is not a regular file, too large, or links out of its folder."""
    with suppress(OSError, RuntimeError):  # the latter for a loop of links
        file = path.resolve(strict=True)
        inside = file.is_relative_to(path.parent.resolve())
        if inside and file.is_file() and file.stat().st_size <= _MAX_BYTES:
            return file.read_bytes()
    return None


def _records(
    path: Path, kind: type[Record], unreadable: list[str], *, lines: bool = False
) -> list[Record]:
    """The record in a file, or those in its lines; what cannot be read is added to `unreadable`."""
    content = _content(path)
    if content is None:
        if path.exists():
            unreadable.append(path.name)
        return []
    records = []
    for place, line in enumerate(content.splitlines() if lines else [content], start=1):
        try:
            records.append(kind.model_validate_json(line))
        except ValidationError:
            unreadable.append(f"{path.name}:{place}" if lines else path.name)
    return records


def _gains_table(run: Run, language: Language) -> Table:
    """What training gained or lost on dev, from before the first step to the weights kept."""
    texts = TRAINING_TEXTS[language]
    measured = [epoch for epoch in run.epochs if epoch.dev and not epoch.final]
    before = [epoch for epoch in measured if epoch.epoch == 0]
    kept = [epoch for epoch in measured if epoch.epoch == run.manifest.metrics.epoch]
    rows = []
    # While it is trained, no weights are kept yet.
    for first, last in zip(before, kept or measured[-1:], strict=False):
        for label, one, other in (
            ("{metric}", first.dev, last.dev),
            (texts.unseen, first.dev_unseen, last.dev_unseen),
        ):
            for metric, name in _TELLING.items():
                if metric in one and metric in other:
                    values = [_measure(of[metric], language) for of in (one, other)]
                    gain = round(other[metric], 3) - round(one[metric], 3)
                    sign = "+" if gain > 0 else "\N{MINUS SIGN}" if gain < 0 else ""
                    change = f"{sign}{_measure(abs(gain), language)}"
                    rows.append([label.format(metric=name), *values, change])
    head = [texts.metric, texts.before, texts.after, texts.change]
    return Table(texts.gains, head, rows)


def _metrics_table(run: Run, name: str, language: Language) -> Table:
    """The measurements of a run, a row each: what the plot shows, in numbers."""
    texts = TRAINING_TEXTS[language]
    shown = run.epochs[-_MAX_ROWS:]
    cells = [_cells(epoch, language) for epoch in shown]
    every = dict.fromkeys(column for row in cells for column in row)
    columns = [column for column in every if any(row.get(column) for row in cells)]
    rows = []
    for epoch, row in zip(shown, cells, strict=True):
        label = _epoch_name(epoch.epoch, language)
        if epoch.final:
            label = texts.all_questions.format(epoch=label)
        elif epoch.epoch == run.manifest.metrics.epoch:
            label = texts.kept.format(epoch=label)
        rows.append([label, *(row.get(column) or "–" for column in columns)])
    caption = texts.caption.format(name=name)
    if len(run.epochs) > _MAX_ROWS:
        caption = texts.last_rows.format(
            caption=caption, shown=_MAX_ROWS, rows=number(len(run.epochs), language)
        )
    return Table(caption, [texts.epoch, *columns], rows)


def _cells(epoch: Epoch, language: Language) -> dict[str, str | None]:
    """The numbers of an epoch by the names of their columns."""
    texts, drawn = TRAINING_TEXTS[language], epoch.negatives
    views = (
        f"{texts.view_names.get(view, view)} {number(n, language)}"
        for view, n in drawn.views.items()
    )
    dev = {name: epoch.dev[each] for each, name in _TELLING.items() if each in epoch.dev}
    dev |= {each: n for each, n in epoch.dev.items() if each not in _TELLING}
    measured = {
        **dict(islice(dev.items(), _MAX_METRICS)),
        texts.loss: epoch.loss,
        texts.held_out_loss: epoch.held_out_loss,
        texts.perplexity: epoch.perplexity,
        texts.tree_distance: drawn.mean_tree_distance,
        texts.overlap: drawn.overlap,
    }
    return {
        **{name: None if n is None else _measure(n, language) for name, n in measured.items()},
        texts.buckets: " / ".join(number(n, language) for n in drawn.buckets),
        texts.views: ", ".join(views),
    }


def _articles(
    store: ReadableStore, examples: Iterable[list[tuple[Epoch, Example]]], language: Language
) -> dict[str, dict[str, str | None]]:
    """Title, link and language of the articles in examples, if the store has them."""
    ids: dict[str, None] = {}
    for _, example in (moment for moments in examples for moment in moments):
        ids |= dict.fromkeys([*example.positives, *(each.article for each in example.negatives)])
    try:
        found = [article_of(document) for document in store.fetch(store.keys_of(ids))]
    except StoreError:
        return {}
    return {
        each.id: {
            "title": f"{article_title(each.number)}, {each.law}",
            "link": article_link(each.id, language),
            "language": each.language,
        }
        for each in found
    }


def _grids(folders: Iterable[Path], language: Language) -> dict[str, list[str | Table]]:
    """Name to paragraphs and tables of what grids wrote: NAME.md under the heading NAME."""
    grids: dict[str, list[str | Table]] = {}
    files = dict.fromkeys(file for folder in folders for file in sorted(folder.glob("*.md")))
    for path in islice(files, _MAX_ENTRIES):
        name = _as_text(f"{path.parent.name}/{path.stem}")
        content = _content(path)
        if content is None:
            file = _as_text(path.name)
            grids[name] = [TRAINING_TEXTS[language].unreadable.format(files=file)]
        elif (text := content.decode("utf-8", "replace")).startswith(f"## {path.stem}\n"):
            grids[name] = _blocks(name, text, language)
    return dict(islice(grids.items(), _MAX_TABLES))


def _blocks(name: str, markdown: str, language: Language) -> list[str | Table]:
    """The paragraphs and tables of Markdown below its heading."""
    places = count(1)
    blocks: list[str | Table] = []
    for block in markdown.strip().split("\n\n")[1:]:
        if block.startswith("| "):
            head, *rows = (line.strip("| ").split(" | ") for line in block.splitlines())
            caption = TRAINING_TEXTS[language].table.format(name=name, number=next(places))
            # The second line only says how the columns are aligned.
            blocks.append(Table(caption, head, [[r[0].strip("*"), *r[1:]] for r in rows[1:]]))
        else:
            blocks.append(block)
    return blocks


def _measure(value: float, language: Language) -> str:
    """A measurement; a perplexity needs fewer digits, and can be astronomical."""
    if abs(value) >= 1e9:
        return f"{value:.1e}"
    return decimal(value, language, 3 if abs(value) < 10 else 1)


def _epoch_name(epoch: float, language: Language) -> str:
    """Epochs trained, with digits after the point only within an epoch."""
    return _measure(epoch, language) if epoch % 1 else number(epoch, language)


def _as_text(name: str) -> str:
    """A file name as text that can be encoded; on Linux it is any bytes."""
    return name.encode("utf-8", "replace").decode()
