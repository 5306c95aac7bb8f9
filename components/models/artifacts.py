"""Writing files and folders, a model's above all: complete or not at all."""

from __future__ import annotations

import dataclasses
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

    Whoever sees `target` sees all of it, see `whole_folder`.

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
    with whole_folder(target) as partial:
        for part, source in parts.items():
            if isinstance(source, Path):
                link_tree(source, partial / part)
            else:
                (partial / part).mkdir(parents=True)
                source(partial / part)
        written = dataclasses.replace(manifest, files=digests_of_parts(partial))
        (partial / MANIFEST_FILE).write_text(written.to_json(), encoding="utf-8")
    return written


def check_target(target: Path) -> None:
    """Refuse what no finished folder can take the place of, before any work is put into it.

    Raises:
        ModelError: `target` is a file, a folder that is not empty, a symbolic link, or a place
            where a file system is mounted.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"{target}: exists and is not empty. Remove it, or give another folder.")
    # A folder can be renamed over an empty one, but over neither of these two.
    if target.is_symlink():
        raise ModelError(
            f"{target}: is a symbolic link, which a finished folder cannot replace. Name the "
            f"folder that it points to ({os.path.realpath(target)}), or a folder inside it."
        )
    if os.path.ismount(target):
        raise ModelError(
            f"{target}: is where a file system is mounted (a volume, say), and a finished folder "
            f"cannot replace it. Name a folder inside it, such as {target / 'model'}."
        )


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


@contextmanager
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Make a folder that is there, all of it on the disk, once the block has ended.

    It is written beside its place, synced and renamed. Where the block raises, nothing is left.

    Args:
        path: Folder to make; its parents are made too.
        replace: An older folder gives way, and so does what a writer that was killed has left.
            Nobody else may be writing it then. Otherwise several may, and the first one wins.

    Yields:
        The folder to write into, empty.

    Raises:
        OSError: Without `replace`, `path` holds something.
    """
    name = path.name if replace else f"{path.name}.{secrets.token_hex(4)}"
    partial = path.with_name(f".{name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        sync_tree(partial)
        if replace:
            shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)
        sync(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def whole_file(path: Path, *, synced: bool = True) -> Iterator[Path]:
    """Write a file that is there, all of it on the disk, once the block has ended.

    It is written beside its place, synced and renamed; an older one gives way. Where the block
    raises, that one stays and nothing else is left. Nobody else may be writing it.

    Args:
        path: File to write, in a folder that exists.
        synced: False for what is worth nothing after a crash of the machine.

    Yields:
        The file to write.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        if synced:
            sync(partial)
        partial.replace(path)
        if synced:
            sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


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
