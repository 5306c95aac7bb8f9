"""What a run shows of itself while it goes."""

from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from training.hf_trainer.watch import RunWatch
from training.pretraining.watch import ReadingWatch
from training.ranking.watch import RankerWatch

COUNTS = {"examples_a_step": 8, "n_examples": 40, "steps": 10}


def ranker_watch(work: Path, **fields: Any) -> RankerWatch:
    measuring: Any = None
    return RankerWatch(work, **fields, select_by="MRR@10", measuring=measuring)


def reading_watch(work: Path, **fields: Any) -> ReadingWatch:
    return ReadingWatch(work, label="Reading", **fields)


@pytest.mark.parametrize(
    ("watch_of", "label"), [(reading_watch, "Reading"), (ranker_watch, "Training")]
)
def test_the_bar_says_what_is_done(
    watch_of: Any, label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars: list[dict[str, Any]] = []
    monkeypatch.setattr("training.hf_trainer.watch.tqdm", lambda **fields: bars.append(fields))
    watch: RunWatch = watch_of(tmp_path, **COUNTS, measured=lambda _: None)
    arguments = TrainingArguments(output_dir=str(tmp_path), report_to="none", use_cpu=True)
    watch.on_train_begin(arguments, TrainerState(max_steps=10), TrainerControl())
    assert [(bar["desc"], bar["total"]) for bar in bars] == [(label, 10)]
