"""What of a model folder makes up a bi-encoder."""

from __future__ import annotations

from pathlib import Path

from components.models.errors import ModelError
from components.models.head import HierarchicalArticleHead
from components.models.manifest import HEAD_PART, Manifest
from components.models.tower import Tower, open_towers


def open_parts(
    folder: Path, manifest: Manifest
) -> tuple[Tower, Tower | None, HierarchicalArticleHead | None]:
    """The tower of the questions, that of the articles where it is another one, and the head.

    Raises:
        ModelError: There is no bi-encoder, or it cannot be opened, or its weights are not finite.
    """
    if "biencoder" not in manifest.kind or not manifest.towers:
        raise ModelError(
            f"{folder}: holds {', '.join(manifest.kind)}, but no bi-encoder. Give a folder that "
            "holds one."
        )
    query, _ = open_towers(folder / manifest.towers["query"])
    passage = None
    if manifest.towers["passage"] != manifest.towers["query"]:
        passage, _ = open_towers(folder / manifest.towers["passage"])
    head = None
    if HEAD_PART in manifest.parts:
        head = HierarchicalArticleHead.load(folder / HEAD_PART)
    return query, passage, head
