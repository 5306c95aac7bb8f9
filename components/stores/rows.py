"""Haystack documents as rows of the table `documents`, and back."""

import json
import math
import sqlite3
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
from haystack import Document
from haystack.dataclasses import ByteStream
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from numpy.typing import NDArray

# Seconds to wait for another process that writes.
PATIENCE = 30.0
# What reading a file raises: sqlite3 decodes SQLite's own messages too, which quote the file.
READ_ERRORS = (sqlite3.Error, MemoryError, UnicodeDecodeError)


class StoreError(RuntimeError):
    """The store cannot do what was requested; the message says why and what to do."""


def damaged(path: Path, what: str) -> str:
    """The message for a damaged file."""
    return (
        f"{path} is damaged: {what}. Copy it again, or index the corpus into a new file with "
        "python -m pipelines.index --corpus ... --store NEW."
    )


def unreadable(path: Path, error: Exception) -> str:
    """The message for one of `READ_ERRORS`."""
    text = str(error)
    if isinstance(error, MemoryError):
        return f"{path}: there is not enough memory to read it."
    if isinstance(error, UnicodeDecodeError):
        return damaged(path, "a name in it is not UTF-8")
    if text.startswith("Could not decode to UTF-8"):
        column = text.partition("column '")[2].partition("'")[0]
        return damaged(path, f"a text in its column {column!r:.80} is not UTF-8")
    if text == "string or blob too big":
        return damaged(path, "a value in it claims to be larger than the file")
    if text == "interrupted":
        return damaged(path, "a read took more steps than a file of its size can need")
    return failure_message(path, error)


def failure_message(path: Path, error: Exception) -> str:
    """The message for an error of SQLite."""
    text = str(error)
    # First, since SQLite quotes the file here, which may contain the words looked for below.
    if "malformed" in text or "not a database" in text:
        return damaged(path, f"{text:.300}")
    if "full" in text or "disk I/O" in text:
        reason = "is full" if "full" in text else "cannot be written (full, or broken)"
        return (
            f"{path}: the disk {reason}. Nothing of this step was kept, all earlier steps were. "
            "Make room and run the same command again: it continues where it stopped."
        )
    if "locked" in text:
        return f"{path}: another process has been writing for {PATIENCE:.0f} s. Try again later."
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}). Check the file's permissions."
    return f"{path}: {text}."


COLUMNS = "id, content, meta, other, law, position"
# An id's old row is replaced by one with a new key.
INSERT = f"INSERT OR REPLACE INTO documents ({COLUMNS}, embedding) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Documents without a position come last.
NO_POSITION = 2**62
# Haystack copies and prints metadata by recursion, which ends some 300 levels deep.
_DEEPEST = 100
_TOO_DEEP = f"is nested more than {_DEEPEST} levels deep"
# Columns from which a document is rebuilt, without its vector: retrieved documents never carry one.
BARE = "id, content, meta, other"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


# json.loads looks for options and whitespace first, which costs as much as a short meta itself.
_decoded = json.JSONDecoder(parse_constant=_refuse_constant).decode


def embedding_blob(document: Document, dim: int | None) -> bytes | None:
    """The document's vector as float32 bytes.

    Raises:
        ValueError: when it is not finite, is zero, or is not `dim` long; names the document.
    """
    if document.embedding is None:
        return None
    vector = np.asarray(document.embedding, dtype=np.float32)
    try:
        if vector.ndim != 1:
            raise ValueError("is not one row of numbers")
        vector_of(vector.tobytes(), dim)
    except ValueError as error:
        raise ValueError(
            f"document '{document.id}': its embedding {error}. Embed the document again."
        ) from error
    return vector.tobytes()


def position_of(document: Document) -> int:
    """Its place in the order of the law; `NO_POSITION` if it has none."""
    position = document.meta.get("position")
    return position if type(position) is int and abs(position) < NO_POSITION else NO_POSITION


def as_row(document: Document) -> tuple[Any, ...]:
    """The document's values of `COLUMNS`.

    Raises:
        ValueError: when meta is not JSON, or a text is not UTF-8; names the document.
    """
    sparse = document.sparse_embedding
    other = {
        "blob": document.blob.to_dict() if document.blob else None,
        "score": document.score,
        "sparse_embedding": sparse.to_dict() if sparse else None,
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
                f"document {document.id!r}: its {name} holds half of a surrogate pair. Write the "
                "character itself, or leave it out."
            ) from error
    return row


def from_json(text: object) -> Any:
    """The value of a JSON text, such as this module writes.

    Raises:
        ValueError: it is another value, or not such a text; says what is wrong with it.
    """
    if type(text) is not str:
        raise ValueError("is not a text")
    try:
        value = _decoded(text)
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if len(text) > 2 * _DEEPEST and _is_deep(text, value):
        raise ValueError(_TOO_DEEP)
    if "\\u" in text:  # as half of a character, which no text may hold, can only be written
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("holds half of a surrogate pair") from error
    return value


def _is_deep(text: str, value: Any) -> bool:
    # Every deep text has that many brackets, and few others do.
    return text.count("[") + text.count("{") > _DEEPEST and is_deeper(value, _DEEPEST)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether dictionaries and lists are nested in a value in more than so many levels."""
    level = [value]
    for _ in range(levels + 1):
        level = [each for each in level if isinstance(each, dict | list | tuple)]
        if not level:
            return False
        level = [
            inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return True


def parsed(path: Path, id_: str, column: str, text: object) -> dict[str, Any]:
    """The JSON object of one column of a document's row.

    Raises:
        StoreError: it is not one; names the file and the document.
    """
    try:
        fields = from_json(text)
    except ValueError as error:
        raise _damaged(path, id_, f"its {column} {error}") from error
    if type(fields) is not dict:
        raise _damaged(path, id_, f"its {column} is not a JSON object")
    return fields


def check_texts(path: Path, id_: object, **columns: object) -> None:
    """Check that an id and other columns are texts.

    Raises:
        StoreError: one is not; names the file and the document.
    """
    for column, value in {"id": id_, **columns}.items():
        if type(value) is not str:
            raise _damaged(path, id_, f"its {column} is not a text")


def vector_of(blob: object, dim: int | None) -> NDArray[np.float32]:
    """The vector of float32 bytes.

    Raises:
        ValueError: it is not `dim` long (None: any length), not finite, or zero; says which.
    """
    size = len(blob) if type(blob) is bytes else 0
    if not size or size % 4 or size != 4 * (dim or size // 4):
        raise ValueError(f"is not {dim or 'a row of'} float32 numbers")
    vector = np.frombuffer(cast("bytes", blob), dtype=np.float32)
    square = float(np.dot(vector, vector))  # may overflow, or vanish, where no number does
    if not (0 < square < math.inf or (np.isfinite(vector).all() and vector.any())):
        raise ValueError("holds NaN or infinity, or zeros alone")
    return vector


def check_vector(path: Path, id_: object, blob: object, dim: int | None) -> NDArray[np.float32]:
    """A document's vector.

    Raises:
        StoreError: it is not one; names the file and the document.
    """
    try:
        return vector_of(blob, dim)
    except ValueError as error:
        raise _damaged(path, id_, f"its vector {error}") from error


def from_row(
    path: Path,
    id_: str,
    content: str | None,
    meta: str,
    other: str | None,
    embedding: bytes | None = None,
    score: float | None = None,
    dim: int | None = None,
) -> Document:
    """The document of a row of the file.

    `score`, where given, is that of a search, and `dim` the length of the store's vectors.

    Raises:
        StoreError: the row is damaged; names the file and the document.
    """
    if not (id_ and type(id_) is str and (content is None or type(content) is str)):
        raise _damaged(path, id_, "its id or content is not a text")
    if other is None and embedding is None:  # as nearly all are: reading them is most of a search
        return Document(id=id_, content=content, meta=parsed(path, id_, "meta", meta), score=score)
    vector = None if embedding is None else check_vector(path, id_, embedding, dim).tolist()
    rest = {} if other is None else parsed(path, id_, "other", other)
    try:
        blob, own_score, sparse = _parts(rest)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, id_, "its other holds what no Document has") from error
    return Document(
        id=id_,
        content=content,
        meta=parsed(path, id_, "meta", meta),
        embedding=vector,
        blob=blob,
        score=own_score if score is None else score,
        sparse_embedding=sparse,
    )


def _parts(
    rest: dict[str, Any],
) -> tuple[ByteStream | None, float | None, SparseEmbedding | None]:
    blob, score, sparse = (rest.get(name) for name in ("blob", "score", "sparse_embedding"))
    if type(score) not in (int, float, type(None)):
        raise TypeError("score")
    if blob is not None:
        # Of a number, bytes() makes as many zeros.
        if type(blob["data"]) is not list or type(blob.get("meta", {})) is not dict:
            raise TypeError("blob")
        if not isinstance(blob.get("mime_type"), str | None):
            raise TypeError("mime_type")
        blob = ByteStream.from_dict(blob)
    if sparse is not None:
        sparse = SparseEmbedding.from_dict(sparse)
        numbers = {type(each) for each in (*sparse.indices, *sparse.values)}
        if not numbers <= {int, float} or any(type(each) is not int for each in sparse.indices):
            raise TypeError("sparse_embedding")
    return blob, score, sparse


def _damaged(path: Path, id_: object, what: str) -> StoreError:
    return StoreError(damaged(path, f"document {id_!r:.200}: {what}"))


def _json(document: Document, value: dict[str, Any]) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if _is_deep(text, value):
            raise ValueError(_TOO_DEEP)
        return text
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"document '{document.id}': its meta cannot be stored as JSON ({error}). "
            "Write dates as ISO strings and leave out other objects."
        ) from error
