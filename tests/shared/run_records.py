"""Invented records of training runs."""

from __future__ import annotations

from typing import Any

BUCKETS = ([70, 20, 10], [15, 70, 15], [10, 20, 70])


def an_example(number: int, epoch: int, **fields: Any) -> dict[str, Any]:
    return {
        "question": f"q{number}",
        "text": f"Who pays for {number}?",
        "positives": [f"a{number}"],
        "drawn": 2,
        "negatives": [
            {
                "article": f"a{number + 1 + epoch + place}",
                "bucket": min(epoch, 2),
                "view": "tree",
                "tree_distance": 6 - 2 * epoch,
            }
            for place in range(2)
        ],
        **fields,
    }


def an_epoch(epoch: int, **fields: Any) -> dict[str, Any]:
    """A record as `training.cusines` writes it."""
    return {
        "epoch": epoch,
        "step": epoch * 4,
        "dev": {"R@10": 0.5 + epoch / 10, "R@100": 0.9, "MAP": 0.4},
        "negatives": {
            "drawn": 100,
            "buckets": BUCKETS[epoch % 3],
            "views": {"tree": 40, "sequence": 35, "semantic": 25},
            "mean_tree_distance": 12.5 - epoch,
            "overlap": None if epoch == 0 else 0.25,
        },
        "examples": [an_example(number, epoch) for number in (1, 4, 7)],
        "loss": 2.0 - epoch / 4,
        "losses": [2.0 - epoch / 4 + step / 100 for step in range(4)],
        **fields,
    }


def records(epochs: int = 3) -> list[dict[str, Any]]:
    """A whole run; the last record only measures."""
    last = {"epoch": epochs, "step": epochs * 4, "dev": {"R@10": 0.75, "R@100": 0.95, "MAP": 0.5}}
    return [*(an_epoch(epoch) for epoch in range(epochs)), last]
