"""What was drawn for a few questions, for whoever wants to see a curriculum at work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.statutes.question import Question
from training.negatives.drawn import DrawnNegatives
from training.negatives.sampling import CurriculumNegatives

EXAMPLES = 3
MAX_CHARACTERS = 300
# Where a share is a percentage of a bucket, a large law gives hundreds.
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
        questions: Those that they were drawn for, in the same order.

    Returns:
        For each question:

        - `question`: its id; `text`: its first 300 characters.
        - `positives`: ids of the articles that answer it.
        - `drawn`: how many negatives it got.
        - `negatives`: of each `article`, its id; `bucket`, 0 is the easiest; `view`, the name of
          the one that ranks it hardest, None without views; `tree_distance` to the nearest
          positive, as in `statistics`. Of more than 32, 32 at even steps through the draw, which
          is in the order of the buckets.
    """
    n_questions = len(questions)
    rows = sorted({(2 * part + 1) * n_questions // (2 * EXAMPLES) for part in range(EXAMPLES)})
    return [_example(row, drawn, negatives, questions[row]) for row in rows]


def _example(
    row: int, drawn: DrawnNegatives, negatives: CurriculumNegatives, question: Question
) -> dict[str, Any]:
    ids, positives = negatives.gold.article_ids, negatives.gold.positives[row]
    # -1 is no view.
    view_names = (*negatives.view_names, None)
    cross_law = negatives.options.cross_law
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
