"""What cannot be done with a store's file, and how to mend it."""

import sqlite3
from pathlib import Path

# Seconds to wait for another process that writes.
PATIENCE = 30.0
# What reading a file raises: sqlite3 decodes SQLite's own messages too, which quote the file.
READ_ERRORS = (sqlite3.Error, MemoryError, UnicodeDecodeError)


class StoreError(RuntimeError):
    """The store cannot do what was asked; the message says why and how to mend it."""


def damaged(path: Path, what: str) -> str:
    """That the file is damaged, where, and how to mend it."""
    return (
        f"{path} is damaged: {what}. Copy it again, or index the corpus into a new file with "
        "python -m pipelines.index --corpus ... --store NEW."
    )


def unreadable(path: Path, error: Exception) -> str:
    """What one of `READ_ERRORS` means for the file, and how to mend it."""
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
    return told(path, error)


def told(path: Path, error: Exception) -> str:
    """What SQLite's error means for the file, and how to mend it."""
    text = str(error)
    # First, since SQLite quotes the file here, whose words may be those that are looked for below.
    if "malformed" in text or "not a database" in text:
        return damaged(path, f"{text:.300}")
    if "full" in text or "disk I/O" in text:
        reason = (
            "the disk is full" if "full" in text else "the disk cannot be written (full, or broken)"
        )
        return (
            f"{path}: {reason}. Nothing of this step was kept and what stood before is "
            "whole. Make room and run the same command again: it goes on where it stopped."
        )
    if "locked" in text:
        return (
            f"{path}: another process has been writing for {PATIENCE:.0f} s. "
            "Wait for it, then try again."
        )
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}). Check the file's permissions."
    return f"{path}: {text}."
