"""The vectors of articles as a store's file keeps them, for whoever trains over them."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.models.folder import ModelError

# The digest of the model whose vectors the documents carry.
OF_DOCUMENTS = "(SELECT json_extract(value, '$.digest') FROM facts WHERE key = 'model')"
# All vectors of an encoder.
KNOWN = f"""(
SELECT text_digest, vector FROM journal WHERE model = ?
UNION ALL
SELECT text_digest, embedding FROM documents
WHERE text_digest IS NOT NULL AND embedding IS NOT NULL AND {OF_DOCUMENTS} = ?
)"""


def text_digest(text: str) -> str:
    """The digest under which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def stored_vectors(
    store: str | Path, articles_digest: str, texts: Sequence[str], dim: int
) -> dict[int, NDArray[np.float32]]:
    """The vectors that a store has of some texts, float32 `[dim]` by index.

    Args:
        store: The file of a `StatuteDocumentStore`; it is only read.
        articles_digest: Of the model that must have made them.
        texts: As they were encoded.
        dim: Width of the vectors.

    Raises:
        ModelError: There is no such store, or another model or a graph network made its vectors.
    """
    path = Path(store).expanduser()
    if not path.is_file():
        raise ModelError(f"store: there is no file {path}. Name one that pipelines.index made.")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            fact = connection.execute("SELECT value FROM facts WHERE key = 'model'").fetchone()
            record = json.loads(fact[0]) if fact else {}
            if record.get("digest") != articles_digest:
                made_by = record.get("path", "no model on record")
                raise ModelError(
                    f"store: the vectors of {path} are of another articles' tower ({made_by}) than "
                    "the model's. Start from that model, or name a store that this one encoded."
                )
            wanted = {text_digest(text) for text in texts}
            rows = connection.execute(f"SELECT * FROM {KNOWN}", (articles_digest,) * 2)
            vectors = {digest: _vector(blob, dim) for digest, blob in rows if digest in wanted}
    except ModelError:
        raise
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise ModelError(f"store: {path} cannot be read as a store ({error}).") from error
    found = ((index, vectors.get(text_digest(text))) for index, text in enumerate(texts))
    return {index: vector for index, vector in found if vector is not None}


def _vector(blob: bytes, dim: int) -> NDArray[np.float32]:
    vector = np.frombuffer(blob, np.float32)
    if len(vector) != dim or not np.isfinite(vector).all():
        raise ValueError(f"a vector is not {dim} finite numbers")
    return vector
