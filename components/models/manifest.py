"""`manifest.json`: what a model folder is, what made it, and the digest of every file in it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from components.models.errors import ModelError
from components.statutes.article import TextRule
from components.statutes.lexical import Segmentation

MANIFEST_FILE = "manifest.json"
FORMAT = 1
QUERY_PART = "biencoder/query"
PASSAGE_PART = "biencoder/passage"
HEAD_PART = "biencoder/head"
GRAPH_PART = "graph"
RANKER_PART = "ranker"
PARTS = (QUERY_PART, PASSAGE_PART, HEAD_PART, GRAPH_PART, RANKER_PART)


@dataclass(frozen=True)
class Manifest:
    """The contents of `manifest.json`, format 1.

    Attributes:
        kind: What the folder holds: "biencoder", "graph", "ranker".
        base_model: Name or path of the model that training began with.
        towers: Part that encodes each side, `{"query": ..., "passage": ...}`; both name
            "biencoder/query" where the towers share weights.
        dim: Width of the vectors.
        text_rule: What of an article is encoded: headings and text, or text alone.
        segmentation: Language whose words are joined before a text is encoded, or None; folders
            written before there was a choice do not name it.
        prompts: What is written before a text, `{"query": ..., "passage": ...}`.
        config: The resolved training configuration.
        data: `corpus_sha256`, `questions_sha256` of what it was trained on.
        metrics: Measured at the end of training.
        files: sha256 of every file of every part, by path relative to the folder ("/" between).
    """

    kind: tuple[str, ...]
    base_model: str
    towers: Mapping[str, str]
    dim: int
    text_rule: TextRule = "headings_text"
    segmentation: Segmentation | None = None
    prompts: Mapping[str, str] = field(default_factory=lambda: {"query": "", "passage": ""})
    config: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """The part folders that have files, such as "biencoder/query" and "graph"."""
        return tuple(part for part in PARTS if self.files_of(part))

    def files_of(self, part: str) -> dict[str, str]:
        """sha256 of one part's files, by path relative to that part."""
        prefix = part + "/"
        return {p.removeprefix(prefix): d for p, d in self.files.items() if p.startswith(prefix)}

    def to_json(self) -> str:
        """The text of `manifest.json`."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """Parse the text of a `manifest.json`; `where` names the file in messages.

        Raises:
            ModelError: Not JSON, another format, or a field that is missing, unknown or ill-typed.
        """
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise ModelError(
                f"{where}: is not JSON ({error}). Copy the model folder again."
            ) from error
        if not isinstance(fields, dict) or "format" not in fields:
            raise ModelError(f"{where}: field 'format' is missing. Copy the model folder again.")
        if (found := fields.pop("format")) != FORMAT:
            raise ModelError(
                f"{where}: field 'format' is {found!r}; this Lexarbor reads format {FORMAT}. "
                "Use the Lexarbor that wrote it, or train the model again."
            )
        fields.setdefault("segmentation", None)
        _check_fields(fields, where)
        return cls(**{**fields, "kind": tuple(fields["kind"])})


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model folder, with every file checked against its digest.

    Raises:
        ModelError: The manifest is broken or of another format, a file is missing, changed, or in a
            part without being listed.
    """
    where = str(folder / MANIFEST_FILE)
    try:
        text = (folder / MANIFEST_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{where}: cannot be read ({error}). Copy the folder again.") from error
    manifest = Manifest.from_json(text, where)
    repair = "Copy the model folder again, or train the model again."
    found = digests_of_parts(folder)
    for path, digest in manifest.files.items():
        if path not in found:
            raise ModelError(f"{folder / path}: is named in the manifest and missing. {repair}")
        if found[path] != digest:
            raise ModelError(f"{folder / path}: is not what was saved (digest differs). {repair}")
    if unlisted := sorted(found.keys() - manifest.files.keys()):
        raise ModelError(
            f"{folder / unlisted[0]}: is in the folder and not in the manifest. Remove it: a file "
            "that nobody vouches for is not loaded."
        )
    for side, part in manifest.towers.items():
        if part not in manifest.parts:
            raise ModelError(f"{where}: field 'towers.{side}' names {part!r}, a part with no file.")
    return manifest


def digests_of_parts(folder: Path) -> dict[str, str]:
    """sha256 of every file under a model folder's parts, by path relative to the folder."""
    return {
        f"{part}/{path}": digest
        for part in PARTS
        if (folder / part).is_dir()
        for path, digest in digests_of_tree(folder / part).items()
    }


def digests_of_tree(folder: Path) -> dict[str, str]:
    """sha256 of every file under `folder`, by relative path ("/" between), sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def file_digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_fields(fields: dict[str, Any], where: str) -> None:
    kinds: dict[str, type] = {
        "kind": list,
        "base_model": str,
        "towers": dict,
        "dim": int,
        "text_rule": str,
        "segmentation": object,  # a text or null: its values are looked at below
        "prompts": dict,
        "config": dict,
        "data": dict,
        "metrics": dict,
        "files": dict,
    }
    for name, kind in kinds.items():
        if name not in fields:
            raise ModelError(f"{where}: field '{name}' is missing. Copy the model folder again.")
        if not isinstance(fields[name], kind):
            raise ModelError(f"{where}: field '{name}' is not a {kind.__name__}.")
    if unknown := sorted(fields.keys() - kinds.keys()):
        raise ModelError(f"{where}: field '{unknown[0]}' is unknown in format {FORMAT}.")
    known = {"text_rule": get_args(TextRule), "segmentation": (None, *get_args(Segmentation))}
    for name, values in known.items():
        if fields[name] not in values:
            raise ModelError(f"{where}: field '{name}' is {fields[name]!r}.")
    for name in ("towers", "prompts"):
        sides = fields[name]
        if sides and (
            sides.keys() != {"query", "passage"}
            or not all(isinstance(value, str) for value in sides.values())
        ):
            raise ModelError(f"{where}: field '{name}' must name 'query' and 'passage'.")
    for path in fields["files"]:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not path.startswith(PARTS):
            raise ModelError(f"{where}: field 'files' names {path!r}, outside the model's parts.")
