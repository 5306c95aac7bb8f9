"""Random numbers that depend on what they are for, and on nothing else."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *purpose: object) -> np.random.Generator:
    """A generator of its own for a seed and a purpose, such as (epoch, question id).

    Counter-based (Philox, Salmon et al., SC 2011) and keyed by a digest: the numbers of one
    question do not depend on how many were drawn for others, nor on `PYTHONHASHSEED`.
    """
    text = "/".join(map(str, (seed, *purpose)))
    key = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))
