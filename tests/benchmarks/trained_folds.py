"""Cross-validate a training: every question is measured by a model that did not learn it.

    python tests/benchmarks/trained_folds.py --law FOLDER --config CONFIG --work DIR

Splits the answerable questions of train and dev into `--folds` parts. For each part it trains on
the others (a tenth of which chooses the epoch), indexes the law with the trained model and with the
one it started from, and asks the part's questions. Prints each pipeline over all questions, with
its interval, and the differences between the models, paired over questions. What is finished stands
in DIR and is not done again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import bench
import numpy as np

from components.statutes.corpus import read_questions
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, holm, paired_randomisation

METRICS = ("R@10", "R@100", "MAP@10", "MRR@10")
PIPELINES = ("lexical", "dense", "hybrid")
MODELS = ("untrained", "trained")
Run = dict[str, list[str]]


def command(module: str, *arguments: str | Path) -> None:
    print("python -m", module, *arguments, flush=True)
    subprocess.run([sys.executable, "-m", module, *map(str, arguments)], check=True)


def write_questions(questions: Sequence[Question], part: set[str], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for each in questions:
            split = "test" if each.id in part else "train"
            row = {"id": each.id, "text": each.text, "relevant": each.relevant, "split": split}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_run(path: Path) -> Run:
    ranked: Run = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question, _, article, *_ = line.split(" ")
        ranked.setdefault(question, []).append(article)
    return ranked


def asked(store: Path, questions: Path, runs: Path) -> dict[str, Run]:
    if not runs.exists():
        others = [f"--compare={name}" for name in PIPELINES if name != "hybrid"]
        options = ["--questions", questions, "--split", "test", "--pipeline", "hybrid", *others]
        command("pipelines.evaluate", "--store", store, *options, "--run-dir", runs)
    return {name: read_run(runs / f"{name}.trec") for name in PIPELINES}


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument(
        "--law", required=True, type=Path, help="folder with articles and questions"
    )
    parser.add_argument("--config", required=True, help="of training.cusines")
    parser.add_argument("--base", default="multilingual", help="the model that it starts from")
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    questions = [
        each for each in read_questions(options.law) if each.relevant and each.split != "test"
    ]
    base = options.work / "untrained.db"
    if not base.exists():
        command(
            "pipelines.index", "--corpus", options.law, "--model", options.base, "--store", base
        )
    # Questions with the same words stay together.
    fold_of = {
        text: n % options.folds for n, text in enumerate(dict.fromkeys(q.text for q in questions))
    }
    found: dict[tuple[str, str], Run] = {}
    for n in range(options.folds):
        part = {each.id for each in questions if fold_of[each.text] == n}
        folder = options.work / f"fold-{n}"
        folder.mkdir(exist_ok=True)
        own = folder / "questions.jsonl"
        write_questions(questions, part, own)
        model, store = folder / "model", folder / "trained.db"
        data = ["--corpus", options.law, "--questions", own]
        if not (model / "manifest.json").exists():
            command("training.cusines", "--config", options.config, *data, "--output", model)
        if not store.exists():
            command("pipelines.index", "--corpus", options.law, "--model", model, "--store", store)
        for name, place in zip(MODELS, (base, store), strict=True):
            for pipeline, run in asked(place, own, folder / name).items():
                found.setdefault((pipeline, name), {}).update(run)
    gold = {each.id: each.relevant for each in questions}
    values = {
        arm: {
            metric: np.array([own[id_] for id_ in gold])
            for metric, own in evaluate(run, gold, METRICS, depth=1_000).items()
        }
        for arm, run in found.items()
    }
    print(f"\n{len(gold)} questions\n\n| | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    for (pipeline, name), own in values.items():
        if (pipeline, name) == ("lexical", "trained"):
            continue  # words need no training
        cells = []
        for metric in METRICS:
            low, high = bootstrap_interval(own[metric])
            cells.append(f"{own[metric].mean():.3f} ({low:.3f} to {high:.3f})")
        label = "words" if pipeline == "lexical" else f"`{pipeline}`, {name}"
        print(f"| {label} | {' | '.join(cells)} |")
    pairs = [
        (("dense", "trained"), ("dense", "untrained")),
        (("hybrid", "trained"), ("hybrid", "untrained")),
        (("hybrid", "untrained"), ("lexical", "untrained")),
        (("hybrid", "trained"), ("lexical", "untrained")),
    ]
    print(f"\n| difference; p after Holm | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    tests = {
        m: [paired_randomisation(values[a][m], values[b][m]) for a, b in pairs] for m in METRICS
    }
    adjusted = {m: holm([each.p for each in own]) for m, own in tests.items()}
    for n, (a, b) in enumerate(pairs):
        cells = [
            f"{tests[m][n].difference:+.3f} ({tests[m][n].interval[0]:+.3f} to "
            f"{tests[m][n].interval[1]:+.3f}; p {adjusted[m][n]:.3f})"
            for m in METRICS
        ]
        print(f"| {' '.join(a)} against {' '.join(b)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
