"""The bi-encoder's vectors of texts: from a store that has them, else encoded."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from components.models.biencoder import BiEncoder
from components.models.encoding import EncodingReport
from components.stores.journal import text_digest
from components.stores.sqlite import StatuteDocumentStore


class BaseVectors:
    """Looks texts up by their digest and the bi-encoder's, and encodes those that are not known.

    Args:
        encoder: the bi-encoder.
        store: may hold its vectors; None where nothing is known.
        progress_bar: whether to show on a terminal how many texts are encoded.

    Attributes:
        report: what was encoded until now.
    """

    def __init__(
        self, encoder: BiEncoder, store: StatuteDocumentStore | None, progress_bar: bool
    ) -> None:
        self.report = EncodingReport()
        self._encoder = encoder
        self._store = store
        self._progress_bar = progress_bar

    def of(self, texts: Sequence[str]) -> Tensor:
        """Vectors of texts, float32 `[n, dim]` of unit length; equal texts are encoded once.

        Raises:
            StoreError: the store cannot be read.
        """
        digests = [text_digest(text) for text in texts]
        known = (
            {}
            if self._store is None
            else self._store.journal.vectors(self._encoder.digest, set(digests))
        )
        unknown = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known
        }
        # None shows the bar on a terminal only.
        hidden = None if self._progress_bar else True
        with tqdm(total=len(unknown), desc="Encoding", unit="text", disable=hidden) as bar:
            encoded, report = self._encoder.encode_articles_report(
                list(unknown.values()), progress=bar.update
            )
        self.report += report
        known.update(zip(unknown, encoded.numpy(), strict=True))
        vectors = np.empty((len(texts), self._encoder.dim), dtype=np.float32)
        for row, digest in enumerate(digests):
            vectors[row] = known[digest]
        return torch.from_numpy(vectors)
