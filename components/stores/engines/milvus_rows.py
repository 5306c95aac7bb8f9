"""The collections in Milvus: their fields and indexes, and articles as rows of them."""

from __future__ import annotations

import json
from typing import Any

from haystack import Document
from haystack.dataclasses import SparseEmbedding
from pymilvus import DataType, Function, FunctionType, MilvusClient

from components.statutes.lexical import K1, B, spelled
from components.stores.engines.rows import article_meta

_LONGEST = 65_535  # bytes of a text field
_PIECE = _LONGEST // 4  # characters, of four bytes at most
MOST_TERMS = (_LONGEST + 1) // 9  # of eight letters and a space each

_TEXTS = (
    "law",
    "number",
    "headings",
    "language",
    "valid_from",
    "valid_to",
    "source_url",
    "core",
    "text_digest",
    "row_digest",
)
_NUMBERS = ("position", "valid_from_day", "valid_to_day")

# What an article is read from.
READ = ["id", "text", "more", *_TEXTS[:7], "position"]


def articles_plan(client: MilvusClient, dim: int, *, exact: bool) -> tuple[Any, Any]:
    """Schema and indexes of the collection of articles.

    A text longer than a field holds goes on in `more`. `terms` is what BM25 is computed of.

    Args:
        client: makes both.
        dim: length of the vectors.
        exact: compare with every vector, in place of an approximate index.
    """
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_LONGEST)
    schema.add_field("text", DataType.VARCHAR, max_length=_LONGEST)
    schema.add_field(
        "more",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_length=_LONGEST,
        max_capacity=4_096,
    )
    for name in _TEXTS:
        schema.add_field(name, DataType.VARCHAR, max_length=_LONGEST)
    for name in _NUMBERS:
        schema.add_field(name, DataType.INT64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    # Terms come analysed and spelled as plain letters: the engine only has to part them.
    schema.add_field(
        "terms",
        DataType.VARCHAR,
        max_length=_LONGEST,
        enable_analyzer=True,
        analyzer_params={"tokenizer": "standard"},
    )
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    bm25 = Function(
        name="bm25",
        function_type=FunctionType.BM25,
        input_field_names=["terms"],
        output_field_names=["sparse"],
    )
    schema.add_function(bm25)
    indexes = client.prepare_index_params()
    kind = "FLAT" if exact else "AUTOINDEX"
    indexes.add_index("vector", index_type=kind, metric_type="COSINE")
    weights = {"bm25_k1": K1, "bm25_b": B}
    indexes.add_index(
        "sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=weights
    )
    for name in ("law", "core"):
        indexes.add_index(name, index_type="INVERTED")
    return schema, indexes


def states_plan(client: MilvusClient) -> tuple[Any, Any]:
    """Schema and indexes of the collection of states."""
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_LONGEST)
    for name in ("kind", "key", "value"):
        schema.add_field(name, DataType.VARCHAR, max_length=_LONGEST)
    # Milvus has no collection without vectors.
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
    return schema, indexes


def as_entity(document: Document) -> dict[str, Any]:
    """A row: the document's meta is one of `rows.as_row`, its sparse embedding counts terms."""
    text = document.content or ""
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    counts = document.sparse_embedding or SparseEmbedding([], [])
    numbers = [
        number
        for number, count in zip(counts.indices, counts.values, strict=True)
        for _ in range(int(count))
    ]
    return {
        **document.meta,
        "headings": json.dumps(document.meta["headings"], ensure_ascii=False),
        "id": document.id,
        "text": pieces[0],
        "more": pieces[1:],
        "vector": document.embedding,
        "terms": spelled(numbers[:MOST_TERMS]),
    }


def as_document(row: dict[str, Any], score: float | None = None) -> Document:
    """The article of a row that was read by the fields `READ`."""
    meta = article_meta({**row, "headings": json.loads(row["headings"])})
    return Document(
        id=row["id"], content="".join([row["text"], *(row["more"] or [])]), meta=meta, score=score
    )
