"""Training next to sentence-transformers' own trainer.

    python tests/benchmarks/training_throughput.py [--data FOLDER] [--steps N] [--device cuda] ...

The same (question, positive, negatives) in the same batches of the same model, with in-batch
negatives, the same dropout, optimizer and clipping: a step of `training.cusines`, and
`SentenceTransformerTrainer` with `MultipleNegativesRankingLoss`, in float32 and in bfloat16. They
take turns, several rounds in one process; the first steps of each do not count; the best round
does. Articles are counted as the pairs list them, repeats too: the work that was asked for.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial

import bench
import torch
from accelerate import Accelerator
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch.utils.data import BatchSampler, SequentialSampler
from transformers import TrainerCallback
from transformers.utils import logging as transformers_logging

from components.models.folder import BUNDLED_MODEL, find_model
from components.statutes.article import indexed_text
from training.cusines import RunTexts, loss_and_gradient, starting_model, train_mode
from training.data import TrainingData, epoch_order
from training.negatives import CurriculumNegatives
from training.objective import Batch, Optimizer, make_batch, warm_up_and_decay
from training.settings import CusinesSettings

TEMPERATURE = 0.05
LEARNING_RATE = 2e-5


def arguments() -> argparse.Namespace:
    parser = bench.parser(__doc__)
    default = bench.ROOT.parent / "shared" / "data" / "obliqa_en"
    parser.add_argument("--data", default=str(default), help="folder of a law and its questions")
    parser.add_argument("--model", default=BUNDLED_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=24, help="pairs a step")
    parser.add_argument("--negatives", type=int, default=4, help="of each question")
    parser.add_argument("--steps", type=int, default=10, help="that count, of each round")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before them")
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


def clock(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def ours(
    options: argparse.Namespace, data: TrainingData, batches: list[Batch], dtype: str
) -> float:
    """Seconds of the steps that count, by a step of `training.cusines`."""
    chosen = CusinesSettings(
        corpus=options.data,
        questions=options.data,
        output="unused",
        model=options.model,
        temperature=TEMPERATURE,
        learning_rate=LEARNING_RATE,
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        device=options.device,
    )
    device = torch.device(options.device)
    accelerator = Accelerator(cpu=device.type == "cpu")
    model = starting_model(chosen, device)
    texts = RunTexts(model, data, None)
    optimizer = Optimizer(
        model,
        learning_rate=chosen.learning_rate,
        head_lr=chosen.head_lr,
        weight_decay=chosen.weight_decay,
        rates=warm_up_and_decay(len(batches), chosen.warmup),
    )
    train_mode(model)
    started = 0.0
    for step, batch in enumerate(batches):
        if step == options.warm_up:
            started = clock(options.device)
        loss_and_gradient(batch, texts, chosen, accelerator)
        torch.nn.utils.clip_grad_norm_(optimizer.parameters.values(), chosen.clip)
        optimizer.step(step)
    return clock(options.device) - started


class Clock(TrainerCallback):
    """When the steps that count begin and end."""

    def __init__(self, warm_up: int, device: str) -> None:
        self.warm_up, self.device = warm_up, device
        self.started = self.ended = 0.0

    def on_step_begin(self, args, state, control, **_):  # type: ignore[no-untyped-def]
        if state.global_step == self.warm_up:
            self.started = clock(self.device)

    def on_step_end(self, args, state, control, **_):  # type: ignore[no-untyped-def]
        self.ended = clock(self.device)


def peer(options: argparse.Namespace, rows: Dataset, attention: str, dtype: str) -> float:
    """The same by `SentenceTransformerTrainer`."""
    model = SentenceTransformer(
        str(find_model(options.model)),
        device=options.device,
        model_kwargs={"dtype": torch.float32, "attn_implementation": attention},
    )
    steps = Clock(options.warm_up, options.device)
    with tempfile.TemporaryDirectory() as scratch:
        settings = SentenceTransformerTrainingArguments(
            output_dir=scratch,
            num_train_epochs=1,
            per_device_train_batch_size=options.batch_size,
            learning_rate=LEARNING_RATE,
            bf16=dtype == "bfloat16",
            use_cpu=options.device == "cpu",
            batch_sampler=lambda dataset, batch_size, drop_last, **_: BatchSampler(
                SequentialSampler(dataset), batch_size, drop_last
            ),
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        loss = MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
        SentenceTransformerTrainer(
            model=model, args=settings, train_dataset=rows, loss=loss, callbacks=[steps]
        ).train()
    return steps.ended - steps.started


def main() -> None:
    options = arguments()
    transformers_logging.disable_progress_bar()
    torch.manual_seed(0)
    data = TrainingData.read(options.data, options.data)
    # Views that need no model, so that the negatives are near ones, as in training.
    negatives = CurriculumNegatives(
        data.corpus,
        data.train,
        views=("tree", "sequence"),
        negatives_per_question=options.negatives,
    )
    drawn = negatives.draw(0, 0.5)
    n_pairs = (options.warm_up + options.steps) * options.batch_size
    if n_pairs > len(data.pairs):
        sys.exit(f"{len(data.pairs):,} pairs are fewer than {n_pairs:,}: take fewer steps")
    pairs = data.pairs[epoch_order(len(data.pairs), seed=0, epoch=0)[:n_pairs]]
    batches = [
        make_batch(pairs[at : at + options.batch_size], drawn, negatives.gold, in_batch=True)
        for at in range(0, n_pairs, options.batch_size)
    ]
    texts = [indexed_text(article.headings, article.text) for article in data.corpus]
    names = ["anchor", "positive", *(f"negative_{n}" for n in range(options.negatives))]
    places = [(question, positive, *drawn.of(question).tolist()) for question, positive in pairs]
    rows = Dataset.from_list(
        [
            dict(zip(names, (data.train[q].text, *(texts[a] for a in articles)), strict=False))
            for q, *articles in places
        ]
    )
    ways = {
        "sentence-transformers": partial(peer, options, rows, "sdpa"),
        # On a CPU PyTorch's fused attention, which it comes with, is slow backwards.
        "sentence-transformers, eager": partial(peer, options, rows, "eager"),
        "lexarbor": partial(ours, options, data, batches),
    }
    print(
        f"{options.data}, {options.model}: {options.steps} steps after {options.warm_up}, best of"
    )
    print(
        f"{options.rounds} rounds, {options.batch_size} pairs with {options.negatives} negatives "
        f"each, {options.device}, torch {torch.__version__}, {torch.get_num_threads()} threads\n"
    )
    print(f"{'':40}{'seconds':>9}{'s a step':>10}{'articles/s':>12}{'times the best peer':>21}")
    listed = options.steps * options.batch_size * (1 + options.negatives)
    for dtype in ("float32", "bfloat16"):
        rounds = [[way(dtype) for way in ways.values()] for _ in range(options.rounds)]
        best = [min(times) for times in zip(*rounds, strict=True)]
        for name, took in zip(ways, best, strict=True):
            print(
                f"{name + ', ' + dtype:40}{took:9.2f}{took / options.steps:10.3f}"
                f"{listed / took:12.1f}{min(best[:-1]) / took:21.2f}"
            )


if __name__ == "__main__":
    main()
