"""Lines of corpora and of questions, and files of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def article(id_: Any = "a1", **fields: Any) -> dict[str, Any]:
    record = {
        "id": id_,
        "law": "Housing Code",
        "number": f"{id_}.",
        "headings": [],
        "text": "Words.",
    }
    return {name: value for name, value in (record | fields).items() if value is not ...}


def question(id_: Any = "q1", **fields: Any) -> dict[str, Any]:
    record = {"id": id_, "text": "May I?", "relevant": ["a1"], "split": "train"}
    return {name: value for name, value in (record | fields).items() if value is not ...}


def line(record: object) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def write(path: Path, *lines: bytes) -> Path:
    content = b"".join(lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
