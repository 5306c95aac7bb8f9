"""Lines of corpora and of questions, and files of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from components.statutes.sources.opening import articles_path, questions_path


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


def housing_code(folder: Path) -> Path:
    """The demo's Housing Code, 58 articles, and 230 questions that it alone answers (not -u).

    The file of guides is empty.
    """
    articles = articles_path().read_bytes().splitlines(keepends=True)
    housing = [each for each in articles if json.loads(each)["law"].startswith("Housing")]
    ids = {json.loads(each)["id"] for each in housing}
    asked = [
        each
        for each in questions_path().read_bytes().splitlines(keepends=True)
        if set() < set(json.loads(each)["relevant"]) <= ids and "-u" not in json.loads(each)["id"]
    ]
    folder.mkdir()
    write(folder / "articles.jsonl", *housing)
    write(folder / "questions.jsonl", *asked)
    write(folder / "guides.jsonl")
    return folder
