"""What the dynamic view costs: `python tests/benchmarks/refresh.py [--data PLACE] [--rounds N]`.

The refresh of an epoch (articles and questions, as the training run encodes them) beside the same
engine over the same texts, and over the articles alone, in turns, the best round of each; and one
epoch of training, for the share of it that the refresh takes beside the N / (N + 3 Q (P + n)) that
arithmetic gives.
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
from components.models.folder import BUNDLED_MODEL
from training.command_line import Place, Target
from training.cusines import BiEncoderLearner
from training.data import TrainingData
from training.encoding import RunTexts
from training.loop import fit
from training.settings import CusinesSettings
from training.start import starting_model


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
    articles, asking = run.articles, run.questions.encoder
    asked = asking.tokenize([question.text for question in (*data.train, *data.dev)])

    def encode_articles() -> None:
        encode_tokenized(articles.encoder, articles.passages, dtype=run.dtype)

    def encode_all() -> None:
        encode_articles()
        encode_tokenized(asking, asked, dtype=run.dtype)

    ways: dict[str, Callable[[], object]] = {
        "articles alone": encode_articles,
        "the same texts": encode_all,
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
        beside = "  ".join(f"{seconds / best[other]:.3f}" for other in list(ways)[:2])
        print(f"{name:<16}{seconds:8.2f} s  {beside}")
    with tempfile.TemporaryDirectory() as folder:
        _, state = fit(settings, data, accelerator, Path(folder), BiEncoderLearner)
    record = next(each for each in state.records if "refresh_share" in each)
    print(
        f"share of an epoch {record['refresh_share']:.3f}, "
        f"predicted {record['predicted_refresh_share']:.3f}"
    )


if __name__ == "__main__":
    main()
