"""Settings of every training, from a file, flags or Python."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from safetensors import SafetensorError

from components.models.folder import ModelError
from components.statutes.sources.reading import CorpusError, Problem
from training.command_line import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    Place,
    SettingsError,
    Target,
    TrainingError,
    run,
    settings_from,
)
from training.negatives.curriculum import CurriculumSettings
from training.settings import CusinesSettings, GraphSettings, RankerTrainingSettings, RunSettings

# Files and flags

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


def test_a_flag_wins_over_the_file_wherever_it_stands(tmp_path):
    file = config(tmp_path, "epochs: 7\nshare: 0.25\nviews: [bm25, tree]\n")
    for arguments in (
        ["--config", str(file), "--epochs", "2"],
        ["--epochs", "2", f"--config={file}"],
    ):
        found = settings(*arguments, *NEEDED)
        assert (found.epochs, found.share, found.views) == (2, 0.25, ("bm25", "tree"))


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epoch", "3"], "--epoch"),
        (["--epochs", "0"], "epochs is 0"),
    ],
)  # fmt: skip
def test_wrong_flags_say_which_and_leave_with_2(capsys, arguments, message):
    assert re.search(message, refused(capsys, *NEEDED, *arguments), re.DOTALL)


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
    documented = f"{CurriculumSettings.__doc__}{RunSettings.__doc__}{kind.__doc__}"
    for field in dataclasses.fields(kind):
        assert f"\n        {field.name}: " in documented
    assert epochs in said and "130 interrupted" in said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("temperature is 0"), WRONG_USE),
        (ModelError("model.safetensors is broken"), WRONG_USE),
        (TrainingError("the loss is nan"), FAILED),
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


# Values of each training


def made(**fields) -> CusinesSettings:
    return CusinesSettings(corpus="aldermere", questions="aldermere", output="x", **fields)


OUT_OF_RANGE: list[tuple[type, str, Any, str]] = [
    *(
        (CusinesSettings, field, value, rf"^{field}")
        for field, value in (
            ("seed", 2**32),
            ("weight_decay", math.nan),
            ("learning_rate", math.inf),
            ("dropout", 1.0),
            ("select_by", "recall"),
        )
    ),
    *(
        (RankerTrainingSettings, field, value, message)
        for field, value, message in (
            ("negatives", 0, "negatives is 0"),
            ("dev_candidates", 91, "the first stage finds 90"),
            ("dev_candidates", 9, "select_by is MRR@10, but 9 articles are ranked"),
            ("fused_candidates", 9, "select_by is MRR@10, but 9 articles are ranked"),
            ("device", "cuda:1", "CUDA_VISIBLE_DEVICES"),
        )
    ),
    (GraphSettings, "layers", 0, "layers is 0"),
]


@pytest.mark.parametrize(
    ("kind", "field", "value", "message"),
    [pytest.param(*row, id=f"{row[0].__name__}-{row[1]}-{row[2]}") for row in OUT_OF_RANGE],
)
def test_a_value_out_of_range_is_refused_by_the_field_s_name(kind, field, value, message):
    places = {"corpus": Place("law"), "questions": Place("law"), "output": Target("model")}
    with pytest.raises(SettingsError, match=message):
        kind(**places, **{field: value})


@pytest.mark.parametrize(
    "towers",
    [
        {"query_model": "a"},
        {"passage_model": "a"},
        {"model": "a", "query_model": "b", "passage_model": "c"},
    ],
)
def test_two_towers_are_named_together_and_alone(towers):
    with pytest.raises(SettingsError, match="query_model"):
        made(**towers)


@pytest.mark.parametrize(
    ("field", "value"), [("passage_tokens", 64), ("max_passages", 4), ("head_pooling", "max")]
)
def test_what_only_a_fresh_head_uses_is_refused_without_one(field, value):
    with pytest.raises(SettingsError, match=rf"^{field} is {value}, "):
        made(**{field: value})
    assert getattr(made(head="paper", **{field: value}), field) == value


@pytest.mark.parametrize("alone", [{"in_batch": False}, {"batch_size": 1}])
def test_without_any_negative_there_is_nothing_to_learn_from(alone):
    with pytest.raises(SettingsError, match=r"^negatives_per_question is 0"):
        made(negatives_per_question=0, **alone)
    assert made(negatives_per_question=0).in_batch
    # Shares of the buckets are drawn whatever that number is.
    assert made(negatives_per_question=0, share_of="bucket", **alone).share_of == "bucket"


@pytest.mark.parametrize("preset", ["demo", "question", "bsard", "obliqa", "stard", "soict"])
def test_every_preset_is_a_valid_config(preset):
    file = ROOT / "training" / "configs" / f"{preset}.yaml"
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    # A preset may leave the law to the command line.
    law = [f"--{name}=aldermere" for name in ("corpus", "questions") if name not in given]
    settings = settings_from(
        "cusines", "", CusinesSettings, ["--config", str(file), "--output", "x", *law]
    )
    for field in dataclasses.fields(CusinesSettings):
        kind = type(field.default)
        if field.default is not dataclasses.MISSING and field.default is not None:
            assert type(getattr(settings, field.name)) is kind, field.name


def test_the_bsard_preset_is_the_paper_s_setting():
    file = ROOT / "training" / "configs" / "bsard.yaml"
    found = settings_from("cusines", "", CusinesSettings, ["--config", str(file), "--output", "x"])
    assert found.query_model == "camembert-base" and found.passage_model and found.final
    assert (found.pooling, found.head, found.head_pooling) == ("cls", "paper", "max")
    assert (found.batch_size, found.epochs, found.learning_rate) == (24, 15, 2e-5)
    assert (found.buckets, found.passage_tokens, found.max_passages) == (3, 128, 8)
    assert (found.temperature, found.in_batch, found.select_by) == (0.01, True, "R@200")
    assert (found.warmup, found.weight_decay, found.clip) == (0.05, 0.01, 1.0)
