"""The Python in docs/training.md runs as it stands, but for the number of steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "training.md"


def test_the_guides_trainer_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: str
) -> None:
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (each for each in examples if "trainer.train()" in each)
    assert "num_train_epochs=3," in example
    short = example.replace("num_train_epochs=3,", "max_steps=1, use_cpu=True,")
    monkeypatch.chdir(tmp_path)
    # One layer of the real model: what is tested is that the parts fit together.
    short = short.replace(
        "\nnegatives = ",
        "\ndel model[0].model.encoder.layer[1:]\nmodel.max_seq_length = 16\nnegatives = ",
    )
    names: dict[str, object] = {}
    exec(compile(short, str(GUIDE), "exec"), names)
    trainer = names["trainer"]
    assert trainer.state.global_step == 1  # type: ignore[attr-defined]
    assert trainer.state.log_history[-1]["train_loss"] > 0  # type: ignore[attr-defined]
