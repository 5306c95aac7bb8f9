"""What the dynamic view costs: `python tests/benchmarks/refresh.py [--data PLACE] [--rounds N]`.

The refresh of an epoch (articles and questions, as the training run encodes them) beside the same
engine over the articles alone, in turns, the best round of each; and one epoch of training, for the
share of it that the refresh takes beside the N / (N + 3 Q (P + n)) that arithmetic gives.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from accelerate import Accelerator

from components.models.encoding import encode_tokenized
from components.models.locate import BUNDLED_MODEL
from training.biencoder_learner import BiEncoderLearner
from training.command_line import Place, Target
from training.data import TrainingData
from training.running import fit
from training.settings import CusinesSettings
from training.starting import starting_model
from training.texts import RunTexts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="aldermere", help="a law with questions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = CusinesSettings(
        corpus=Place(options.data),
        questions=Place(options.data),
        output=Target("unused"),
        model=Place(BUNDLED_MODEL),
        negatives_per_question=4,
        epochs=1,
        temperature=0.05,
    )
    data = TrainingData.read(options.data, options.data)
    accelerator = Accelerator()
    run = RunTexts(starting_model(settings, accelerator.device), data, None)
    side = run.articles
    ways: dict[str, Callable[[], object]] = {
        "articles alone": lambda: encode_tokenized(side.encoder, side.passages, dtype=run.dtype),
        "refresh": lambda: run.encode(accelerator, lambda _: None),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(options.rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - started)
    questions = len(data.train) + len(data.dev)
    print(
        f"{options.data}: {len(data.corpus):,} articles, {questions:,} questions, {run.dtype_name}"
    )
    for name, seconds in best.items():
        print(f"{name:<16}{seconds:8.2f} s  {seconds / best['articles alone']:.3f}")
    with tempfile.TemporaryDirectory() as folder:
        _, state = fit(settings, data, accelerator, Path(folder), BiEncoderLearner)
    record = next(each for each in state.records if "refresh_share" in each)
    print(
        f"share of an epoch {record['refresh_share']:.3f}, "
        f"predicted {record['predicted_refresh_share']:.3f}"
    )


if __name__ == "__main__":
    main()
