"""Writing a model folder: complete or not at all."""

from __future__ import annotations

import dataclasses
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from components.models.errors import ModelError
from components.models.manifest import (
    MANIFEST_FILE,
    PARTS,
    Manifest,
    digests_of_parts,
)

PartWriter = Callable[[Path], None]

# A file system that cannot link (another device, FAT, some network shares) gets copies.
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EACCES}


def write_model_folder(
    target: Path, manifest: Manifest, parts: Mapping[str, PartWriter | Path]
) -> Manifest:
    """Write a complete model folder, or leave nothing behind.

    Everything goes into a sibling folder of a temporary name, is synced to the disk, the manifest
    last, and the folder is renamed to `target`: whoever sees `target` sees all of it.

    Args:
        target: Folder to make; it may exist if it is empty.
        manifest: Its `files` are ignored and filled in.
        parts: For each part (such as "biencoder/query"), a function that writes it into the folder
            it is given, or the folder of an existing part, whose files are hard-linked.

    Returns:
        The manifest as written, with the digests of all files.

    Raises:
        ModelError: `target` exists and is not empty, or a part has an unknown name.
    """
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ModelError(f"{unknown[0]!r} is no part of a model folder: {', '.join(PARTS)}.")
    target = target.absolute()
    check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        for part, source in parts.items():
            if isinstance(source, Path):
                link_tree(source, partial / part)
            else:
                (partial / part).mkdir(parents=True)
                source(partial / part)
        written = dataclasses.replace(manifest, files=digests_of_parts(partial))
        sync_tree(partial)
        (partial / MANIFEST_FILE).write_text(written.to_json(), encoding="utf-8")
        sync(partial / MANIFEST_FILE)
        sync(partial)
        partial.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written


def check_target(target: Path) -> None:
    """Refuse a folder that already holds something, before any work is put into it.

    Raises:
        ModelError: `target` is a file, or a folder that is not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"{target}: exists and is not empty. Remove it, or give another folder.")


def link_tree(source: Path, target: Path) -> None:
    """Make `target` a folder with the files of `source`: hard links, or copies where none can be.

    Raises:
        ModelError: `source` is not a folder.
    """
    if not source.is_dir():
        raise ModelError(f"{source}: is not a folder, so it cannot be kept as a part of a model.")
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_dir():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.hardlink_to(path.resolve())
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            shutil.copyfile(path, copy)


def sync_tree(folder: Path) -> None:
    """Bring every file and folder under `folder` to the disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Bring one file, or the names in one folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
