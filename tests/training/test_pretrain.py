"""python -m training.pretrain, from a law to a model that training goes on from."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from dying import die_once_saved
from transformers import RobertaConfig, RobertaForMaskedLM
from transformers.utils import logging as transformers_logging

from components.models.biencoder import BiEncoder
from components.models.locks import folder_lock
from components.models.manifest import file_digest, read_manifest
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.pretrain import main
from training.pretraining.tokenizer import train_tokenizer
from training.settings import CusinesSettings
from training.starting import starting_model

ROOT = Path(__file__).resolve().parents[2]
TINY = {"vocabulary": 400, "layers": 1, "width": 16, "heads": 2, "block_tokens": 32}


def flags(**fields: Any) -> list[str]:
    values = {
        "max_steps": 6,
        "batch_size": 4,
        "checkpoint_every": 2,
        "device": "cpu",
        "dtype": "float32",
        **fields,
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than training does here; test_records draws."""
    monkeypatch.setattr("training.pretraining.records.plot_losses", lambda *_: None)


@pytest.fixture(scope="module")
def fresh(small_law: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model made from scratch of the small law; not written to."""
    output = tmp_path_factory.mktemp("fresh") / "model"
    arguments = flags(corpus=small_law / "articles.jsonl", output=output, model="scratch", **TINY)
    assert main(arguments) == DONE
    return output


def test_a_fresh_model_encodes(fresh: Path) -> None:
    model = BiEncoder.load(fresh, device="cpu")
    vectors = model.encode_articles(["The landlord must give notice.", "wages " * 200])
    assert vectors.shape == (2, 16)
    assert model.query.max_tokens == 32
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2))


def test_cusines_starts_from_it(
    fresh: Path, settings: Callable[..., CusinesSettings], tiny_bert: Path
) -> None:
    cpu = torch.device("cpu")
    assert starting_model(settings(model=str(fresh)), cpu).dim == 16
    # The paper's way: questions by the model as it was, articles by the one that read the law.
    both = settings(model=None, query_model=str(fresh), passage_model=str(fresh))
    assert not starting_model(both, cpu).siamese


def test_the_folder_says_what_made_it(fresh: Path, small_law: Path) -> None:
    manifest = read_manifest(fresh)
    assert manifest.base_model == "scratch"
    assert manifest.config["layers"] == 1
    assert set(manifest.data) == {"corpus_sha256"}
    losses = manifest.metrics["held_out_loss"]
    records = [json.loads(line) for line in (fresh / "metrics.jsonl").read_text().splitlines()]
    assert losses == {
        "before": records[0]["held_out_loss"],
        "after": records[-1]["held_out_loss"],
    }


def test_no_pickle_and_no_work_folder_is_left(fresh: Path) -> None:
    suffixes = {path.suffix for path in fresh.rglob("*") if path.is_file()}
    assert suffixes <= {".json", ".jsonl", ".safetensors", ".png", ".svg"}
    assert [path.name for path in fresh.parent.iterdir()] == ["model"]


def test_it_goes_on_from_a_lexarbor_folder(fresh: Path, small_law: Path, tmp_path: Path) -> None:
    corpus = small_law / "articles.jsonl"
    assert main(flags(corpus=corpus, output=tmp_path / "more", model=fresh)) == DONE
    before, after = (BiEncoder.load(each, device="cpu") for each in (fresh, tmp_path / "more"))
    text = ["The landlord must give notice."]
    assert not torch.equal(before.encode_articles(text), after.encode_articles(text))
    assert read_manifest(tmp_path / "more").base_model == str(fresh)


def test_a_model_whose_positions_start_behind_the_paddings_is_read_to_its_end(
    small_law: Path, tmp_path: Path
) -> None:
    words = ["The landlord must give notice within days."] * 3
    tokenizer = train_tokenizer(words, "bpe", 300, max_tokens=10**9)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=50,
        pad_token_id=0,
    )
    RobertaForMaskedLM(config).save_pretrained(tmp_path / "roberta")
    tokenizer.save_pretrained(str(tmp_path / "roberta"))
    arguments = flags(
        corpus=small_law / "articles.jsonl", model=tmp_path / "roberta", output=tmp_path / "model"
    )
    assert main(arguments) == DONE
    model = BiEncoder.load(tmp_path / "model", device="cpu")
    assert model.query.max_tokens == 49
    assert model.encode_articles(["notice " * 100]).isfinite().all()


def test_a_law_in_chinese_is_read_from_scratch(tmp_path: Path) -> None:
    lines = [
        {"id": str(n), "law": "民法典", "number": f"第{n}条", "headings": ["第一编 总则"],
         "text": f"当事人应当遵循诚信原则，秉持诚实，恪守承诺。第{n}款规定的期间为{n}日。"}
        for n in range(30)
    ]  # fmt: skip
    corpus = tmp_path / "articles.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    arguments = flags(corpus=corpus, output=tmp_path / "zh", model="scratch", **TINY)
    assert main(arguments) == DONE
    tokenizer = BiEncoder.load(tmp_path / "zh", device="cpu").query.encoder.tokenizer
    assert tokenizer.tokenize("诚信原则") == ["诚", "信", "原", "则"]


def command(arguments: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "training.pretrain", *arguments],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_outright_it_goes_on_and_ends_as_one_left_alone(
    small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = {"corpus": small_law / "articles.jsonl", "model": "scratch", "max_steps": 80, **TINY}
    alone = flags(**of, output=tmp_path / "alone", checkpoint_every=5)
    killed = flags(**of, output=tmp_path / "killed", checkpoint_every=5)
    process = command(killed)
    while not list((tmp_path / "killed.work").glob("checkpoint-*/complete.json")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "killed").exists()
    assert main(killed) == DONE
    assert "Going on from checkpoint-" in capsys.readouterr().err
    assert main(alone) == DONE
    part = Path("biencoder/query/model.safetensors")
    assert file_digest(tmp_path / "killed" / part) == file_digest(tmp_path / "alone" / part)


def test_stopped_once_it_is_saved_the_same_command_tidies_up(
    small_law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "model"
    arguments = flags(corpus=small_law / "articles.jsonl", output=output, model="scratch", **TINY)
    with monkeypatch.context() as patch:
        die_once_saved(patch)
        assert main(arguments) == INTERRUPTED
    made = (output / "manifest.json").stat().st_mtime_ns
    assert main(arguments) == DONE
    assert (output / "manifest.json").stat().st_mtime_ns == made
    assert (output / "metrics.jsonl").read_text().count("held_out_loss") > 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_bars_of_transformers_are_left_out_while_it_runs_and_no_longer(
    small_law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[bool] = []

    def look(*_: Any) -> None:
        shown.append(transformers_logging.is_progress_bar_enabled())
        raise KeyboardInterrupt

    monkeypatch.setattr("training.pretraining.masked_training.train_masked", look)
    transformers_logging.enable_progress_bar()
    of = {"corpus": small_law / "articles.jsonl", "output": tmp_path / "m", "model": "scratch"}
    assert main(flags(**of, **TINY)) == INTERRUPTED
    assert shown == [False]
    assert transformers_logging.is_progress_bar_enabled()


def test_a_model_is_there_with_its_plots_or_not_at_all(
    small_law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    output = tmp_path / "model"
    arguments = flags(corpus=small_law / "articles.jsonl", output=output, model="scratch", **TINY)
    with monkeypatch.context() as patch:
        patch.setattr("training.pretraining.records.plot_losses", full)
        assert main(arguments) == FAILED
    assert not output.exists()
    assert main(arguments) == DONE


def test_a_changed_setting_is_refused_by_name(
    small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    of = {"corpus": small_law / "articles.jsonl", "output": tmp_path / "m", "model": "scratch"}
    with monkeypatch.context() as patch:
        patch.setattr("training.pretraining.masked_training.train_masked", interrupt)
        assert main(flags(**of, **TINY)) == 130
    (tmp_path / "m.work" / "checkpoint-1").mkdir()
    assert main(flags(**of, **TINY, masked=0.3)) == WRONG_USE
    assert "with masked 0.15; now it is 0.3" in capsys.readouterr().err


def test_the_number_format_of_the_beginning_stays(
    small_law: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, race: Callable[[bool], None]
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    of = {"corpus": small_law / "articles.jsonl", "output": tmp_path / "m", "model": "scratch"}
    race(True)
    with monkeypatch.context() as patch:
        patch.setattr("training.pretraining.masked_training.train_masked", interrupt)
        assert main(flags(**of, **TINY, dtype="auto")) == INTERRUPTED
    (tmp_path / "m.work" / "checkpoint-1").mkdir()
    race(False)
    assert main(flags(**of, **TINY, dtype="auto")) == DONE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "scratch", **TINY, "vocabulary": 300, "block_tokens": 4_000}, "block_tokens"),
        ({"model": "/nowhere/at/all"}, "there is no such folder"),
        ({"layers": 3}, "layers is for --model scratch"),
    ],
)
def test_wrong_use_is_said(
    fields: dict[str, Any],
    message: str,
    small_law: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = flags(corpus=small_law / "articles.jsonl", output=tmp_path / "m", **fields)
    try:
        code = main(arguments)
    except SystemExit as refused:
        code = int(str(refused.code))
    assert code == WRONG_USE
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("unfinished", [False, True], ids=["", "beside an unfinished run"])
def test_a_folder_that_holds_something_is_not_written_over(
    unfinished: bool, small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, work = tmp_path / "model", tmp_path / "model.work"
    output.mkdir()
    (output / "kept.txt").write_text("kept")
    if unfinished:
        work.mkdir()
    assert main(flags(corpus=small_law / "articles.jsonl", output=output)) == WRONG_USE
    said = capsys.readouterr().err
    assert "exists and is not empty" in said
    assert "Step" not in said and "going on" not in said.lower()
    assert [each.name for each in output.iterdir()] == ["kept.txt"]
    assert not work.is_dir() or not list(work.glob("*.json"))  # nothing was begun


def test_an_output_that_another_process_trains_into_is_refused(
    small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "model"
    with folder_lock(tmp_path / "model.work", wait=False):
        arguments = flags(
            corpus=small_law / "articles.jsonl", output=output, model="scratch", **TINY
        )
        assert main(arguments) == WRONG_USE
    assert f"another process is training into {output}" in capsys.readouterr().err


def test_several_processes_are_refused(
    small_law: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    arguments = flags(corpus=small_law / "articles.jsonl", output=tmp_path / "m")
    assert main(arguments) == WRONG_USE
    assert "runs in one process" in capsys.readouterr().err
    assert not (tmp_path / "m.work").exists()
