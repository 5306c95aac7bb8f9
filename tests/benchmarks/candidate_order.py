"""A learnt order of a ranker's candidates: `candidate_order.py STORE RANKER QUESTIONS [--splits]`.

Over a store without answered questions, the 90 candidates of `hybrid` as they come, by the ranker
alone, by both with a weight, in a learnt order, and in one learnt without the ranker; the last
three in five folds of the questions. A row of Markdown each; p is against `hybrid`.
"""

from __future__ import annotations

import math
from statistics import fmean

import bench
import numpy as np

from components.converters.articles import ranks_of
from components.rankers.cross_encoder import Pace, candidates_of, load_ranker, score_in_time
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.validity import ANY
from components.statutes.corpus import read_questions
from components.statutes.significance import paired_randomisation
from components.stores.sqlite import StatuteDocumentStore
from training.candidates import ArticlePairs, DevLists, FusionWeight, learn_order
from training.settings import RERANKED

LISTS = ("bm25", "division", "dense")
METRIC = "MAP@10"


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("store")
    parser.add_argument("ranker")
    parser.add_argument("questions")
    parser.add_argument("--splits", nargs="+", default=["dev", "test"])
    parser.add_argument("--limit", type=int, help="how many of a split, drawn at random")
    options = parser.parse_args()
    store = StatuteDocumentStore(options.store)
    assert store.model is not None
    retriever = StatuteHybridRetriever(store, store.model.path, top_k=RERANKED, as_of=ANY)
    ranker, chooser = load_ranker(options.ranker, None, None, "auto")
    asked = []
    for split in options.splits:
        known = [q for q in read_questions(options.questions) if q.split == split and q.answerable]
        order = np.random.default_rng(0).permutation(len(known))[: options.limit]
        asked += [known[place] for place in order.tolist()]
    found, logits = [], []
    for question in asked:
        documents = retriever.run(question.text)["documents"]
        read = candidates_of(documents, ranker.text_rule, None)
        scored = score_in_time(ranker, chooser, Pace(), question.text, read, None)
        assert len(scored) == RERANKED
        found.append(documents)
        logits.append([each.logit for each in scored])
    ids = [[each.id for each in documents] for documents in found]
    lists = DevLists(asked, ids, ArticlePairs.of([], []), RERANKED)
    ranks = {
        name: np.array(
            [[ranks_of(each.meta).get(name, math.nan) for each in own] for own in found], np.float32
        )
        for name in LISTS
    }
    relevant = [set(question.relevant) for question in asked]
    answers = np.array(
        [[each in own for each in row] for row, own in zip(ids, relevant, strict=True)]
    )
    z = np.array(logits, np.float32)
    hybrid = lists.values(lists.found, METRIC)
    ways = {
        "hybrid": hybrid,
        "ranker alone": lists.values(lists.re_ranked(z), METRIC),
        "weight": FusionWeight.choose(lists, z, METRIC).held_out,
    }
    for name, known_logits in (("learnt", z), ("learnt without ranker", np.zeros_like(z))):
        learned = learn_order(lists, known_logits, ranks, answers, METRIC, seed=0)
        assert learned is not None
        ways[name] = learned[1]
    print(f"{len(asked)} questions\n\n| order | {METRIC} | p |\n|---|---|---|")
    for name, values in ways.items():
        print(f"| {name} | {fmean(values):.3f} | {paired_randomisation(values, hybrid).p:.4f} |")


if __name__ == "__main__":
    main()
