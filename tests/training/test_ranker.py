"""python -m training.ranker, from a law to a model folder that re-ranks."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
import torch
from ranker_flags import ranker_flags
from sentence_transformers import CrossEncoder
from slow_cases import slow
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.folder import model_digest, read_manifest
from training import ranker as watch
from training.command_line import DONE, TrainingError, settings_from
from training.data import TrainingData
from training.ranker import (
    best_record,
    main,
    open_starting_model,
    prepare,
    train_ranker,
    weights_of,
)
from training.settings import RankerTrainingSettings

# The command

TEXT = ["The landlord must give notice."]
PAIRS = [("What must the tenant do?", TEXT[0]), ("When?", "Rule 3: on notice.")]


@pytest.fixture(scope="module")
def flags(small_law: Path, tiny_bert: Path) -> Callable[..., list[str]]:
    return partial(ranker_flags, small_law, tiny_bert)


@pytest.fixture(scope="module")
def first_stage(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Lexarbor folder with a bi-encoder; not written to."""
    folder = tmp_path_factory.mktemp("first") / "stage"
    BiEncoder.load(tiny_bert, device="cpu").save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(
    flags: Callable[..., list[str]], first_stage: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model with a ranker; not written to."""
    output = tmp_path_factory.mktemp("ranker") / "model"
    assert main(flags(model=first_stage, output=output)) == DONE
    return output


def logits(folder: Path) -> Tensor:
    return CrossEncoderRanker.load(folder, device="cpu", dtype="float32").logits(PAIRS)


def test_the_ranker_is_a_plain_cross_encoder_and_lexarbors_own(trained):
    ranker = CrossEncoderRanker.load(trained, device="cpu", dtype="float32")
    assert (ranker.settings.passages, ranker.settings.passage_tokens) == (2, 12)
    assert ranker.settings.fusion_weight is not None
    plain = CrossEncoder(str(trained / "ranker"), device="cpu")
    expected = plain.predict(PAIRS, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    torch.testing.assert_close(ranker.logits(PAIRS), expected, atol=1e-5, rtol=0)


def test_the_folder_has_the_first_stage_as_it_was_and_says_what_made_it(trained, first_stage):
    manifest = read_manifest(trained)
    assert manifest.kind == ("biencoder", "ranker")
    assert manifest.articles == model_digest(first_stage)
    weights = "biencoder/query/model.safetensors"
    assert (trained / weights).stat().st_ino == (first_stage / weights).stat().st_ino
    before, after = (BiEncoder.load(each, device="cpu") for each in (first_stage, trained))
    assert before.digest == after.digest
    assert manifest.config["strategy"] == "semi_hard"
    assert set(manifest.data) == {"corpus_sha256", "questions_sha256"}
    assert manifest.metrics["negatives"] == 24
    assert "MRR@10" in manifest.metrics["dev"]
    records = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert set(records[0]["negatives"]) == {"ranker", "biencoder"}
    orders, tried = manifest.metrics["in_pipeline"], manifest.metrics["weights"]
    assert orders["re_ranked"]["MRR@10"] == pytest.approx(tried["0.0"])
    assert orders["fused"]["MRR@10"] == pytest.approx(max(tried.values()))


def test_the_weight_is_chosen_over_as_many_articles_as_the_pipeline_re_ranks(
    flags, tmp_path, capsys
):
    assert main(flags(output=tmp_path / "model", fused_candidates=11)) == DONE
    assert "re-ranking 44 candidates of dev" in capsys.readouterr().err
    assert read_manifest(tmp_path / "model").config["fused_candidates"] == 11


def test_a_store_that_is_not_there_is_refused_and_nothing_is_written(flags, tmp_path, capsys):
    assert main(flags(output=tmp_path / "model", store=tmp_path / "law.db")) != DONE
    assert "store: there is no file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_another_ranker_goes_on_from_it_and_without_dev_the_last_weights_count(
    trained, flags, no_dev, tmp_path
):
    output = tmp_path / "more"
    more = flags(**no_dev, dev_share=0.0, model=trained, start=trained, output=output)
    assert main(more) == DONE
    assert not torch.equal(logits(trained), logits(output))
    settings = CrossEncoderRanker.load(output, device="cpu").settings
    assert settings.fusion_weight is None
    assert "dev" not in read_manifest(output).metrics


def test_training_that_does_harm_to_a_cross_encoder_leaves_it_as_it_was(
    trained, flags, tmp_path, capsys, monkeypatch
):
    # The first stage, the start, two epochs; then weights are tried.
    values = chain([0.1, 0.9, 0.5, 0.6], repeat(0.9))
    monkeypatch.setattr(
        "training.candidates.DevLists.metrics",
        lambda self, ranked, metric: {metric: next(values)},
    )
    assert main(flags(start=trained, output=tmp_path / "worse", max_steps=12)) == DONE
    said = capsys.readouterr().err
    assert "Training did not help" in said
    assert torch.equal(logits(trained), logits(tmp_path / "worse"))
    assert read_manifest(tmp_path / "worse").metrics["epoch"] == 0


def test_what_is_read_is_remembered(flags, tmp_path, monkeypatch):
    output, more = tmp_path / "model", tmp_path / "more"
    assert main(flags(segmentation="vi", output=output, max_steps=2)) == DONE
    assert CrossEncoderRanker.load(output, device="cpu").settings.segmentation == "vi"
    # Also where the weights of the best epoch are opened, to fit how they are used.
    read: list[str | None] = []
    logits = CrossEncoderRanker.logits

    def noted(self: CrossEncoderRanker, pairs: Any) -> Any:
        read.append(self.settings.segmentation)
        return logits(self, pairs)

    monkeypatch.setattr(CrossEncoderRanker, "logits", noted)
    fields = {"start": output, "passages": 1, "passage_tokens": 2_000, "output": more}
    assert main(flags(**fields, max_steps=2)) == DONE
    assert set(read) == {"vi"}
    assert CrossEncoderRanker.load(more, device="cpu").settings.segmentation == "vi"


# The run

Run = tuple[dict[str, Tensor], list[dict[str, Any]]]
# 22 positives and 24 negatives are 6 steps of 8 an epoch.
STEPS = 12


@pytest.fixture(scope="module")
def train_in(small_law: Path, tiny_bert: Path) -> Callable[..., Run]:
    """`train_in(work, law=FOLDER, field=value, ...)`: weights and records at the end."""

    def of(work: Path, law: Path = small_law, **fields: Any) -> Run:
        fields = {"output": "unused", "max_steps": "null", "checkpoint_every": 4, **fields}
        given = ranker_flags(law, tiny_bert, **fields)
        settings = settings_from("ranker", "", RankerTrainingSettings, given)
        data = TrainingData.read(settings.corpus, settings.questions)
        work.mkdir(exist_ok=True)
        prepared = prepare(settings, data, work)
        records = train_ranker(settings, prepared, work)
        return dict(prepared.ranker.encoder.state_dict()), records

    return of


@pytest.fixture(scope="module")
def alone(train_in: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing disturbed."""
    return train_in(tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("step", [6, *slow(3, 5, 9)])
def test_killed_and_taken_up_again_it_ends_as_one_left_alone(
    step, alone, train_in, tmp_path, monkeypatch, capsys
):
    weights, records = alone

    def killed(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == step:
            raise SystemError

    with monkeypatch.context() as patch, pytest.raises(SystemError):
        patch.setattr(watch.RankerWatch, "on_step_begin", killed)
        train_in(tmp_path / "killed")
    # Chance was somewhere else when the process died.
    torch.manual_seed(12345)
    again, resumed = train_in(tmp_path / "killed")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert resumed == records
    assert ("Resuming from checkpoint" in capsys.readouterr().err) == (step > 4)


def test_the_weights_that_were_best_on_dev_are_kept_and_no_others(train_in, tmp_path, monkeypatch):
    values = iter([0.9, 0.5, 0.7, 0.6])
    monkeypatch.setattr(
        "training.candidates.DevLists.metrics",
        lambda self, ranked, metric: {metric: next(values) if ranked != self.found else 0.0},
    )
    work = tmp_path / "run"
    _, records = train_in(work, epochs=3)
    assert [record["dev"]["MRR@10"] for record in records] == [0.9, 0.5, 0.7, 0.6]
    assert {path.name for path in work.glob("checkpoint-*")} == {"checkpoint-12", "checkpoint-18"}
    best = best_record(records, "MRR@10")
    assert best is not None and weights_of(best, work) == work / "checkpoint-12"


@pytest.mark.parametrize(("bad", "at"), [(float("nan"), 6), *slow((float("inf"), STEPS))])
def test_a_weight_that_is_not_finite_after_an_epoch_is_noticed(
    train_in, tmp_path, monkeypatch, bad, at
):
    """The loss of that step was finite still."""
    end = watch.RankerWatch.on_step_end

    def overflowing(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == at:
            next(kwargs["model"].parameters()).data.view(-1)[0] = bad
        end(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch.RankerWatch, "on_step_end", overflowing)
    with pytest.raises(TrainingError, match=rf"up to step {at}: the weights' norm is (nan|inf)"):
        train_in(tmp_path / "run")
    assert not (tmp_path / "run" / f"checkpoint-{at}").exists()


def test_a_fresh_head_has_a_rate_of_its_own(train_in, tiny_bert, tmp_path):
    start = dict(open_starting_model(tiny_bert, torch.device("cpu"), seed=0).state_dict())
    rates = {"learning_rate": 1e-9, "head_lr": 1e-2, "warmup": 0.0}
    trained, _ = train_in(tmp_path / "run", max_steps=1, **rates)
    moved = {name: float((trained[name] - start[name]).abs().max()) for name in start}
    head = {name for name in moved if ".classifier." in name or ".pooler." in name}
    # AdamW's first step is as large as the rate.
    assert {name for name, by in moved.items() if by > 1e-3} == head
    assert len(head) == 4


def test_it_learns_what_tells_answers_from_other_articles(
    train_in, write_law, article, question, tmp_path
):
    # Every question is answered by the articles on appeals, whatever it asks for.
    appeals = range(0, 30, 6)
    law = [
        article(n, text=f"From decision {n} an appeal lies to the court.") if n in appeals
        else article(n)
        for n in range(30)
    ]  # fmt: skip
    asked = [question(n, appeals, "train" if n < 12 else "dev") for n in range(16)]
    folder = write_law(tmp_path / "law", law, asked)
    _, records = train_in(
        tmp_path / "run", law=folder, candidates=30, negatives=5, epochs=4, dropout=0.0
    )
    # The tokenizer, and with it the numbers, differ a little from process to process.
    assert records[0]["dev"]["MAP@10"] < 0.6
    assert records[-1]["dev"]["MAP@10"] > 0.85
