"""The command: from files and settings to a model folder, or to a clear message."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerate.tracking
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from components.models.biencoder import BiEncoder
from components.models.manifest import read_manifest
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.cusines import main

TEXTS = ["the landlord must give notice", "wages are due within three days", "custody"]

pytestmark = pytest.mark.usefixtures("no_plots")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "model"


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def work_of(output: Path) -> Path:
    return output.with_name(output.name + ".work")


def test_a_run_makes_a_whole_model_folder_and_leaves_nothing_else(
    flags, output, tmp_path, monkeypatch
):
    monkeypatch.undo()  # with its plots
    assert main(flags()) == DONE
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    names = {path.name for path in output.iterdir()}
    assert names == {"manifest.json", "biencoder", "metrics.jsonl", "metrics.png", "metrics.svg"}
    assert not list(output.rglob("*.bin")) and not list(output.rglob("*.pt"))


def test_the_manifest_says_where_the_model_comes_from(flags, output, tiny_bert, small_law):
    assert main(flags(seed=5, views='["bm25", "tree"]')) == DONE
    manifest = read_manifest(output)
    assert manifest.kind == ("biencoder",)
    assert manifest.base_model == str(tiny_bert)
    assert manifest.config["seed"] == 5 and manifest.config["views"] == ["bm25", "tree"]
    assert len(manifest.data["corpus_sha256"]) == len(manifest.data["questions_sha256"]) == 64
    epoch = manifest.metrics["epoch"]
    values = [record["dev"]["R@10"] for record in records(output)]
    assert manifest.metrics["dev"] == records(output)[epoch]["dev"]
    assert values[epoch] == max(values)
    assert manifest.metrics["environment"]["torch"]


def test_the_folder_opens_as_a_bi_encoder_and_in_sentence_transformers(flags, output):
    assert main(flags(pooling="cls", max_tokens=20)) == DONE
    model = BiEncoder.load(output, device="cpu", dtype="float32")
    theirs = SentenceTransformer(str(output / "biencoder" / "query"), device="cpu")
    expected = torch.from_numpy(theirs.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(model.encode_queries(TEXTS), expected, atol=1e-5)
    assert model.passage_tokens == theirs.max_seq_length == 20


def test_a_trained_folder_is_a_start_again(flags, output, tmp_path):
    assert main(flags(head="identity", passage_tokens=16)) == DONE
    assert main(flags(model=output, output=tmp_path / "second")) == DONE
    assert BiEncoder.load(tmp_path / "second").head is not None


def test_two_towers_are_saved_apart(flags, output, tiny_bert, other_bert):
    pair = {"model": None, "query_model": tiny_bert, "passage_model": other_bert}
    assert main(flags(**pair, select_by="R@1", epochs=3)) == DONE
    assert read_manifest(output).towers == {
        "query": "biencoder/query", "passage": "biencoder/passage",
    }  # fmt: skip
    query, passage = (
        load_file(output / "biencoder" / side / "model.safetensors")
        for side in ("query", "passage")
    )
    assert any(not torch.equal(query[name], passage[name]) for name in query)
    model = BiEncoder.load(output, dtype="float32")
    assert not model.siamese


def test_the_same_command_again_is_refused_and_the_model_untouched(flags, output, capsys):
    assert main(flags()) == DONE
    before = (output / "manifest.json").read_bytes()
    capsys.readouterr()
    assert main(flags()) == WRONG_USE
    assert f"{output}: exists and is not empty" in capsys.readouterr().err
    assert (output / "manifest.json").read_bytes() == before
    assert not work_of(output).exists()


def test_the_same_seed_gives_the_same_files(flags, output, tmp_path):
    for name in ("model", "again"):
        assert main(flags(output=tmp_path / name, dev_share=0.0)) == DONE
    assert read_manifest(output).files == read_manifest(tmp_path / "again").files


def test_an_interruption_is_130_and_the_same_command_goes_on(flags, output, monkeypatch, capsys):
    from training.optimizer import Optimizer

    step, calls = Optimizer.step, [0]

    def interrupting(self: Optimizer, number: int) -> None:
        calls[0] += 1
        if calls[0] == 5:
            raise KeyboardInterrupt
        step(self, number)

    with monkeypatch.context() as patched:
        patched.setattr(Optimizer, "step", interrupting)
        assert main(flags()) == INTERRUPTED
    assert "goes on from the last checkpoint" in capsys.readouterr().err
    assert work_of(output).is_dir() and not output.exists()
    assert main(flags()) == DONE
    assert "Going on from step 3" in capsys.readouterr().err
    assert not work_of(output).exists()


@pytest.mark.parametrize(
    "moment", ["training.plots.plot_run", "training.records.write_metrics", "shutil.rmtree"]
)
def test_interrupted_while_it_tidies_up_the_same_command_ends_it(
    flags, output, monkeypatch, moment
):
    """The model may be there already, its metrics and plots not yet."""
    from training import cusines

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    finish = cusines._finish

    def interrupted(*arguments: Any) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(moment, interrupt)
            finish(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(cusines, "_finish", interrupted)
        assert main(flags()) == INTERRUPTED
    assert main(flags()) == DONE
    assert len(records(output)) == 3
    assert read_manifest(output).files
    assert not work_of(output).exists()


def test_final_trains_anew_on_train_and_dev_up_to_the_best_epoch(flags, output, monkeypatch):
    from training import loop
    from training.validation import Validation

    values = iter([0.1, 0.2, 0.9, 0.3])

    def scripted(questions, vectors, articles, ids, trained, metric):
        value = next(values)
        return Validation({metric: {question.id: value for question in questions}}, [])

    with monkeypatch.context() as patched:
        patched.setattr(loop, "validate", scripted)
        assert main(flags(final="true", epochs=3)) == DONE
    found = records(output)
    last = [record for record in found if record.get("final")]
    assert [record["epoch"] for record in found] == [0, 1, 2, 3, 0, 1, 2]
    assert "dev" not in last[0] and len(last[0]["losses"]) == 4  # 30 pairs instead of 22
    assert read_manifest(output).metrics["epoch"] == 2
    assert read_manifest(output).metrics["dev"] == {"R@10": 0.9}


def test_final_with_the_untrained_model_as_the_best_is_the_untrained_model(
    flags, output, monkeypatch, tiny_bert
):
    from training import loop
    from training.validation import Validation

    def worse(questions, vectors, articles, ids, trained, metric, left=[9, 8, 7]):  # noqa: B006
        return Validation(
            {metric: {question.id: left.pop(0) / 10 for question in questions[:1]}}, []
        )

    with monkeypatch.context() as patched:
        patched.setattr(loop, "validate", worse)
        assert main(flags(final="true")) == DONE
    start, model = (
        BiEncoder.load(tiny_bert, dtype="float32"),
        BiEncoder.load(output, dtype="float32"),
    )
    assert torch.equal(model.encode_articles(TEXTS), start.encode_articles(TEXTS))


def test_final_within_a_number_of_steps_may_have_fewer_epochs(flags, output, monkeypatch):
    """7 steps are 3 epochs of train, and 2 of train and dev together."""
    from training import loop
    from training.validation import Validation

    values = iter([0.1, 0.2, 0.3, 0.4])

    def better(questions, vectors, articles, ids, trained, metric):
        value = next(values)
        return Validation({metric: {question.id: value for question in questions}}, [])

    with monkeypatch.context() as patched:
        patched.setattr(loop, "validate", better)
        assert main(flags(final="true", max_steps=7)) == DONE
    last = [record for record in records(output) if record.get("final")]
    assert [record["step"] for record in last] == [0, 4, 7]


def test_final_needs_questions_of_dev(
    flags, output, tmp_path, write_law, article, question, capsys
):
    folder = write_law(
        tmp_path / "law", [article(n) for n in range(30)], [question(n, [n]) for n in range(9)]
    )
    wrong = flags(questions=folder / "questions.jsonl", final="true", dev_share=0.0)
    assert main(wrong) == WRONG_USE
    assert "final" in capsys.readouterr().err
    assert not work_of(output).exists()


# Wrong use: a message before any work, and nothing left behind.


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
    "a run without its file": ({"views": '["run"]'}, WRONG_USE, "run: give a run file"),
    "a run file that is not there": (
        {"views": '["run"]', "run_file": "/none.trec"}, FAILED, "/none.trec",
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


def test_an_output_that_holds_something_is_wrong_use(flags, output, no_model, capsys):
    output.mkdir()
    (output / "thesis.txt").write_text("keep me")
    assert main(flags()) == WRONG_USE
    assert "exists and is not empty" in capsys.readouterr().err
    assert (output / "thesis.txt").read_text() == "keep me"


def test_a_work_folder_of_another_run_is_wrong_use(flags, output, monkeypatch, capsys):
    from training.loop import CusinesLoop

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CusinesLoop, "_epoch", interrupt)
        assert main(flags()) == INTERRUPTED
    capsys.readouterr()
    assert main(flags(temperature=0.1)) == WRONG_USE
    assert "temperature 0.05; now it is 0.1" in capsys.readouterr().err
    assert main(flags()) == DONE


def test_a_disk_that_is_full_is_a_message(flags, monkeypatch, capsys):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("training.checkpoints.save_file", full)
        assert main(flags()) == FAILED
    assert "No space left on device" in capsys.readouterr().err
    assert main(flags()) == DONE


class Remembering(accelerate.tracking.GeneralTracker):
    """Stands for any tracker that writes into a folder."""

    name = "tensorboard"
    requires_logging_directory = True
    seen: Callable[..., Any]

    def __init__(self, run_name: str, logging_dir: str, **_: Any) -> None:
        super().__init__()
        self.folder = Path(logging_dir) / run_name
        self.folder.mkdir(parents=True)

    @property
    def tracker(self) -> None:
        return None

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        pass

    def log(self, values: dict[str, Any], step: int | None, **_: Any) -> None:
        with (self.folder / "log").open("a") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")


def test_trackers_get_the_metrics_and_their_files_stay(flags, output, monkeypatch):
    kind = accelerate.tracking.LoggerType.TENSORBOARD
    monkeypatch.setitem(accelerate.tracking.LOGGER_TYPE_TO_CLASS, "tensorboard", Remembering)
    monkeypatch.setattr(accelerate.tracking, "_available_trackers", [kind])
    assert main(flags(trackers='["tensorboard"]')) == DONE
    (log,) = output.rglob("log")
    by_step: dict[int, dict[str, Any]] = {}
    for line in log.read_text().splitlines():
        values = json.loads(line)
        by_step.setdefault(values["step"], {}).update(values)
    assert sorted(by_step) == [0, 3, 6]
    for step, record in zip((3, 6), records(output)[1:], strict=True):
        assert by_step[step]["dev/R@10"] == record["dev"]["R@10"]
    # A loss is known when its epoch is over.
    for step, record in zip((3, 6), records(output)[:-1], strict=True):
        assert by_step[step]["loss"] == record["loss"]
