"""What the correction of spelling is worth: questions as they are, and with one word misspelt.

    python tests/benchmarks/spelling.py --law FOLDER --store law.db --split train --questions 300

In each question one word of six letters or more that the law has is misspelt: a letter left out,
doubled, replaced or exchanged with the next. Prints how many questions were corrected, how often to
the right word, and what the pipeline finds with and without the correction.
"""

from __future__ import annotations

import random
import re

import bench
import numpy as np

from components.retrievers.hybrid import StatuteHybridRetriever
from components.statutes.corpus import read_questions
from components.statutes.metrics import evaluate
from components.statutes.significance import paired_randomisation
from components.statutes.spelling import corrected
from components.stores.sqlite import StatuteDocumentStore

METRICS = ("R@10", "MRR@10")
WORD = re.compile(r"[^\W\d_]{6,}")


def misspelt(question: str, knows: bench.Call, rng: random.Random) -> str:
    known = [each for each in WORD.finditer(question) if knows(each.group())]
    if not known:
        return question
    chosen = rng.choice(known)
    word, at = chosen.group(), rng.randrange(1, len(chosen.group()) - 1)
    changed = rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )
    return question[: chosen.start()] + changed + question[chosen.end() :]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--law", required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--split", default="train")
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    store = StatuteDocumentStore(options.store)
    assert store.model is not None
    retriever = StatuteHybridRetriever(store, model=store.model.path)
    words = retriever.bm25.current_index()
    asked = [q for q in read_questions(options.law) if q.relevant and q.split == options.split]
    random.Random(0).shuffle(asked)
    asked = asked[: options.questions]
    gold = {each.id: each.relevant for each in asked}
    rng = random.Random(1)
    texts = {
        "as asked": [each.text for each in asked],
        "misspelt": [misspelt(each.text, words.knows, rng) for each in asked],
    }
    correct = retriever._corrections
    print(f"| {len(asked)} questions | corrected | right | {' | '.join(METRICS)} | p |")
    print("|---|---|---|" + "---|" * (len(METRICS) + 1))
    for name, own in texts.items():
        values = {}
        for uses in (False, True):
            retriever._corrections = correct if uses else lambda _: {}
            found = [retriever.run(text) for text in own]
            run = {
                each.id: [document.id for document in one["documents"]]
                for each, one in zip(asked, found, strict=True)
            }
            by_metric = evaluate(run, gold, METRICS, depth=10)
            values[uses] = {m: np.array(list(v.values())) for m, v in by_metric.items()}
            changes = [one["corrections"] for one in found]
            right = sum(
                bool(each) and corrected(text, each).lower() == original.lower()
                for text, each, original in zip(own, changes, texts["as asked"], strict=True)
            )
            means = " | ".join(f"{values[uses][m].mean():.3f}" for m in METRICS)
            p = paired_randomisation(values[uses]["R@10"], values[False]["R@10"]).p
            label = f"{name}, {'corrected' if uses else 'not corrected'}"
            print(f"| {label} | {sum(map(bool, changes))} | {right} | {means} | {p:.4f} |")


if __name__ == "__main__":
    main()
