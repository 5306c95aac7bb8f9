"""What the dynamic view costs: `python tests/benchmarks/refresh.py [--data PLACE] [--rounds N]`.

The refresh of an epoch (articles and questions, as the training run encodes them) next to the same
engine over the same texts, and over the articles alone, in turns, the best round of each; and one
epoch of training, for the share of it that the refresh takes next to the N / (N + 3 Q (P + n)) that
arithmetic gives.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import bench
import torch
from accelerate import Accelerator

from components.models.encoding import encode_tokenized
from components.models.folder import BUNDLED_MODEL
from training.command_line import Place, Target
from training.cusines import BiEncoderLearner, RunTexts
from training.data import TrainingData
from training.loop import fit
from training.settings import CusinesSettings
from training.starting_model import starting_model


def main() -> None:
    parser = bench.parser(__doc__)
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

    def encode_articles(_: object) -> None:
        encode_tokenized(articles.encoder, articles.passages, dtype=run.dtype)

    def encode_all(_: object) -> None:
        encode_articles(_)
        encode_tokenized(asking, asked, dtype=run.dtype)

    ways: dict[str, bench.Call] = {
        "articles alone": encode_articles,
        "the same texts": encode_all,
        "refresh": lambda _: run.encode(accelerator),
    }
    times = bench.in_turns(ways, range(options.rounds), accelerator.device)
    best = {name: each.min() for name, each in times.items()}
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
