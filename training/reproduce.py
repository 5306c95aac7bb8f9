"""python -m training.reproduce: make a paper's tables, and compare them with the paper's own.

    python -m training.reproduce cusines --data BSARD_FOLDER --output repro
    python -m training.reproduce cusines --data PATH --output repro --only table2 --budget-s 600

The same command goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, get_args

from training.command_line import (
    OutOfTimeError,
    Place,
    SettingsError,
    Target,
    run,
    say,
    settings_from,
)
from training.settings import CusinesSettings, GraphSettings, at_least, folder_named

if TYPE_CHECKING:
    from components.statutes.question import Question
    from training.data import TrainingData

Paper = Literal["cusines", "gdsr", "soict"]
PAPERS: tuple[Paper, ...] = get_args(Paper)

CONFIGS = Path(__file__).parent / "configs"

_DESCRIPTION = """\
Makes the tables of a paper on its data set or on any other law: trains what fits into the time,
goes on where it stopped, and writes a page with the numbers found next to the paper's own. The
papers: cusines (CuSINeS), gdsr (G-DSR) and soict (semi-hard re-ranking)."""


@dataclass(frozen=True, kw_only=True)
class ReproduceSettings:
    """A paper's tables on a law.

    Args:
        paper: cusines, gdsr or soict; may stand first, without the flag.
        data: The law with its questions: a folder in BSARD's, SoICT's or the native format, or a
            name that StatuteCorpus.read knows. On the paper's data set it is a reproduction, with
            the paper's settings; on another a replication, with those of small laws.
        output: Folder of the models, results, plots and the page.
        only: Tables to make: of cusines table2, table3, table4, figure1; of gdsr main, table4
            (networks), table6 (losses); of soict table1 (BM25), stages (the bi-encoder), table2
            (negatives of the ranker). Default: all.
        seeds: Each row is trained once for each.
        model: What training starts from; default: the paper's on its own data, else MiniLM.
        epochs: Epochs of each training, in place of the preset's.
        budget_s: Seconds after which training stops, with a checkpoint.
        device: cpu, cuda, ...; default: the best available.

    Raises:
        SettingsError: A value is out of its range, or there is no such table.
    """

    paper: Paper
    data: Place
    output: Target
    only: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    model: Place | None = None
    epochs: int | None = None
    budget_s: float | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        folder_named(self.output)
        at_least(self, 0, "budget_s")
        at_least(self, 1, "epochs")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingsError("seeds: name at least one, and each once.")
        for name in self.only:
            if name not in TABLES[self.paper]:
                raise SettingsError(
                    f"only: {self.paper} has no {name!r}; choose among "
                    f"{', '.join(TABLES[self.paper])}."
                )

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables to make."""
        return self.only or tuple(TABLES[self.paper])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and not given[0].startswith("-"):
        given[0] = f"--paper={given[0]}"
    settings = settings_from("reproduce", _DESCRIPTION, ReproduceSettings, given)
    return run(lambda: reproduce(settings))


def reproduce(settings: ReproduceSettings) -> None:
    """Train what is missing as far as the time allows; print the page and draw its plots.

    Raises:
        CorpusError: The data cannot be read.
        SettingsError: A setting does not fit the data.
        ModelError: There is no such model.
        TrainingError: A training failed.
    """
    output = Path(settings.output)
    output.mkdir(parents=True, exist_ok=True)
    deadline = None if settings.budget_s is None else time.monotonic() + settings.budget_s
    made = Reproduction(settings, deadline)
    page = made.page()
    (output / f"{settings.paper}.md").write_text(page, encoding="utf-8")
    print(page, end="", flush=True)  # noqa: T201
    say(f"Written: {output / f'{settings.paper}.md'}")


# What the papers have, and what they found.

LISTED = ("R@100", "R@200", "R@500", "MAP", "R-precision")
RANKED = ("Exist@90", "MRR@10")
_CURVE = "R@100"


@dataclass(frozen=True)
class Row:
    """One line of a table, and so one training for each seed.

    Attributes:
        label: Its name in the paper.
        arm: Of `training.ablation.arms`: where negatives come from; UNTRAINED trains nothing.
        graph: Whether a graph network is trained on top.
        changes: Further settings of the bi-encoder, or with `graph` of the network.
    """

    label: str
    arm: str
    graph: bool = False
    changes: Mapping[str, Any] | None = None


def _alone_and_with_graph(arms: Sequence[str]) -> list[Row]:
    return [
        Row(f"{'DR+GNN' if graph else 'DR'}, {arm}", arm, graph)
        for graph in (False, True)
        for arm in arms
        if not (graph and arm == "untrained")
    ]


def _cusines_tables() -> dict[str, list[Row]]:
    from training.ablation.arms import PAPER_TABLES

    return {name: _alone_and_with_graph(arms) for name, arms in PAPER_TABLES.items()}


_BASELINE = "bm25_rotating"
_GDSR = {
    "main": [Row("DSR", _BASELINE), Row("G-DSR", _BASELINE, graph=True)],
    "table4": [
        Row(f"DSR + {network}", _BASELINE, graph=True, changes={"network": network})
        for network in ("mlp", "gcn", "gat", "sage", "kgnn", "gatv2")
    ],
    "table6": [
        Row(
            f"DSR, {loss}, {how}",
            _BASELINE,
            changes={"loss": loss, "similarity": how},
        )
        for loss in ("contrastive", "triplet")
        for how in ("cosine", "dot", "l2")
    ],
}
TABLES: Mapping[Paper, Mapping[str, list[Row]]] = {
    "cusines": _cusines_tables(),
    "gdsr": _GDSR,
    "soict": {"table1": [], "stages": [Row("bi-encoder", "in_batch_alone")], "table2": []},
}

# By table, row and metric; what is not known here is left out of the page.
PUBLISHED: Mapping[Paper, Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "cusines": {
        "table2": {
            "DR+GNN, cusines": {
                "R@100": 0.849, "R@200": 0.896, "R@500": 0.933, "MAP": 0.462, "R-precision": 0.362,
            },
        },
    },
    "gdsr": {
        "main": {
            "BM25": {
                "R@100": 0.493, "R@200": 0.573, "R@500": 0.630, "MAP": 0.168, "R-precision": 0.136,
            },
            "DSR": {
                "R@100": 0.771, "R@200": 0.818, "R@500": 0.867, "MAP": 0.356, "R-precision": 0.288,
            },
            "G-DSR": {
                "R@100": 0.843, "R@200": 0.904, "R@500": 0.931, "MAP": 0.471, "R-precision": 0.402,
            },
        },
    },
    "soict": {
        "stages": {"bi-encoder": {"Exist@90": 0.976, "MRR@10": 0.622}},
        "table2": {
            "untrained": {"MRR@10": 0.558},
            "hard_2": {"MRR@10": 0.269},
            "easy_10": {"MRR@10": 0.594},
            "semi_hard_10": {"MRR@10": 0.791},
        },
    },
}  # fmt: skip


# Training and measuring.


class Reproduction:
    """The rows of a paper's tables on one law.

    Args:
        settings: What to make.
        deadline: When to stop training (`time.monotonic`).
    """

    def __init__(self, settings: ReproduceSettings, deadline: float | None) -> None:
        self._settings = settings
        self._deadline = deadline
        self._output = Path(settings.output)
        self._results = self._output / "results.jsonl"
        self._found: dict[str, dict[str, Any]] = {}
        if self._results.exists():
            for line in self._results.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self._found[found["key"]] = found
        self._left: list[str] = []

    @cached_property
    def own_data(self) -> bool:
        """Whether the law is the paper's own data set."""
        from components.statutes.sources import corpora

        place, is_soict = self._settings.data, self._settings.paper == "soict"
        if place == corpora.HUB_NAME:
            return not is_soict
        own = corpora.Soict() if is_soict else corpora.Bsard()
        return Path(place).is_dir() and own.matches(Path(place))

    @cached_property
    def data(self) -> TrainingData:
        """The law, and questions to learn from and to choose by."""
        from training.data import TrainingData

        place = self._settings.data
        return TrainingData.read(place, place, dev_share=self.base.dev_share)

    @cached_property
    def measured(self) -> tuple[str, Sequence[Question]]:
        """The questions that are measured, and the name of their split: test, or else dev."""
        from components.statutes.corpus import read_questions

        asked = read_questions(self._settings.data, corpus_ids=self.data.corpus.ids)
        if test := [each for each in asked if each.split == "test" and each.relevant]:
            return "test", test
        if not self.data.dev:
            raise SettingsError(
                f"data: {self._settings.data} has no question of test or dev to measure. Give more."
            )
        return "dev", self.data.dev

    @cached_property
    def base(self) -> CusinesSettings:
        """Settings of the bi-encoders that all rows have in common."""
        if self._settings.paper == "soict":
            given = _preset("soict")
        elif self.own_data:
            given = _preset("bsard")
            # The articles' tower adapted to the law is another training: training.pretrain.
            given["passage_model"] = given["query_model"]
            given["final"] = False
        else:
            given = _preset("ablate_small")
        chosen = {field.name for field in fields(CusinesSettings)}
        given = {name: value for name, value in given.items() if name in chosen}
        if self._settings.model is not None:
            given |= {"model": self._settings.model}
            given = {n: v for n, v in given.items() if n not in ("query_model", "passage_model")}
        return CusinesSettings(**self._common(given))

    @cached_property
    def graph_base(self) -> GraphSettings:
        """Settings of the graph networks that all rows have in common, without their width."""
        given = _preset("bsard_graph")
        chosen = {field.name for field in fields(GraphSettings)}
        given = {name: value for name, value in given.items() if name in chosen}
        if not self.own_data:
            given |= {"min_steps": 500, "select_by": self.base.select_by}
            given |= {"temperature": self.base.temperature, "text_rule": self.base.text_rule}
            given |= {"negatives_per_question": self.base.negatives_per_question}
        return GraphSettings(**self._common({**given, "dev_share": self.base.dev_share}))

    def _common(self, given: Mapping[str, Any]) -> dict[str, Any]:
        place = self._settings.data
        values = {**given, "corpus": place, "questions": place, "output": str(self._output)}
        if "views" in values:
            values["views"] = tuple(values["views"])
        if self._settings.device is not None:
            values["device"] = self._settings.device
        if self._settings.epochs is not None:
            values["epochs"] = self._settings.epochs
        return values

    def line_of(self, row: Row, seed: int) -> dict[str, Any] | None:
        """The results of a row with a seed; None where the time is over before they are there."""
        from training.ablation.arms import UNTRAINED

        if row.arm == UNTRAINED:
            seed = self._settings.seeds[0]  # nothing is drawn
        key = self._key(row, seed)
        if key in self._found:
            return self._found[key]
        try:
            if row.arm == UNTRAINED:
                folder = str(self.base.starting_model)
            else:
                folder = str(self._trained(row, seed))
        except OutOfTimeError as stopped:
            self._left.append(f"{row.label}, seed {seed}: {stopped}")
            return None
        say(f"Measuring {row.label}, seed {seed}")
        split, asked = self.measured
        line = {
            "key": key,
            "row": row.label,
            "seed": seed,
            "split": split,
            "values": self._values(folder, asked, graph=row.graph),
            "curve": _curve(Path(folder)),
        }
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._found[key] = line
        return line

    def _key(self, row: Row, seed: int) -> str:
        settings = [self._settings_of(replace(row, graph=False), seed).to_dict()]
        if row.graph:
            settings.append(self._graph_settings_of(row, seed, width=0).to_dict())
        for each in settings:
            for name in ("corpus", "questions", "output", "device", "vectors"):
                each.pop(name, None)
        identity = [row.arm, row.graph, settings, self.data.digests()]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    def _settings_of(self, row: Row, seed: int) -> CusinesSettings:
        """Settings of a row's bi-encoder; below a graph it is the plain one of the same arm."""
        from training.ablation.arms import CUSINES_ARMS

        changes = {} if row.graph else dict(row.changes or {})
        if row.arm not in CUSINES_ARMS.arms:
            return replace(self.base, seed=seed, **changes)
        return replace(CUSINES_ARMS.settings_of(row.arm, self.base), seed=seed, **changes)

    def _graph_settings_of(self, row: Row, seed: int, *, width: int) -> GraphSettings:
        from training.ablation.arms import GRAPH_ARMS

        hidden = 4 * width or None  # as published
        settings = GRAPH_ARMS.settings_of(row.arm, self.graph_base)
        return replace(settings, hidden=hidden, seed=seed, **(row.changes or {}))

    def _trained(self, row: Row, seed: int) -> Path:
        """The row's model folder, trained unless it is there already.

        Raises:
            OutOfTimeError: The time was over before.
        """
        from components.models.folder import read_manifest
        from training import cusines, graph
        from training.loop import train

        models = self._output / "models"
        below = replace(row, graph=False, changes=None if row.graph else row.changes)
        folder = models / _named(below, seed)
        self._train_into(
            folder,
            replace(self._settings_of(below, seed), output=Target(str(folder))),
            lambda settings: train(settings, cusines.BiEncoderLearner, deadline=self._deadline),
        )
        if not row.graph:
            return folder
        target = models / _named(row, seed)
        width = read_manifest(folder).dim
        settings = self._graph_settings_of(row, seed, width=width)
        self._train_into(
            target,
            replace(settings, model=Place(str(folder)), output=Target(str(target))),
            lambda settings: train(settings, graph.GraphLearner, deadline=self._deadline),
        )
        return target

    def _train_into(self, folder: Path, settings: Any, train: Callable[[Any], None]) -> None:
        from components.models.folder import MANIFEST_FILE
        from training.checkpoint import work_folder_of

        if (folder / MANIFEST_FILE).exists() and not work_folder_of(folder).exists():
            return
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise OutOfTimeError("not begun" if not work_folder_of(folder).exists() else "begun")
        say(f"Training {folder.name}")
        train(settings)

    def _values(
        self, folder: str, asked: Sequence[Question], *, graph: bool
    ) -> dict[str, list[float]]:
        """Metrics of a model on the measured questions, one value for each."""
        from components.models.biencoder import BiEncoder
        from components.models.dense_index import DenseIndex
        from training.candidates import FirstStage, open_network
        from training.data import TrainingData, evaluated
        from training.settings import DEV_DEPTH

        model = BiEncoder.load(folder, device=self._settings.device)
        network = open_network(folder, self._settings.device) if graph else None
        shown = TrainingData(self.data.corpus, self.data.train[:1], [], self.data.questions_sha256)
        articles = FirstStage.search(model, shown, 1, network).articles
        queries = model.encode_queries([question.text for question in asked])
        index = DenseIndex(articles, self._settings.device, model.similarity)
        ids = self.data.corpus.ids
        found = index.search(queries, DEV_DEPTH)[1].tolist()
        values = evaluated(
            asked, ([ids[place] for place in row] for row in found), self.metrics, DEV_DEPTH
        )
        return {metric: list(of.values()) for metric, of in values.items()}

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured of each row."""
        return RANKED if self._settings.paper == "soict" else LISTED

    # The page

    def page(self) -> str:
        """Train what is missing, and return the page in Markdown."""
        parts = [self._table(name) for name in self._settings.tables]
        kind = "reproduction" if self.own_data else "replication"
        split, asked = self.measured
        intro = (
            f"A {kind} on {Path(self._settings.data).name}: {len(self.data.corpus):,} articles, "
            f"{len(self.data.train):,} questions to learn from, {len(asked):,} of the split "
            f"{split} measured. Mean over questions and seeds with a bootstrap 95% interval; in "
            "brackets the paper's number and the difference to it, where it is recorded here."
        )
        if split == "dev":
            intro += " Dev also chose the epoch, which flatters whatever was trained."
        if not self.own_data:
            intro += (
                " The law, the encoder and the settings are not the paper's, so a difference says "
                "nothing about the paper."
            )
        if self._left:
            left = "\n".join(f"- {each}" for each in dict.fromkeys(self._left))
            parts.append(f"## Not finished\n\nThe same command goes on from there.\n\n{left}")
        return "\n\n".join([f"# {self._settings.paper}", intro, *parts]) + "\n"

    def _table(self, name: str) -> str:
        if self._settings.paper == "soict" and name != "stages":
            return self._bm25() if name == "table1" else self._ranker()
        rows = TABLES[self._settings.paper][name]
        lines: dict[str, list[dict[str, Any]]] = {row.label: [] for row in rows}
        if name == "main":
            lines = {"BM25": [self._bm25_line()], **lines}
        for seed in self._settings.seeds:
            for row in rows:
                if (line := self.line_of(row, seed)) is not None:
                    lines[row.label].append(line)
        published = PUBLISHED[self._settings.paper].get(name, {})
        self._plot(name, lines, published)
        header = ["", "seeds", *self.metrics]
        body = [
            [
                label,
                f"{len(of_row)}/{1 if label == 'BM25' else len(self._settings.seeds)}",
                *(_cell(of_row, metric, published.get(label, {})) for metric in self.metrics),
            ]
            for label, of_row in lines.items()
        ]
        from training.ablation.report import markdown

        return f"## {name}\n\n{markdown([header, *body])}"

    def _bm25_line(self) -> dict[str, Any]:
        """BM25 with the parameters that BSARD's authors chose."""
        from rank_bm25 import BM25Okapi

        from training.bm25_table import CountedLaw, Variant
        from training.data import evaluated
        from training.settings import DEV_DEPTH

        corpus, (_, asked) = self.data.corpus, self.measured
        law = CountedLaw(corpus.articles, asked, terms="analysed", text_rule=self.base.text_rule)
        found = law.rankings(Variant(BM25Okapi, 2.5, 0.2), DEV_DEPTH)
        ids = ([corpus.ids[place] for place in row] for row in found)
        values = evaluated(asked, ids, self.metrics, DEV_DEPTH)
        return {"values": {metric: list(of.values()) for metric, of in values.items()}}

    def _bm25(self) -> str:
        from training.bm25_table import Bm25TableSettings, markdown, measure

        split, _ = self.measured
        place, share = self._settings.data, self.base.dev_share
        measured = measure(
            Bm25TableSettings(corpus=place, questions=place, split=split, dev_share=share)
        )
        return f"## table1\n\n{markdown(measured)}"

    def _ranker(self) -> str:
        """SoICT's Table 2 as a grid of its own, over the bi-encoder of the first seed."""
        from training.ablate import ablate
        from training.ablation.grid import RankerAblationSettings

        try:
            first = self._trained(TABLES["soict"]["stages"][0], self._settings.seeds[0])
        except OutOfTimeError as stopped:
            self._left.append(f"table2: the bi-encoder, {stopped}")
            return "## table2\n\nThe bi-encoder below it is not trained yet."
        left = None
        if self._deadline is not None:
            left = max(0.0, self._deadline - time.monotonic())
        given = _preset("soict_ranker")
        names = ("candidates", "learning_rate", "batch_size", "epochs", "select_by")
        chosen = {name: given[name] for name in names}
        if self._settings.epochs is not None:
            chosen["epochs"] = self._settings.epochs
        if self._settings.model is not None:
            chosen["start"] = self._settings.model
        grid = self._output / "ranker"
        grid_settings: Any = RankerAblationSettings  # its fields are made when it is imported
        ablate(
            grid_settings(
                datasets=(self._settings.data,),
                output=str(grid),
                results=str(self._output / "ranker.jsonl"),
                tables=("table2",),
                seeds=self._settings.seeds,
                measure_on=self.measured[0],
                model=str(first),
                dev_share=self.base.dev_share,
                device=self._settings.device,
                budget_s=left,
                **chosen,
            )
        )
        text = (grid / f"{Path(self._settings.data).resolve().name}.md").read_text("utf-8")
        known = "; ".join(
            f"{arm} {values['MRR@10']:.3f}" for arm, values in PUBLISHED["soict"]["table2"].items()
        )
        own = text.partition("\n\n")[2]
        return f"## table2\n\nThe paper's MRR@10: {known}.\n\n{own}"

    def _plot(
        self,
        name: str,
        lines: Mapping[str, Sequence[Mapping[str, Any]]],
        published: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Bars of the first metric with the paper's marks, and curves by epoch."""
        from training.records import figure_at, files_at

        metric = self.metrics[0]
        shown = {label: of_row for label, of_row in lines.items() if of_row}
        if not shown:
            return
        stem = self._output / f"{self._settings.paper}-{name}"
        size = (12, 1.6 + 0.35 * len(shown))
        with figure_at(stem, 1, 2, figsize=size) as (_, (bars, curves)):
            labels = list(shown)
            bars.barh(labels, [_mean(shown[label], metric) for label in labels], label="found here")
            marks = [(published[n][metric], n) for n in labels if metric in published.get(n, {})]
            if marks:
                bars.plot(*zip(*marks, strict=True), "kD", label="the paper")
                bars.legend()
            bars.invert_yaxis()
            bars.set(xlabel=metric)
            for label, of_row in shown.items():
                for line in of_row[:1]:
                    if line.get("curve"):
                        curves.plot(*zip(*line["curve"], strict=True), marker="o", label=label)
            curves.set(xlabel="epochs trained", ylabel=f"{_CURVE} on dev")
            if curves.lines:
                curves.legend(fontsize="x-small")
        for file in files_at(stem):
            say(f"Drawn: {file}")


def _preset(name: str) -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text("utf-8"))
    return values


def _named(row: Row, seed: int) -> str:
    changes = "".join(f"-{value}" for value in (row.changes or {}).values())
    return f"{'gnn' if row.graph else 'dr'}-{row.arm}{changes}-{seed}"


def _curve(folder: Path) -> list[tuple[int, float]]:
    """A metric on dev by epoch, as training measured it."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(each["epoch"], each["dev"][_CURVE]) for each in records if "dev" in each]


def _mean(lines: Sequence[Mapping[str, Any]], metric: str) -> float:
    return fmean(fmean(line["values"][metric]) for line in lines)


def _cell(lines: Sequence[Mapping[str, Any]], metric: str, published: Mapping[str, float]) -> str:
    """Mean and interval, the paper's number and the difference."""
    from components.statutes.significance import bootstrap_interval

    known = published.get(metric)
    if not lines:
        return "–" if known is None else f"– ({known:.3f})"
    # Seeds first, so that each question counts once.
    by_question = [fmean(values) for values in _by_question(lines, metric)]
    low, high = bootstrap_interval(by_question)
    mean = fmean(by_question)
    cell = f"{mean:.3f} [{low:.3f}, {high:.3f}]"
    return cell if known is None else f"{cell} ({known:.3f}, {mean - known:+.3f})"


def _by_question(lines: Sequence[Mapping[str, Any]], metric: str) -> Iterator[tuple[float, ...]]:
    return zip(*(line["values"][metric] for line in lines), strict=True)


if __name__ == "__main__":
    sys.exit(main())
