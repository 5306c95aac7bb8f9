"""Haystack documents as rows of the table `documents`, and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document
from haystack.dataclasses import ByteStream
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from components.stores.failures import StoreError, damaged

COLUMNS = "id, content, meta, other, law, position"
# An id's old row is replaced by one with a new key.
INSERT = f"INSERT OR REPLACE INTO documents ({COLUMNS}, embedding) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Documents without a position come last.
NO_POSITION = 2**62
# json.loads looks for options and whitespace first, which costs as much as a short meta itself.
_parsed = json.JSONDecoder().decode
# What a document is rebuilt from, without its vector: retrieved documents never carry one.
BARE = "id, content, meta, other"


def embedding_blob(document: Document, dim: int | None) -> bytes | None:
    """The document's vector as float32 bytes.

    Raises:
        ValueError: when it is not finite, is zero, or is not `dim` long; names the document.
    """
    if document.embedding is None:
        return None
    vector = np.asarray(document.embedding, dtype=np.float32)
    where = f"document '{document.id}': its embedding"
    if vector.ndim != 1 or (dim is not None and len(vector) != dim):
        expected = "one row of numbers" if dim is None else f"{dim} numbers, as the store's others"
        raise ValueError(f"{where} has shape {list(vector.shape)}, expected {expected}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{where} holds NaN or infinite values. Embed the document again.")
    if not vector.any():
        raise ValueError(f"{where} is all zeros and has no direction. Embed the document again.")
    return vector.tobytes()


def position_of(document: Document) -> int:
    """Its place in the order of the law; `NO_POSITION` where it says none."""
    position = document.meta.get("position")
    return position if type(position) is int and abs(position) < NO_POSITION else NO_POSITION


def as_row(document: Document) -> tuple[Any, ...]:
    """The document's values of `COLUMNS`.

    Raises:
        ValueError: when meta is no JSON, or a text is no UTF-8; names the document.
    """
    other = {
        "blob": document.blob.to_dict() if document.blob else None,
        "score": document.score,
        "sparse_embedding": document.sparse_embedding.to_dict()
        if document.sparse_embedding
        else None,
    }
    kept = {key: value for key, value in other.items() if value is not None}
    law = document.meta.get("law")
    row = (
        document.id,
        document.content,
        _json(document, document.meta),
        _json(document, kept) if kept else None,
        law if isinstance(law, str) else None,
        position_of(document),
    )
    for name, value in zip(COLUMNS.split(", "), row, strict=True):
        try:
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"document {document.id!r}: its {name} holds half of a surrogate pair, which no "
                "UTF-8 text can. Write the character itself, or leave it out."
            ) from error
    return row


def parsed(path: Path, id_: str, column: str, text: str) -> dict[str, Any]:
    """The JSON of one column of a document's row.

    Raises:
        StoreError: it is no JSON; names the file and the document.
    """
    try:
        fields: dict[str, Any] = _parsed(text)
    except json.JSONDecodeError as error:
        where = f"the {column} of document {id_!r} is no JSON ({error})"
        raise StoreError(damaged(path, where)) from error
    return fields


def from_row(
    path: Path,
    id_: str,
    content: str | None,
    meta: str,
    other: str | None,
    embedding: bytes | None = None,
    score: float | None = None,
) -> Document:
    """The document of a row of the file; `score`, where given, is that of a search.

    Raises:
        StoreError: the row is damaged; names the file and the document.
    """
    if other is None and embedding is None:  # as nearly all are: reading them is most of a search
        return Document(id=id_, content=content, meta=parsed(path, id_, "meta", meta), score=score)
    vector = None if embedding is None else np.frombuffer(embedding, dtype=np.float32).tolist()
    rest = parsed(path, id_, "other", other) if other else {}
    return Document(
        id=id_,
        content=content,
        meta=parsed(path, id_, "meta", meta),
        embedding=vector,
        blob=ByteStream.from_dict(rest["blob"]) if "blob" in rest else None,
        score=rest.get("score") if score is None else score,
        sparse_embedding=SparseEmbedding.from_dict(rest["sparse_embedding"])
        if "sparse_embedding" in rest
        else None,
    )


def _json(document: Document, value: dict[str, Any]) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"document '{document.id}': its meta cannot be stored as JSON ({error}). "
            "Write dates as ISO strings and leave out other objects."
        ) from error
