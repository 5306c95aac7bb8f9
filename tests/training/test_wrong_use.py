"""Wrong use of the command: a message before any work, and nothing left behind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import accelerate.tracking
import pytest
from runs import work_of

from components.models.locks import folder_lock
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.cusines import main

pytestmark = pytest.mark.usefixtures("no_plots")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "model"


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a model fails."""

    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was opened before the settings were checked")

    monkeypatch.setattr("components.models.tower.SentenceTransformer", opened)
    monkeypatch.setattr("components.models.biencoder.open_towers", opened)


Wrong = tuple[dict[str, Any], int, str]
WRONG: dict[str, Wrong] = {
    "more negatives than articles": (
        {"negatives_per_question": 40}, WRONG_USE, "negatives_per_question is 40",
    ),
    "a bucket that cannot give its share": (
        {"negatives_per_question": 14}, WRONG_USE, "question 'q",
    ),
    "shares of buckets that come to nothing": (
        {"share_of": "bucket", "max_steps": 1}, WRONG_USE, "share_of 'bucket'",
    ),
    "an unknown view": ({"views": '["trie"]'}, WRONG_USE, "no view is called 'trie'"),
    "a view twice": ({"views": '["tree", "tree"]'}, WRONG_USE, "names one twice"),
    "too many buckets": ({"buckets": 7}, WRONG_USE, "buckets must be from 1 to 6"),
    "no views but buckets": ({"views": "[]"}, WRONG_USE, "views is empty"),
    "a run without its file": ({"views": '["run"]'}, WRONG_USE, "run_file"),
    "a run file that is not there": (
        {"views": '["run"]', "run_file": "/none.trec"}, WRONG_USE, "run_file: /none.trec",
    ),
    "BM25's constants without BM25": (
        {"bm25_k1": 99}, WRONG_USE, "bm25_k1 is 99.0, and nothing would use it: it is of the view",
    ),
    "a control of views that are not there": (
        {"views": '["semantic", "bm25"]', "permute_tree": "true"}, WRONG_USE, "permute_tree is Tr",
    ),
    "a corpus that is not there": ({"corpus": "/none.jsonl"}, FAILED, "/none.jsonl"),
    "questions that are not there": ({"questions": "/none.jsonl"}, FAILED, "/none.jsonl"),
    "another law's questions": ({"questions": "aldermere"}, FAILED, "relevant"),
    "a device that is not there": ({"device": "cuda:77"}, WRONG_USE, "cuda:77"),
    "no device": ({"device": "abacus"}, WRONG_USE, "abacus"),
    "a tracker that is not there": ({"trackers": '["aim"]'}, WRONG_USE, "aim"),
    "no tracker": ({"trackers": '["abacus"]'}, WRONG_USE, "abacus"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_use_is_said_before_any_model_is_opened(
    flags, output, no_model, capsys, monkeypatch, wrong
):
    monkeypatch.setattr(accelerate.tracking, "_available_trackers", [])
    fields, code, message = wrong
    assert main(flags(**fields)) == code
    said = capsys.readouterr().err
    assert "error:" in said and message in said
    assert not output.exists() and not work_of(output).exists()


def test_dev_questions_that_stand_in_train_are_wrong_use(
    flags, output, tmp_path, write_law, article, question, no_model, capsys
):
    folder = write_law(
        tmp_path / "law",
        [article(n) for n in range(30)],
        [question(1, [1]), {**question(2, [2], "dev"), "text": question(1, [1])["text"].upper()}],
    )
    assert main(flags(questions=folder / "questions.jsonl")) == WRONG_USE
    assert "'q2' (as 'q1' in train)" in capsys.readouterr().err
    assert not work_of(output).exists()


def test_final_does_not_learn_a_question_of_test_by_way_of_dev(
    flags, output, tmp_path, write_law, article, question, no_model, capsys
):
    test = {**question(3, [3], "test"), "text": question(2, [2])["text"]}
    folder = write_law(
        tmp_path / "law",
        [article(n) for n in range(30)],
        [question(1, [1]), question(2, [2], "dev"), test],
    )
    assert main(flags(questions=folder / "questions.jsonl", final="true")) == WRONG_USE
    assert "'q3' (as 'q2' in dev)" in capsys.readouterr().err
    assert not work_of(output).exists()


def break_model(folder: Path, kind: str) -> None:
    weights = folder / "model.safetensors"
    if kind == "empty":
        shutil.rmtree(folder)
        folder.mkdir()
    elif kind == "no weights":
        weights.unlink()
    elif kind == "half the weights":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif kind == "no tokenizer":
        for path in folder.glob("tokenizer*"):
            path.unlink()
    elif kind == "a broken manifest":
        (folder / "manifest.json").write_text("{}")
    elif kind == "a file":
        shutil.rmtree(folder)
        folder.write_text("no folder")


@pytest.mark.parametrize(
    "kind",
    ["empty", "no weights", "half the weights", "no tokenizer", "a broken manifest", "a file"],
)
def test_a_model_folder_that_is_not_one_is_wrong_use(
    flags, output, tmp_path, tiny_bert, capsys, kind
):
    shutil.copytree(tiny_bert, tmp_path / "start")
    break_model(tmp_path / "start", kind)
    assert main(flags(model=tmp_path / "start")) == WRONG_USE
    assert "start" in capsys.readouterr().err
    assert not output.exists() and not work_of(output).exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": 99}, "max_tokens is 99"),
        ({"head": "paper"}, "passage_tokens is 128"),
        ({"frozen_layers": 3}, "frozen_layers is 3"),
    ],
)
def test_what_the_model_cannot_do_is_wrong_use(flags, output, capsys, fields, message):
    assert main(flags(**fields)) == WRONG_USE
    assert message in capsys.readouterr().err
    assert not work_of(output).exists()


@pytest.mark.parametrize("unfinished", [False, True], ids=["", "beside an unfinished run"])
def test_an_output_that_holds_something_is_wrong_use(flags, output, no_model, capsys, unfinished):
    if unfinished:  # it would learn for hours, and then find no place for its model
        work_of(output).mkdir()
    output.mkdir()
    (output / "thesis.txt").write_text("keep me")
    assert main(flags()) == WRONG_USE
    assert "exists and is not empty" in capsys.readouterr().err
    assert (output / "thesis.txt").read_text() == "keep me"


def test_an_output_that_is_a_file_is_wrong_use(flags, output, no_model, capsys):
    output.write_text("keep me")
    assert main(flags()) == WRONG_USE
    assert f"output: {output} is a file" in capsys.readouterr().err
    assert output.read_text() == "keep me"
    assert not work_of(output).exists()


@pytest.mark.parametrize("output", [".", "", "/"])
def test_an_output_without_a_name_is_wrong_use(
    flags, tmp_path, no_model, capsys, monkeypatch, output
):
    monkeypatch.chdir(tmp_path)
    assert main(flags(output=output)) == WRONG_USE
    assert "has no name. Name a folder to make" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_an_output_that_another_process_trains_into_is_wrong_use(flags, output, no_model, capsys):
    with folder_lock(work_of(output), wait=False):
        assert main(flags()) == WRONG_USE
        assert work_of(output).is_dir()
    assert f"another process is training into {output}" in capsys.readouterr().err


def test_the_lock_is_held_from_the_first_step_to_the_last(flags, output, monkeypatch):
    from training.loop import TrainingLoop

    real = TrainingLoop._epoch
    free: list[bool] = []

    def epoch(*arguments: Any) -> Any:
        with folder_lock(work_of(output), wait=False) as held:
            free.append(held)
        return real(*arguments)

    monkeypatch.setattr(TrainingLoop, "_epoch", epoch)
    assert main(flags()) == DONE
    assert free
    assert not any(free)
    assert not work_of(output).exists()


def test_a_work_folder_of_another_run_is_wrong_use(flags, output, small_law, monkeypatch, capsys):
    from training.loop import TrainingLoop

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingLoop, "_epoch", interrupt)
        assert main(flags()) == INTERRUPTED
    capsys.readouterr()
    assert main(flags(temperature=0.1)) == WRONG_USE
    assert "temperature 0.05; now it is 0.1" in capsys.readouterr().err
    # The same files, named from here.
    monkeypatch.chdir(small_law)
    assert main(flags(corpus="articles.jsonl", questions="questions.jsonl")) == DONE
