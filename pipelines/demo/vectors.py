"""python -m pipelines.demo.vectors: write the demo law's vectors, which come with the package.

A fresh demo store takes them over, so that its first page need not wait until MiniLM has read the
law. Texts that are not among them are encoded as those of any law.

    python -m pipelines.index --corpus aldermere --store demo.db
    python -m pipelines.demo.vectors demo.db
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from components.models.folder import articles_digest, find_model
from components.stores.sqlite import StatuteDocumentStore

VECTORS = Path(__file__).with_name("vectors.npz")


def adopt_vectors(store: StatuteDocumentStore, model: Path) -> None:
    """Put the shipped vectors where `index_corpus` looks for known ones, if this model made them.

    Args:
        store: that is about to be filled.
        model: the demo's.
    """
    digest = articles_digest(model)
    with np.load(VECTORS) as file:
        if file["model"] == digest:
            texts = (row.tobytes().hex() for row in file["digests"])
            vectors = file["vectors"].astype(np.float32)
            store.journal.keep(digest, dict(zip(texts, vectors, strict=True)))


def write_vectors(store: StatuteDocumentStore, path: Path) -> None:
    """Write the vectors of a store's articles and provisions, float16 `[n, dim]`."""
    assert store.model is not None
    digest = articles_digest(find_model(store.model.path))
    known = store.journal.vectors(digest, sorted(store.journal.known(digest)))
    np.savez(
        path,
        model=np.array(digest),
        digests=np.array([np.frombuffer(bytes.fromhex(each), np.uint8) for each in known]),
        vectors=np.array(list(known.values()), np.float16),
    )


if __name__ == "__main__":
    with closing(StatuteDocumentStore(sys.argv[1])) as opened:
        write_vectors(opened, VECTORS)
