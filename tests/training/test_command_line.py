"""Settings from a file and flags, and what each kind of failure ends in."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from safetensors import SafetensorError

from components.models.errors import ModelError
from components.statutes.problems import CorpusError, Problem
from training.command_line import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    Place,
    SettingsError,
    TrainingError,
    run,
    settings_from,
)
from training.graph_training.settings import GraphSettings
from training.run_settings import RunSettings
from training.settings import CusinesSettings

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a command takes.

    Args:
        corpus: The law.
        output: Where to.
        epochs: How often.
        share: Of what.
        views: Which.
        kind: Of two.
        fast: Whether.
        extra: Another file.
    """

    corpus: Place
    output: Place
    epochs: int = 3
    share: float = 0.5
    views: tuple[str, ...] = ("tree",)
    kind: Literal["one", "two"] = "one"
    fast: bool = True
    extra: Place | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise SettingsError(f"epochs is {self.epochs}; it must be at least 1.")


NEEDED = ["--corpus", "aldermere", "--output", "models/x"]


def settings(*arguments: str) -> Settings:
    return settings_from("cusines", "Trains.", Settings, arguments)


def config(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of wrong use; nothing goes to stdout."""
    with pytest.raises(SystemExit) as left:
        settings(*arguments)
    assert left.value.code == WRONG_USE
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.partition("error:")[2]


def test_flags_name_fields_with_underscores_and_defaults_fill_the_rest():
    found = settings(*NEEDED, "--epochs", "5", "--views", '["bm25"]', "--fast", "false")
    expected = Settings(
        corpus=Place("aldermere"), output=Place("models/x"), epochs=5, views=("bm25",), fast=False
    )
    assert found == expected


@pytest.mark.parametrize("written", ["tree,bm25", "[tree, bm25]", '["tree", "bm25"]'])
def test_a_list_may_be_written_without_brackets(tmp_path, written):
    assert settings(*NEEDED, "--views", written).views == ("tree", "bm25")
    assert settings(*NEEDED, f"--views={written}").views == ("tree", "bm25")
    assert settings(*NEEDED, "--views", "tree", "--fast", "false").views == ("tree",)
    file = config(tmp_path, "views: tree\n")
    assert settings(*NEEDED, "--config", str(file)).views == ("tree",)


def test_a_flag_wins_over_the_file_wherever_it_stands(tmp_path):
    file = config(tmp_path, "epochs: 7\nshare: 0.25\nviews: [bm25, tree]\n")
    for arguments in (
        ["--config", str(file), "--epochs", "2"],
        ["--epochs", "2", f"--config={file}"],
    ):
        found = settings(*arguments, *NEEDED)
        assert (found.epochs, found.share, found.views) == (2, 0.25, ("bm25", "tree"))


def test_the_file_may_give_what_is_required(tmp_path):
    file = config(tmp_path, "corpus: aldermere\noutput: models/y\n")
    assert settings("--config", str(file)).corpus == "aldermere"
    assert settings("--config", str(file), "--corpus", "mine").corpus == "mine"


def test_paths_in_a_file_are_relative_to_it_and_names_stay_names(tmp_path, monkeypatch):
    (tmp_path / "law.jsonl").touch()
    file = config(tmp_path, "corpus: law.jsonl\nextra: ./new/run.trec\noutput: ../models/x\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = settings("--config", str(file))
    assert Path(found.corpus) == tmp_path / "law.jsonl"
    assert Path(str(found.extra)) == tmp_path / "new" / "run.trec"
    assert Path(found.output).resolve() == (tmp_path.parent / "models" / "x").resolve()
    named = config(tmp_path, "corpus: aldermere\noutput: ./x\nextra: intfloat/e5-small\n")
    assert settings("--config", str(named)).corpus == "aldermere"
    assert settings("--config", str(named)).extra == "intfloat/e5-small"


def test_an_output_that_does_not_exist_yet_is_relative_to_the_file_too(tmp_path, monkeypatch):
    file = config(tmp_path, "corpus: aldermere\nquestions: aldermere\noutput: models/x\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = settings_from("cusines", "", CusinesSettings, ["--config", str(file)])
    assert Path(found.output) == tmp_path / "models" / "x"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epoch", "3"], "--epoch"),
        (["--batch-size", "3"], "--batch-size"),
        (["stray"], "stray"),
        (["--epochs", "three"], "epochs.*three"),
        (["--epochs", "2.5"], "epochs.*2.5"),
        (["--epochs", "0"], "epochs is 0; it must be at least 1"),
        (["--kind", "three"], "kind.*three"),
        (["--fast", "perhaps"], "fast.*perhaps"),
        (["--views", "[bm25"], "views.*bm25"),
        (["--views", "tree", "bm25"], "bm25"),
        (["--config"], "--config takes one file, once"),
        (["--config", "a.yaml", "--config", "b.yaml"], "--config takes one file, once"),
        (["--config", "missing.yaml"], "missing.yaml.*cannot be read"),
    ],
)  # fmt: skip
def test_wrong_flags_say_which_and_leave_with_2(capsys, arguments, message):
    assert re.search(message, refused(capsys, *NEEDED, *arguments), re.DOTALL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs: [3\n", "is not YAML"),
        ("fast: perhaps\n", "fast"),
        ("kind: 1\n", "kind"),
        ("- epochs\n", "must hold 'setting: value' lines"),
        ("", "must hold 'setting: value' lines"),
        ("epocs: 3\n", "there is no setting 'epocs'"),
        ("3: 4\n", "there is no setting 3"),
        ("epochs: three\n", "epochs"),
        ("epochs: 0\n", "epochs is 0"),
        ("epochs: 2\nfast: true\nepochs: 3\n", "line 3: 'epochs' stands there twice"),
        ("epochs: !!python/object/apply:os.system ['true']\n", "is not YAML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_in_it(tmp_path, capsys, text, message):
    file = config(tmp_path, text)
    assert message in refused(capsys, "--config", str(file), *NEEDED)


@pytest.mark.parametrize("written", ["0.25", "2.5e-1", "25e-2", "'0.25'"])
def test_a_number_in_a_file_may_be_written_as_on_the_command_line(tmp_path, written):
    """YAML itself takes 25e-2 for a string."""
    file = config(tmp_path, f"share: {written}\nextra: null\n")
    assert settings("--config", str(file), *NEEDED).share == 0.25
    assert settings(*NEEDED, "--share", written.strip("'")).share == 0.25


def test_a_file_that_is_no_text_or_a_folder_is_refused(tmp_path, capsys):
    (tmp_path / "run.yaml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in refused(capsys, "--config", str(tmp_path / "run.yaml"), *NEEDED)
    assert "cannot be read" in refused(capsys, "--config", str(tmp_path), *NEEDED)
    (tmp_path / "run.yaml").write_text("#" * 1_000_001)
    assert "is larger than" in refused(capsys, "--config", str(tmp_path / "run.yaml"), *NEEDED)


def test_what_is_required_is_asked_for(capsys):
    assert "output" in refused(capsys, "--corpus", "aldermere")


@pytest.mark.parametrize(
    ("kind", "epochs"), [(CusinesSettings, "Paper: 15"), (GraphSettings, "CuSINeS: 25")]
)
def test_help_explains_every_field_with_the_paper_s_value(capsys, kind, epochs):
    with pytest.raises(SystemExit) as left:
        settings_from("cusines", "Trains.", kind, ["--help"])
    assert left.value.code == DONE
    said = capsys.readouterr().out
    for field in dataclasses.fields(kind):
        assert f"--{field.name} " in said
    # Every field has its line in the docstring, or its help would be its type alone.
    documented = f"{RunSettings.__doc__}{kind.__doc__}"
    for field in dataclasses.fields(kind):
        assert f"\n        {field.name}: " in documented
    assert epochs in said and "130 interrupted" in said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("temperature is 0"), WRONG_USE),
        (ModelError("no such model"), WRONG_USE),
        (TrainingError("the loss is nan"), FAILED),
        (OSError(28, "No space left on device", "/full"), FAILED),
        (SafetensorError("I/O error: No space left on device (os error 28)"), FAILED),
        (CorpusError([Problem("law.jsonl", 3, "text", "is empty", "Fill it.")]), FAILED),
        (KeyboardInterrupt(), INTERRUPTED),
    ],
)
def test_an_error_is_a_message_and_an_exit_code(capsys, error, code):
    def work() -> None:
        raise error

    assert run(work) == code
    said = capsys.readouterr()
    assert said.out == "" and "Traceback" not in said.err
    expected = "interrupted" if code == INTERRUPTED else str(error).splitlines()[0]
    assert expected in said.err or "law.jsonl" in said.err


def test_work_that_is_done_is_0(capsys):
    assert run(lambda: None) == DONE
    assert capsys.readouterr().err == ""


def test_a_fault_of_ours_is_not_hidden():
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(work)


def test_the_command_refuses_wrong_use_without_loading_a_model():
    """Nor the libraries that take seconds to import."""
    script = (
        "import sys; from training.cusines import main\n"
        "try: main(['--corpus', 'x', '--questions', 'x', '--output', 'x', '--epochs', 'three'])\n"
        "except SystemExit as left: code = left.code\n"
        "assert code == 2, code\n"
        "assert 'sentence_transformers' not in sys.modules\n"
        "assert 'accelerate' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
