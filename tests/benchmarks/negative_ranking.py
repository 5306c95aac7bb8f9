"""Ranking all negatives by difficulty: `python tests/benchmarks/negative_ranking.py`.

    python tests/benchmarks/negative_ranking.py [--device cuda] [--threads N]

A corpus of BSARD's size (22,633 articles, 768 dimensions), questions with 5 positives, three views:
milliseconds per question of each part and of the whole draw, in the blocks that a draw makes; then
a search of networkx from the question's positives, which gives the distances of one view. Then
the memory that a draw takes at STARD's size, 57,755 articles and 970 questions, in a process of its
own; of that, the vectors are given to it by the model.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

import bench
import networkx
import numpy as np
import torch

from components.statutes import Article, LegislativeTree, Question
from training.negatives import CurriculumNegatives, Gold
from training.negatives.ranking import TieKeys, fuse, mid_ranks
from training.negatives.sampling import BLOCK_CELLS
from training.negatives.views.semantic import SemanticView
from training.negatives.views.sequence import SequenceView
from training.negatives.views.tree import TreeView

DIM = 768
N_QUESTIONS = 184
N_POSITIVES = 5
ROUNDS = 5
TARGET_MS = {"cpu": 15.0, "cuda": 0.2}
LARGE = (57_755, 970)
TARGET_MEGABYTES = 1_000
DYNAMIC, STATIC = ("tree", "sequence", "semantic"), ("tree", "sequence", "bm25")


def questions(articles: list[Article], n_questions: int) -> list[Question]:
    chance = np.random.default_rng(0)
    relevant = chance.integers(0, len(articles), (n_questions, N_POSITIVES)).tolist()
    return [
        Question(f"q{row}", articles[own[0]].text, tuple(articles[p].id for p in own))
        for row, own in enumerate(relevant)
    ]


def unit_vectors(n: int, device: torch.device) -> torch.Tensor:
    chance = torch.Generator(device).manual_seed(n)
    vectors = torch.randn(n, DIM, generator=chance, device=device)
    return torch.nn.functional.normalize(vectors, dim=1)


def given_vectors(
    n_questions: int, n_articles: int, device: torch.device
) -> dict[str, torch.Tensor]:
    return {
        "questions": unit_vectors(n_questions, device),
        "articles": unit_vectors(n_articles, device),
    }


def milliseconds(call: Callable[[], object], device: torch.device, rounds: int = ROUNDS) -> float:
    return bench.milliseconds(lambda _: call(), range(rounds), device)


def parts(articles: list[Article], asked: list[Question], device: torch.device) -> dict[str, float]:
    """Milliseconds per question of each part, over one block."""
    gold = Gold.of(articles, asked)
    rows = np.arange(min(len(asked), max(1, BLOCK_CELLS // len(articles))))
    tree = TreeView(LegislativeTree(articles), gold, device)
    sequence = SequenceView(gold, device)
    semantic = SemanticView(gold.n_questions, gold.n_articles, device)
    semantic.refresh(unit_vectors(len(asked), device), unit_vectors(len(articles), device))
    keys = TieKeys(0, gold.question_ids, gold.article_ids, device)
    excluded = torch.zeros(len(rows), len(articles), dtype=torch.bool, device=device)
    difficulties = {view.name: view.difficulty(rows) for view in (tree, sequence, semantic)}
    ranks = {name: mid_ranks(each, excluded)[0] for name, each in difficulties.items()}
    calls: dict[str, Callable[[], object]] = {
        "tree distance": lambda: tree.difficulty(rows),
        "sequence distance": lambda: sequence.difficulty(rows),
        "semantic score": lambda: semantic.difficulty(rows),
        **{
            f"ranks, {name}": lambda each=each: mid_ranks(each, excluded)
            for name, each in difficulties.items()
        },
        "fusion": lambda: fuse(list(ranks.values()), keys.of(rows, "fusion")),
    }
    return {name: milliseconds(call, device) / len(rows) for name, call in calls.items()}


def searched(articles: list[Article], asked: list[Question]) -> float:
    """Milliseconds per question of networkx, from all positives at once."""
    tree = LegislativeTree(articles)
    graph = tree.to_networkx()
    node_of = dict(zip((each.id for each in articles), tree.article_node.tolist(), strict=True))
    return bench.milliseconds(
        lambda question: networkx.multi_source_dijkstra_path_length(
            graph, {node_of[each] for each in question.relevant}
        ),
        asked[:5],
    )


def megabytes_of_a_draw(views: tuple[str, ...], threads: int) -> float:
    """Peak above what imports, corpus and questions take, the vectors included."""
    torch.set_num_threads(threads)
    n_articles, n_questions = LARGE
    chance = np.random.default_rng(0)
    words = np.array([f"w{rank}" for rank in range(40_000)])
    ranks = np.minimum(chance.zipf(1.3, (n_articles, 60)) - 1, len(words) - 1)
    articles = [
        Article(str(n), f"Act {n // 45}", str(n), (f"Part {n // 12}", f"Chapter {n // 4}"), text)
        for n, text in enumerate(" ".join(words[row]) for row in ranks)
    ]
    asked = questions(articles, n_questions)
    del ranks

    def draw() -> None:
        negatives = CurriculumNegatives(articles, asked, views=views, device="cpu")
        cpu = torch.device("cpu")
        given = negatives.needs_vectors
        vectors = given_vectors(n_questions, n_articles, cpu) if given else {}
        negatives.draw(0, 0.0, **vectors)

    return bench.peak_bytes(draw) / 1e6


def main() -> None:
    parser = bench.parser(__doc__, articles=bench.N_ARTICLES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    device = torch.device(given.device)
    torch.set_num_threads(given.threads)

    articles = bench.law(given.articles)
    asked = questions(articles, N_QUESTIONS)
    print(f"{len(articles):,} articles, {DIM} dimensions, {given.threads} threads, {device}")
    print("milliseconds per question:")
    for name, took in parts(articles, asked, device).items():
        print(f"  {name:22}{took:9.3f}")
    vectors = given_vectors(len(asked), len(articles), device)
    negatives = CurriculumNegatives(articles, asked, views=DYNAMIC, device=device)
    whole = milliseconds(lambda: negatives.draw(0, 0.0, **vectors), device, 3) / len(asked)
    print(f"  {'the whole draw':22}{whole:9.3f}   {bench.at_most(whole, TARGET_MS[device.type])}")
    single = CurriculumNegatives(articles, asked[:1], views=DYNAMIC, device=device)
    alone = {"questions": vectors["questions"][:1], "articles": vectors["articles"]}
    took = milliseconds(lambda: single.draw(0, 0.0, **alone), device)
    print(f"  {'of one question alone':22}{took:9.3f}")
    peer = searched(articles, asked)
    print(f"  {'networkx, tree alone':22}{peer:9.3f}   {peer / whole:.0f} times the whole draw")

    n_articles, n_questions = LARGE
    print(f"\n{n_articles:,} articles x {n_questions} questions on the CPU, megabytes at the peak:")
    for views in (DYNAMIC, STATIC):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(megabytes_of_a_draw, (views, given.threads))
        print(f"  {', '.join(views):26}{peak:7.0f}   {bench.at_most(peak, TARGET_MEGABYTES)}")


if __name__ == "__main__":
    main()
