"""What the list of answered questions adds to `hybrid`.

    python tests/benchmarks/answered.py --store law.db --questions FILE --split test
    python tests/benchmarks/answered.py --store law.db --questions FILE --folds 5

Keeps the training questions with a copy of the store, chooses their weight as
`pipelines.index --answered` does, and asks the questions of the split with that list and without
it. With `--folds` the questions of all splits are divided by seed instead: each part is asked over
the answers to the others, which also choose the weight. Prints the means, and the p of the
differences.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import bench
import numpy as np

from components.models.biencoder import BiEncoder
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.validity import ANY
from components.statutes.corpus import read_questions
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, paired_randomisation
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import keep_answered

METRICS = ("Exist@1", "Exist@3", "MRR@10", "R@10", "MAP@10", "R@100")
DEPTH = 100
Run = dict[str, list[str]]


def ask(store: StatuteDocumentStore, questions: list[Question]) -> Run:
    assert store.model is not None
    retriever = StatuteHybridRetriever(store, store.model.path, top_k=DEPTH, as_of=ANY)
    return {
        each.id: [found.id for found in retriever.run(each.text)["documents"]] for each in questions
    }


def parts(questions: list[Question], folds: int) -> list[tuple[list[Question], list[Question]]]:
    """For each part, the questions to ask and the answered ones."""
    shuffled = random.Random(0).sample(questions, len(questions))
    return [
        (shuffled[part::folds], [each for n, each in enumerate(shuffled) if n % folds != part])
        for part in range(folds)
    ]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--folds", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(options.store, folder))
        store = StatuteDocumentStore(str(path))
        assert store.model is not None
        model = BiEncoder.load(store.model.path)
        given = read_questions(options.questions)
        every = [each for each in given if each.answerable]
        if options.folds:
            divided = parts([replace(each, split=None) for each in every], options.folds)
            asked = [each for part, _ in divided for each in part]
        else:
            asked = [each for each in every if each.split == options.split]
            divided = [(asked, [each for each in given if each.split == "train"])]
        without = ask(store, asked)
        with_list: Run = {}
        for part, answered in divided:
            choosing = [each for each in every if each.split == "dev"]
            if options.folds or options.split == "dev":
                choosing = answered
            print(keep_answered(store, model, answered, choosing, print), flush=True)
            with_list |= ask(store, part)
        store.close()
    qrels = {each.id: each.relevant for each in asked}
    before, after = (evaluate(run, qrels, METRICS, depth=DEPTH) for run in (without, with_list))
    print(f"{len(asked)} questions of {options.store.stem}")
    for metric in METRICS:
        one, other = (np.array(list(each[metric].values())) for each in (before, after))
        low, high = bootstrap_interval(other)
        p = paired_randomisation(other, one).p
        print(
            f"{metric:<8} {one.mean():.3f} without, {other.mean():.3f} ({low:.3f} to {high:.3f}) "
            f"with; p {p:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
