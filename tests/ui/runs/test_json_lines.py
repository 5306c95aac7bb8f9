"""Files of any content are read as far as they go, and never fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ui.runs.json_lines import (
    Lines,
    items,
    mapping,
    number,
    read_lines,
    read_object,
    stamp_of,
    text,
    whole,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", Lines()),
        (b'{"a": 1}\n{"a": 2}\n', Lines(({"a": 1}, {"a": 2}))),
        (b'{"a": 1}\n\n{"a": 2}', Lines(({"a": 1}, {"a": 2}))),
        (b'{"a": 1}\n{"a": ', Lines(({"a": 1},), damaged=1)),
        (b'[1]\nnull\n3\n"x"\n{"a": 1}\n', Lines(({"a": 1},), damaged=4)),
        (b'\xff\xfe\n{"a": 1}\n', Lines(({"a": 1},), damaged=1)),
        (b"[" * 100_000 + b"\n", Lines(damaged=1)),
        (b'{"a": ' + b"9" * 10_000 + b"}\n", Lines(damaged=1)),
    ],
    ids=["empty", "whole", "no-end", "half", "no-objects", "no-text", "deep", "long-number"],
)
def test_every_line_that_is_an_object_is_read_and_the_others_are_counted(
    tmp_path: Path, content: bytes, expected: Lines
):
    (tmp_path / "file").write_bytes(content)
    assert read_lines(tmp_path / "file", 1 << 20) == expected


def test_a_file_longer_than_the_limit_is_cut_at_a_whole_line(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1}\n' * 10)
    assert read_lines(path, 90) == Lines(({"a": 1},) * 10)
    assert read_lines(path, 89) == Lines(({"a": 1},) * 9, cut=True)
    assert read_lines(path, 20) == Lines(({"a": 1},) * 2, cut=True)


def test_of_very_many_lines_the_first_are_read_and_the_others_not_counted(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 1}\n\n')
    assert read_lines(path, 90, 3) == Lines(({"a": 1},) * 2, damaged=1)
    assert read_lines(path, 90, 2) == Lines(({"a": 1},), damaged=1, cut=True)
    assert read_lines(path, 90, 1) == Lines(({"a": 1},), cut=True)
    assert read_object(path, 5) == {}


def test_what_is_no_file_is_missing_and_a_pipe_is_not_waited_for(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe", "nothing", "a\0b"):
        assert read_lines(tmp_path / name, 100) == Lines(missing=True), name
        assert read_object(tmp_path / name, 100) == {}
    assert stamp_of(tmp_path / "nothing") is None
    assert stamp_of(tmp_path / "a\0b") is None


@pytest.mark.parametrize(
    ("value", "as_number", "as_whole"),
    [
        (3, 3.0, 3),
        (0.5, 0.5, None),
        (-1, -1.0, None),
        (True, None, None),
        ("3", None, None),
        (None, None, None),
        ([3], None, None),
        (float("nan"), None, None),
        (float("inf"), None, None),
        (10**400, None, None),
        (1e300, None, None),
    ],
)
def test_a_number_is_one_that_can_be_shown(value: Any, as_number: Any, as_whole: Any):
    assert number(value) == as_number
    assert whole(value) == as_whole


def test_other_kinds_give_nothing_in_place_of_an_error():
    assert text("x" * 400) == "x" * 300
    assert (text(3), text(None)) == ("", "")
    assert (mapping([1]), mapping({"a": 1})) == ({}, {"a": 1})
    assert (items({"a": 1}, 3), items([1, 2, 3], 2)) == ([], [1, 2])
