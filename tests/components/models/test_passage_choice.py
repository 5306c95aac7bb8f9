"""Which passages are chosen, from vectors that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.passage_choice import PassageChooser

DIM = 384


class MadeUp:
    """A text's vector is drawn from its letters, a question's from "?" alone."""

    def encode_queries(self, texts: Sequence[str]) -> Tensor:
        return self.encode_articles(["?" for _ in texts])

    def encode_articles(self, texts: Sequence[str]) -> Tensor:
        return torch.stack([torch.from_numpy(vector(text)) for text in texts])


def vector(text: str) -> np.ndarray:
    drawn = np.random.default_rng(list(text.encode())).normal(size=DIM)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def chosen(passages: list[str], most: int) -> list[int]:
    (found,) = PassageChooser(cast(BiEncoder, MadeUp())).choose("q", [passages], most)
    return found


@pytest.mark.parametrize("number", range(3, 64))
def test_of_equal_passages_the_earlier_are_read(number: int) -> None:
    assert chosen(["same"] * number, 2) == [0, 1]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_nearest_are_read_in_the_order_of_the_article(most: int) -> None:
    passages = [f"passage {n}" for n in range(40)]
    exact = [float(vector(each).astype(np.float64) @ vector("?")) for each in passages]
    assert chosen(passages, most) == sorted(sorted(range(40), key=lambda n: -exact[n])[:most])
