"""The results of all runs: one JSON object a line, only ever added to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.models.artifacts import sync
from training.ablation.identity import key_of
from training.command_line import SettingsError, say


class Results:
    """The lines of a results file by their runs' keys.

    A line is written at once and synced. A last line that was cut off by a kill is removed when
    the file is opened, with a message.

    Args:
        path: The file; made with the first line.

    Attributes:
        lines: Key to line. Where a key stands twice, the first counts.

    Raises:
        SettingsError: A line is none of a run; names it.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        text = path.read_bytes() if path.exists() else b""
        start = 0
        for number, raw in enumerate(text.splitlines(keepends=True), start=1):
            whole = raw.endswith(b"\n")
            try:
                line = json.loads(raw)
                self.lines.setdefault(key_of(line), line)
            except (ValueError, KeyError, TypeError) as error:
                if not whole:
                    self._cut(start, f"line {number}")
                    return
                raise SettingsError(
                    f"{path}:{number}: is no result of a run ({type(error).__name__}: {error}). "
                    "Remove the line, or give another results file."
                ) from error
            if not whole:
                self._write(b"\n")
            start += len(raw)

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a run's line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        self._write(text.encode() + b"\n")
        self.lines[key_of(line)] = dict(line)

    def _write(self, text: bytes) -> None:
        # One write to a file opened for appending: lines of two grids do not mix.
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if os.write(target, text) != len(text):
                raise OSError(f"{self.path}: the disk is full; the last line is not whole.")
            os.fsync(target)
        finally:
            os.close(target)
        sync(self.path.parent)

    def _cut(self, size: int, what: str) -> None:
        say(f"{self.path}: {what} was not written to its end, and is removed")
        with self.path.open("r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())
