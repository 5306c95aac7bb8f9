"""The command: from files and settings to a model folder, or to a clear message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerate.tracking
import pytest
import torch
from dying import die_once_saved
from runs import work_of
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from components.models.biencoder import BiEncoder
from components.models.manifest import read_manifest
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.cusines import main
from training.records import Progress

TEXTS = ["the landlord must give notice", "wages are due within three days", "custody"]

pytestmark = pytest.mark.usefixtures("no_plots")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "model"


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


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


def test_stopped_once_it_is_saved_the_same_command_tidies_up(flags, output, monkeypatch):
    with monkeypatch.context() as patched:
        die_once_saved(patched)
        assert main(flags()) == INTERRUPTED
    made = (output / "manifest.json").stat().st_mtime_ns
    assert main(flags()) == DONE
    assert (output / "manifest.json").stat().st_mtime_ns == made
    assert len(records(output)) == 3
    assert not work_of(output).exists()


@pytest.mark.parametrize(
    "moment", ["training.plots.plot_run", "training.records.write_metrics", "shutil.rmtree"]
)
def test_interrupted_while_it_tidies_up_the_same_command_ends_it(
    flags, output, monkeypatch, moment
):
    """The model may be there already, its metrics and plots not yet."""
    from training import running

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    finish = running._finish

    def interrupted(*arguments: Any) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(moment, interrupt)
            finish(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(running, "_finish", interrupted)
        assert main(flags()) == INTERRUPTED
    assert main(flags()) == DONE
    assert len(records(output)) == 3
    assert read_manifest(output).files
    assert not work_of(output).exists()


def test_final_trains_anew_on_train_and_dev_up_to_the_best_epoch(flags, output, dev_says):
    dev_says([0.1, 0.2, 0.9, 0.3])
    assert main(flags(final="true", epochs=3)) == DONE
    found = records(output)
    last = [record for record in found if record.get("final")]
    assert [record["epoch"] for record in found] == [0, 1, 2, 3, 0, 1, 2]
    assert "dev" not in last[0] and len(last[0]["losses"]) == 4  # 30 pairs instead of 22
    assert read_manifest(output).metrics["epoch"] == 2
    assert read_manifest(output).metrics["dev"] == {"R@10": 0.9}


def test_final_is_refused_before_any_work_where_train_and_dev_cannot_give_the_negatives(
    flags, tmp_path, write_law, article, question, capsys
):
    # Twelve of thirty articles answer dev's question; of the others nine cannot be drawn in three
    # buckets of six.
    asked = [question(n, [n]) for n in range(6)]
    law = write_law(
        tmp_path / "law",
        [article(n) for n in range(30)],
        [*asked, question(9, list(range(10, 22)), "dev")],
    )
    files = {"corpus": law / "articles.jsonl", "questions": law / "questions.jsonl"}
    wrong = flags(**files, final="true", negatives_per_question=9, output=tmp_path / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.biencoder_learner.starting_model", None)
        assert main(wrong) == WRONG_USE
    assert "a bucket has to give up to 7" in capsys.readouterr().err


def test_final_with_the_untrained_model_as_the_best_is_the_untrained_model(
    flags, output, dev_says, tiny_bert
):
    dev_says([0.9, 0.8, 0.7])
    assert main(flags(final="true")) == DONE
    start, model = (BiEncoder.load(each, dtype="float32") for each in (tiny_bert, output))
    assert torch.equal(model.encode_articles(TEXTS), start.encode_articles(TEXTS))


def test_final_within_a_number_of_steps_may_have_fewer_epochs(flags, output, dev_says):
    """7 steps are 3 epochs of train, and 2 of train and dev together."""
    dev_says([0.1, 0.2, 0.3, 0.4])
    assert main(flags(final="true", max_steps=7)) == DONE
    last = [record for record in records(output) if record.get("final")]
    assert [record["step"] for record in last] == [0, 4, 7]


@pytest.mark.parametrize(("patience", "at_first", "chosen_in"), [(None, 9, 3), (1, 6, 2)])
def test_progress_goes_on_through_the_final_training(
    flags, output, dev_says, monkeypatch, patience, at_first, chosen_in
):
    """3 epochs of 3 steps; then, of 4 steps, as many as were best: at most 3, and here 1."""
    seen: list[dict[str, Any]] = []
    call = Progress.__call__

    def watching(self: Progress, *arguments: Any, **named: Any) -> None:
        call(self, *arguments, **named)
        seen.append(json.loads((work_of(output) / "progress.json").read_text()))
        assert not (work_of(output) / "final" / "progress.json").exists()

    monkeypatch.setattr(Progress, "__call__", watching)
    monkeypatch.setattr("training.records._SECONDS_BETWEEN", 0.0)
    dev_says([0.1, 0.9, 0.3, 0.2])
    assert main(flags(final="true", epochs=3, patience=patience)) == DONE
    places = list(dict.fromkeys((each["step"], each["steps"]) for each in seen))
    whole = at_first + 4
    assert places == [
        *((step, 9 + 12) for step in range(at_first + 1)),
        *((step, whole) for step in range(at_first, whole + 1)),
    ]
    assert {each["epochs"] for each in seen} == {3 + 3, chosen_in + 1}
    epochs = [each["epoch"] for each in seen]
    assert epochs == sorted(epochs) and epochs[-1] == chosen_in + 1


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


@pytest.mark.parametrize("kind", [OSError, SafetensorError])
def test_a_disk_that_is_full_is_a_message(flags, monkeypatch, capsys, kind):
    def full(*_: Any, **__: Any) -> None:
        raise kind("No space left on device")

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


def test_trackers_tell_the_second_training_of_final_apart(flags, output, monkeypatch):
    kind = accelerate.tracking.LoggerType.TENSORBOARD
    monkeypatch.setitem(accelerate.tracking.LOGGER_TYPE_TO_CLASS, "tensorboard", Remembering)
    monkeypatch.setattr(accelerate.tracking, "_available_trackers", [kind])
    assert main(flags(trackers='["tensorboard"]', final="true")) == DONE
    (log,) = output.rglob("log")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first = [line for line in lines if "loss" in line or "seconds_encoding" in line]
    second = [line for line in lines if any(name.startswith("final/") for name in line)]
    assert lines == first + second
    assert second


def test_what_a_killed_writer_left_of_the_model_goes_with_its_work_folder(flags, output):
    left = output.with_name(f".{output.name}.104ac13b.partial")
    (left / "biencoder").mkdir(parents=True)
    other = output.with_name(".another.104ac13b.partial")
    other.mkdir()
    assert main(flags()) == DONE
    assert not left.exists() and other.exists()


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
