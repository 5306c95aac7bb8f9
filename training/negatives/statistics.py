"""What was drawn in an epoch, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.statutes.question import Question
from training.negatives.gold import DrawnNegatives
from training.negatives.sampling import CurriculumNegatives
from training.objective import similarities

# What was drawn for a few questions, to show a curriculum at work.


EXAMPLES = 3
MAX_CHARACTERS = 300
# With share_of bucket a large law draws hundreds.
MAX_NEGATIVES = 32


def examples(
    drawn: DrawnNegatives, negatives: CurriculumNegatives, questions: Sequence[Question]
) -> list[dict[str, Any]]:
    """The negatives of a few questions in an epoch; the result can be written as JSON.

    The questions are the middle ones of as many equal parts of the list, so they are the same in
    every epoch.

    Args:
        drawn: The epoch's negatives.
        negatives: What drew them.
        questions: The questions, in the order for which they were drawn.

    Returns:
        For each question:

        - `question`: its id; `text`: its first 300 characters.
        - `positives`: ids of the articles that answer it.
        - `drawn`: how many negatives it got.
        - `negatives`: of each `article`, its id; `bucket`, 0 is the easiest; `view`, the name of
          the one that ranks it hardest, None without views; `tree_distance` to the nearest
          positive, as in `statistics`. If there are more than 32, 32 at even steps through the
          draw, which is in the order of the buckets.
    """
    n_questions = len(questions)
    rows = sorted({(2 * part + 1) * n_questions // (2 * EXAMPLES) for part in range(EXAMPLES)})
    return [_example(row, drawn, negatives, questions[row]) for row in rows]


def _example(
    row: int, drawn: DrawnNegatives, negatives: CurriculumNegatives, question: Question
) -> dict[str, Any]:
    ids, positives = negatives.gold.article_ids, negatives.gold.positives[row]
    # -1 means no view.
    view_names = (*negatives.view_names, None)
    cross_law = negatives.settings.cross_law
    distances = negatives.tree.min_distances(positives, cross_law=cross_law)
    start, stop = drawn.starts[row : row + 2].tolist()
    shown = min(stop - start, MAX_NEGATIVES)
    places = start + np.arange(shown) * (stop - start) // max(shown, 1)
    return {
        "question": question.id,
        "text": question.text[:MAX_CHARACTERS],
        "positives": [ids[position] for position in positives.tolist()],
        "drawn": stop - start,
        "negatives": [
            {
                "article": ids[position],
                "bucket": int(drawn.buckets[place]),
                "view": view_names[drawn.views[place]],
                "tree_distance": int(distances[position]),
            }
            for place, position in zip(
                places.tolist(), drawn.articles[places].tolist(), strict=True
            )
        ],
    }


def statistics(
    drawn: DrawnNegatives,
    previous: DrawnNegatives | None,
    negatives: CurriculumNegatives,
    *,
    questions: Tensor | None = None,
    articles: Tensor | None = None,
) -> dict[str, Any]:
    """Describe the negatives of an epoch; the result can be written as JSON.

    Args:
        drawn: The epoch's negatives.
        previous: Those of the epoch before, if there was one.
        negatives: What drew them, right after the draw.
        questions: float32 `[n_questions, dim]`, for the audit.
        articles: float32 `[n_articles, dim]`, likewise.

    Returns:
        - `drawn`: number of (question, negative) pairs.
        - `buckets`: how many came from each, from easy to difficult.
        - `views`: how many each view ranks harder than the others do; empty without views.
        - `mean_tree_distance`: to the question's nearest positive, in the true tree (also where its
          leaves are permuted) and by its `cross_law`; None where nothing was drawn.
        - `overlap`: share of the pairs that were also drawn in the epoch before; None in the first.
        - `ties`: for each view, the share of all negatives that it ties with another.
        - `audit`: `above_best_positive` and `above_a_positive`, for each bucket the share of the
          drawn negatives that score above the question's best positive, or above its worst; None
          for an empty bucket. `audit` is None without vectors.
    """
    n_drawn = len(drawn.articles)
    n_buckets = negatives.settings.buckets
    overlap = None
    if previous is not None and n_drawn:
        pairs, before = (_pairs(each, negatives.n_articles) for each in (drawn, previous))
        overlap = float(np.isin(pairs, before).mean())
    audit = None
    if questions is not None and articles is not None:
        audit = _audit(drawn, negatives, questions, articles)
    return {
        "drawn": n_drawn,
        "buckets": np.bincount(drawn.buckets, minlength=n_buckets).tolist(),
        "views": {
            name: int((drawn.views == view).sum()) for view, name in enumerate(negatives.view_names)
        },
        "mean_tree_distance": _mean_tree_distance(drawn, negatives),
        "overlap": overlap,
        "ties": dict(negatives.tie_shares),
        "audit": audit,
    }


def _pairs(drawn: DrawnNegatives, n_articles: int) -> NDArray[np.int64]:
    """A unique number for each (question, article)."""
    return drawn.questions * n_articles + drawn.articles


def _mean_tree_distance(drawn: DrawnNegatives, negatives: CurriculumNegatives) -> float | None:
    if not len(drawn.articles):
        return None
    cross_law = negatives.settings.cross_law
    total = 0
    for question, positives in enumerate(negatives.gold.positives):
        distances = negatives.tree.min_distances(positives, cross_law=cross_law)
        total += int(distances[drawn.of(question)].sum())
    return total / len(drawn.articles)


def _audit(
    drawn: DrawnNegatives, negatives: CurriculumNegatives, questions: Tensor, articles: Tensor
) -> dict[str, list[float | None]]:
    above_best = np.empty(len(drawn.articles), dtype=np.bool_)
    above_a = np.empty_like(above_best)
    for question, positives in enumerate(negatives.gold.positives):
        rows = np.concatenate([positives, drawn.of(question)])
        vectors = articles[torch.from_numpy(rows).to(articles.device)].detach()
        asked = questions[question].detach().to(articles.device)
        compared = similarities(
            asked.double()[None], vectors.double(), negatives.settings.similarity
        )
        scores = compared[0].cpu().numpy()
        of_positives, of_drawn = np.split(scores, [len(positives)])
        here = slice(drawn.starts[question], drawn.starts[question + 1])
        above_best[here] = of_drawn > of_positives.max()
        above_a[here] = of_drawn > of_positives.min()
    inside = [drawn.buckets == bucket for bucket in range(negatives.settings.buckets)]

    def by_bucket(above: NDArray[np.bool_]) -> list[float | None]:
        return [float(above[each].mean()) if each.any() else None for each in inside]

    return {"above_best_positive": by_bucket(above_best), "above_a_positive": by_bucket(above_a)}
