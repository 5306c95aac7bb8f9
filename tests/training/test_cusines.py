"""python -m training.cusines: from files and settings to a model folder, or to a clear message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from runs import work_of
from sentence_transformers import SentenceTransformer
from slow_cases import slow

from components.models.biencoder import BiEncoder
from components.models.folder import folder_lock, read_manifest
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.cusines import main
from training.loop import TrainingLoop

TEXTS = ["the landlord must give notice", "wages are due within three days", "custody"]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "model"


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_makes_a_whole_model_folder_and_leaves_nothing_else(cusines_model, tiny_bert):
    assert [path.name for path in cusines_model.parent.iterdir()] == ["model"]
    names = {path.name for path in cusines_model.iterdir()}
    assert names == {"manifest.json", "biencoder", "metrics.jsonl", "metrics.png", "metrics.svg"}
    assert not list(cusines_model.rglob("*.bin")) and not list(cusines_model.rglob("*.pt"))
    manifest, found = read_manifest(cusines_model), records(cusines_model)
    assert (manifest.kind, manifest.base_model) == (("biencoder",), str(tiny_bert))
    assert manifest.config["seed"] == 5 and manifest.config["views"] == ["bm25", "tree"]
    assert len(manifest.data["corpus_sha256"]) == len(manifest.data["questions_sha256"]) == 64
    epoch = manifest.metrics["epoch"]
    assert manifest.metrics["dev"] == found[epoch]["dev"]
    assert found[epoch]["dev"]["R@10"] == max(record["dev"]["R@10"] for record in found)
    assert manifest.dense_weight == BiEncoder.load(cusines_model).dense_weight > 0


def test_the_folder_opens_as_a_bi_encoder_and_in_sentence_transformers(cusines_model):
    model = BiEncoder.load(cusines_model, device="cpu", dtype="float32")
    theirs = SentenceTransformer(str(cusines_model / "biencoder" / "query"), device="cpu")
    expected = torch.from_numpy(theirs.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(model.encode_queries(TEXTS), expected, atol=1e-5)
    assert model.passage_tokens == theirs.max_seq_length == 20


@pytest.mark.parametrize(
    "moment",
    [
        "training.loop.plot_run",
        *slow("training.cusines.BiEncoderLearner.save", "training.loop.finish_output"),
    ],
)
def test_interrupted_while_it_tidies_up_the_same_command_ends_it(
    flags, output, monkeypatch, moment
):
    """The model may be there already, its metrics and plots not yet."""

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(moment, interrupt)
        assert main(flags()) == INTERRUPTED
    assert main(flags()) == DONE
    assert len(records(output)) == 3
    assert read_manifest(output).files
    assert not work_of(output).exists()


def test_final_trains_again_on_train_and_dev_up_to_the_best_epoch(flags, output, dev_says):
    dev_says([0.1, 0.2, 0.9, 0.3])
    assert main(flags(final="true", epochs=3)) == DONE
    found = records(output)
    last = [record for record in found if record.get("final")]
    assert [record["epoch"] for record in found] == [0, 1, 2, 3, 0, 1, 2]
    assert "dev" not in last[0] and len(last[0]["losses"]) == 4  # 30 pairs instead of 22
    assert read_manifest(output).metrics["epoch"] == 2
    assert read_manifest(output).metrics["dev"] == {"R@10": 0.9}


# Wrong use


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a model fails."""

    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was opened before the settings were checked")

    monkeypatch.setattr("components.models.encoding.SentenceTransformer", opened)
    monkeypatch.setattr("components.models.encoding.open_tower", opened)


Wrong = tuple[dict[str, Any], int, str]
WRONG: dict[str, Wrong] = {
    "more negatives than articles": (
        {"negatives_per_question": 40}, WRONG_USE, "negatives_per_question is 40",
    ),
    "an unknown view": ({"views": '["trie"]'}, WRONG_USE, "there is no view 'trie'"),
    "a run file that is not there": (
        {"views": '["run"]', "run_file": "/none.trec"}, WRONG_USE, "run_file: /none.trec",
    ),
    "another law's questions": ({"questions": "aldermere"}, FAILED, "relevant"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_use_is_said_before_any_model_is_opened(flags, output, no_model, capsys, wrong):
    fields, code, message = wrong
    try:
        left: object = main(flags(**fields))
    except SystemExit as error:  # found while the flags are read
        left = error.code
    assert left == code
    said = capsys.readouterr().err
    assert "error:" in said and message in said
    assert not output.exists() and not work_of(output).exists()


@pytest.mark.parametrize("unfinished", [False, True], ids=["", "next to an unfinished run"])
def test_an_output_that_holds_something_is_wrong_use(flags, output, no_model, capsys, unfinished):
    if unfinished:  # it would learn for hours, and then find no place for its model
        work_of(output).mkdir()
    output.mkdir()
    (output / "thesis.txt").write_text("keep me")
    assert main(flags()) == WRONG_USE
    assert "exists and is not empty" in capsys.readouterr().err
    assert (output / "thesis.txt").read_text() == "keep me"


def test_an_output_that_another_process_trains_into_is_wrong_use(flags, output, no_model, capsys):
    with folder_lock(work_of(output), wait=False):
        assert main(flags()) == WRONG_USE
        assert work_of(output).is_dir()
    assert f"another process is training into {output}" in capsys.readouterr().err


def test_a_work_folder_of_another_run_is_wrong_use(flags, small_law, monkeypatch, capsys):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingLoop, "_epoch", interrupt)
        assert main(flags()) == INTERRUPTED
    capsys.readouterr()
    assert main(flags(temperature=0.1)) == WRONG_USE
    assert "temperature 0.05" in capsys.readouterr().err
    # The same files, named from here.
    monkeypatch.chdir(small_law)
    assert main(flags(corpus="articles.jsonl", questions="questions.jsonl")) == DONE
