"""The results of all runs: one JSON object a line, only ever added to."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.models.folder import sync
from components.models.locks import file_lock
from training.ablation.identity import key_of
from training.ablation.systems import CUSINES, SYSTEMS
from training.command_line import SettingsError, say


class Results:
    """The lines of a results file by their runs' keys.

    A line is written at once and synced; several grids may add to one file. A last line that was
    cut off by a kill is removed when it is met after results of runs, with a message; a file of
    anything else is refused, and left as it is.

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
        self._size = 0
        self._n_lines = 0
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since, by this grid or another.

        Raises:
            SettingsError: As when opened.
            OSError: As when opened.
        """
        text = self._unread()
        if text and not text.endswith(b"\n"):
            # Another grid may be writing it at this moment. Not so while we hold the lock.
            with file_lock(self.path, wait=True):
                self._mend()
        else:
            self._take(text)

    def check_writable(self) -> None:
        """Refuse a file that no line could be added to, before anything is computed for it.

        Raises:
            SettingsError: It, or its folder, cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
        except OSError as error:
            raise SettingsError(
                f"results: {self.path} cannot be written ({error.strerror}). Name a file in a "
                "folder that you may write to."
            ) from error

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a run's line.

        Raises:
            SettingsError: As when opened.
            OSError: The file cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        with file_lock(self.path, wait=True):
            self._mend()
            self._write(text.encode() + b"\n")
        sync(self.path.parent)
        self.refresh()

    def _unread(self) -> bytes:
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            file.seek(self._size)
            return file.read()

    def _take(self, text: bytes) -> None:
        """Take whole lines as read."""
        for raw in text.splitlines():
            try:
                line = json.loads(raw)
                key = key_of(line)
                _check_values(line)
            except (ValueError, KeyError, TypeError) as error:
                raise self._no_result(error) from error
            self.lines.setdefault(key, line)
            self._n_lines += 1
        self._size += len(text)

    def _mend(self) -> None:
        """Read what was added; end a last line that is whole, remove one that was cut off."""
        text = self._unread()
        last = text.rpartition(b"\n")[2]
        # First what is before it: of a file of something else nothing is removed.
        self._take(text.removesuffix(last))
        if not last:
            return
        try:
            json.loads(last)
        except ValueError as error:
            if not self.lines:
                raise self._no_result(error) from error
            say(f"{self.path}: line {self._n_lines + 1} was not written to its end, and is removed")
            with self.path.open("r+b") as file:
                file.truncate(self._size)
                os.fsync(file.fileno())
        else:
            self._take(last)
            self._write(b"\n")
            self._size += 1

    def _no_result(self, error: Exception) -> SettingsError:
        return SettingsError(
            f"{self.path}:{self._n_lines + 1}: is no result of a run ({type(error).__name__}: "
            f"{error}). Remove the line, or give another results file."
        )

    def _write(self, text: bytes) -> None:
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(target, text) != len(text):
                raise OSError(f"{self.path}: the disk is full; the last line is not whole.")
            os.fsync(target)
        finally:
            os.close(target)


def _check_values(line: Mapping[str, Any]) -> None:
    """Refuse a line without a number for each of its questions in each metric of its system."""
    for metric in SYSTEMS[line.get("system", CUSINES.name)].metrics:
        values = line["values"][metric]
        if len(values) != len(line["questions"]) or not all(map(math.isfinite, values)):
            raise ValueError(f"{metric} is not one finite number for each question")
