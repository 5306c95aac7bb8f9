from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.models.locks import file_lock
from training.ablation.results import Results
from training.ablation.run import Run
from training.command_line import SettingsError

Runs = Callable[..., list[Run]]
Line = Callable[..., dict[str, Any]]


@pytest.fixture
def two(runs: Runs, line: Line) -> list[dict[str, Any]]:
    return [line(run) for run in runs()]


def written(path: Path, lines: list[dict[str, Any]]) -> bytes:
    results = Results(path)
    for each in lines:
        results.add(each)
    return path.read_bytes()


def test_what_was_added_is_found_again_one_line_a_run(
    two: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "new" / "results.jsonl"
    text = written(path, two)
    assert [json.loads(raw) for raw in text.splitlines()] == two
    assert Results(path).lines == {each["key"]: each for each in two}


def test_a_file_that_is_not_there_has_no_lines_and_is_not_made(tmp_path: Path) -> None:
    assert Results(tmp_path / "results.jsonl").lines == {}
    assert not (tmp_path / "results.jsonl").exists()


def test_a_last_line_cut_anywhere_is_removed_with_a_message(
    two: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    text = written(path, two)
    first = text.index(b"\n") + 1
    for size in {*range(first + 1, len(text) - 1, 97), first + 1, len(text) - 2}:
        path.write_bytes(text[:size])
        assert list(Results(path).lines) == [two[0]["key"]]
        assert path.read_bytes() == text[:first]
        assert f"{path}: line 2 was not written to its end" in capsys.readouterr().err
        Results(path).add(two[1])
        assert path.read_bytes() == text


def test_what_another_grid_adds_is_found_when_it_is_looked_for(
    two: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    ours, theirs = Results(path), Results(path)
    theirs.add(two[0])
    assert ours.lines == {}
    ours.refresh()
    assert list(ours.lines) == [two[0]["key"]]
    ours.add(two[1])
    assert set(ours.lines) == {each["key"] for each in two}
    theirs.refresh()
    assert theirs.lines == ours.lines
    assert len(path.read_bytes().splitlines()) == 2


def test_a_line_that_is_being_written_is_waited_for_not_removed(
    two: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    text = written(path, two)
    path.write_bytes(text[:-100])
    with file_lock(path, wait=True):
        reader = threading.Thread(target=lambda: results.append(Results(path)))
        results: list[Results] = []
        reader.start()
        reader.join(0.3)
        assert reader.is_alive()
        with path.open("ab") as file:
            file.write(text[-100:])
    reader.join(10)
    assert len(results[0].lines) == 2
    assert path.read_bytes() == text
    assert capsys.readouterr().err == ""


def test_a_line_is_added_after_what_a_kill_left_of_another(
    two: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path)
    results.add(two[0])
    with path.open("ab") as file:
        file.write(b'{"key": "of another gr')
    results.add(two[1])
    assert [json.loads(raw) for raw in path.read_bytes().splitlines()] == two


def test_a_broken_line_that_another_adds_is_named_by_its_place_in_the_file(
    two: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path)
    results.add(two[0])
    results.add(two[1])
    with path.open("ab") as file:
        file.write(b"x\n")
    with pytest.raises(SettingsError, match=r"results\.jsonl:3: is no result of a run"):
        results.refresh()


def test_a_whole_last_line_without_its_end_of_line_is_kept(
    two: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    text = written(path, two)
    path.write_bytes(text[:-1])
    assert len(Results(path).lines) == 2
    assert path.read_bytes() == text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": "JSON on one line"}',
        b"a text",
        b"articles:\n- one\n- two",
        b'{"of": "another kind"}\n{"cut": ',
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(
    two: list[dict[str, Any]], tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path)
    path.write_bytes(text)
    for use in (lambda: Results(path), results.refresh, lambda: results.add(two[0])):
        with pytest.raises(SettingsError, match=r"results\.jsonl:1: is no result of a run"):
            use()
        assert path.read_bytes() == text


def test_a_whole_last_line_that_is_no_result_is_not_removed(
    two: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    text = written(path, two) + b'{"a": "note"}'
    path.write_bytes(text)
    with pytest.raises(SettingsError, match=r"results\.jsonl:3: is no result of a run"):
        Results(path)
    assert path.read_bytes() == text


@pytest.mark.parametrize("broken", ['{"key": 1', "[]", '{"key": "x"}', '"x"', "\\"])
def test_a_broken_line_in_the_middle_is_refused_by_its_number(
    two: list[dict[str, Any]], tmp_path: Path, broken: str
) -> None:
    path = tmp_path / "results.jsonl"
    text = written(path, two)
    path.write_bytes(broken.encode() + b"\n" + text)
    with pytest.raises(SettingsError, match=r"results\.jsonl:1: is no result of a run"):
        Results(path)
    assert path.read_bytes().endswith(text)


@pytest.mark.parametrize("values", [None, [], ["0.5"] * 4, [float("nan")] * 4])
def test_a_line_without_a_number_for_each_question_is_refused(
    two: list[dict[str, Any]], tmp_path: Path, values: Any
) -> None:
    path = tmp_path / "results.jsonl"
    own = {**two[1]["values"], "MAP": values}
    if values is None:
        del own["MAP"]
    text = "".join(json.dumps(line) + "\n" for line in (two[0], {**two[1], "values": own}))
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        SettingsError, match=r"results\.jsonl:2: is no result of a run.*(MAP|number)"
    ):
        Results(path)


def test_the_first_line_of_a_run_counts(two: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    written(path, [two[0], {**two[0], "steps": 99}])
    assert Results(path).lines[two[0]["key"]]["steps"] == two[0]["steps"]
