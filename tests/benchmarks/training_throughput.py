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
from collections.abc import Callable
from dataclasses import dataclass

import bench
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from numpy.typing import NDArray
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
from training.cusines import RunTexts, loss_and_gradient
from training.data import TrainingData, epoch_order
from training.negatives import CurriculumNegatives
from training.negatives.gold import DrawnNegatives
from training.objective import Batch, make_batch
from training.optimizer import Optimizer, warm_up_and_decay
from training.settings import CusinesSettings
from training.starting_model import starting_model, train_mode

TEMPERATURE = 0.05
LEARNING_RATE = 2e-5
OURS, PEER = "lexarbor", "sentence-transformers"
# On a CPU PyTorch's fused attention, which it comes with, is slow backwards.
PEER_EAGER = f"{PEER}, eager"


def arguments() -> argparse.Namespace:
    parser = bench.parser(__doc__)
    default = bench.ROOT.parent / "shared" / "data" / "obliqa_en"
    parser.add_argument("--data", default=str(default), help="folder of a law and its questions")
    parser.add_argument("--model", default=BUNDLED_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=24, help="pairs a step")
    parser.add_argument("--negatives", type=int, default=4, help="of each question")
    parser.add_argument("--dropout", type=float, help="default: the model's own")
    parser.add_argument("--steps", type=int, default=10, help="that count, of each round")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before them")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--ways", nargs="+", default=[PEER, PEER_EAGER, OURS], help="who takes part"
    )
    return parser.parse_args()


@dataclass(frozen=True)
class Work:
    """What both train on.

    Attributes:
        data: Law and questions.
        pairs: Of all steps, in their order.
        negatives: Drew `drawn`.
        drawn: Each question's negatives.
    """

    data: TrainingData
    pairs: NDArray[np.int64]
    negatives: CurriculumNegatives
    drawn: DrawnNegatives

    def batches(self, pairs: NDArray[np.int64], batch_size: int) -> list[Batch]:
        return [
            make_batch(pairs[at : at + batch_size], self.drawn, self.negatives.gold, in_batch=True)
            for at in range(0, len(pairs), batch_size)
        ]

    def rows(self) -> Dataset:
        """Anchor, positive, negative_1, ... of each pair, as texts."""
        texts = [indexed_text(article.headings, article.text) for article in self.data.corpus]
        rows = []
        for question, positive in self.pairs.tolist():
            places = [positive, *self.drawn.of(question).tolist()]
            names = ["positive", *(f"negative_{n}" for n in range(1, len(places)))]
            found = dict(zip(names, (texts[place] for place in places), strict=True))
            rows.append({"anchor": self.data.train[question].text, **found})
        return Dataset.from_list(rows)


def shared_work(options: argparse.Namespace) -> Work:
    data = TrainingData.read(options.data, options.data)
    # Views that need no model, so that the negatives are near ones, as in training.
    negatives = CurriculumNegatives(
        data.corpus,
        data.train,
        views=("tree", "sequence"),
        negatives_per_question=options.negatives,
    )
    order = epoch_order(len(data.pairs), seed=0, epoch=0)
    wanted = (options.warm_up + options.steps) * options.batch_size
    if wanted > len(order):
        sys.exit(f"{len(order):,} pairs are fewer than {wanted:,}: take fewer steps")
    return Work(data, data.pairs[order[:wanted]], negatives, negatives.draw(0, 0.5))


def settings(options: argparse.Namespace, dtype: str) -> CusinesSettings:
    return CusinesSettings(
        corpus=options.data,
        questions=options.data,
        output="unused",
        model=options.model,
        dropout=options.dropout,
        batch_size=options.batch_size,
        negatives_per_question=options.negatives,
        temperature=TEMPERATURE,
        learning_rate=LEARNING_RATE,
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        device=options.device,
    )


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def ours(
    work: Work, options: argparse.Namespace, dtype: str, tokenizing: list[float]
) -> Callable[[], float]:
    """Seconds of the steps that count, by a step of `training.cusines`."""
    chosen = settings(options, dtype)
    device = torch.device(options.device)
    accelerator = Accelerator(cpu=device.type == "cpu")
    batches = work.batches(work.pairs, options.batch_size)

    def run() -> float:
        model = starting_model(chosen, device)
        started = time.perf_counter()
        texts = RunTexts(model, work.data, None)
        tokenizing.append(time.perf_counter() - started)
        optimizer = Optimizer(
            model,
            learning_rate=chosen.learning_rate,
            head_lr=chosen.head_lr,
            weight_decay=chosen.weight_decay,
            rates=warm_up_and_decay(len(batches), chosen.warmup),
        )
        train_mode(model)
        for step, batch in enumerate(batches):
            if step == options.warm_up:
                synchronize(options.device)
                started = time.perf_counter()
            loss_and_gradient(batch, texts, chosen, accelerator)
            torch.nn.utils.clip_grad_norm_(optimizer.parameters.values(), chosen.clip)
            optimizer.step(step)
        synchronize(options.device)
        return time.perf_counter() - started

    return run


class Clock(TrainerCallback):
    """When the steps that count begin and end."""

    def __init__(self, warm_up: int, device: str) -> None:
        self.warm_up, self.device = warm_up, device
        self.started = self.ended = 0.0

    def on_step_begin(self, args, state, control, **_):  # type: ignore[no-untyped-def]
        if state.global_step == self.warm_up:
            synchronize(self.device)
            self.started = time.perf_counter()

    def on_step_end(self, args, state, control, **_):  # type: ignore[no-untyped-def]
        if state.global_step == state.max_steps:
            synchronize(self.device)
            self.ended = time.perf_counter()


def peer(
    work: Work, options: argparse.Namespace, dtype: str, folder: str, rows: Dataset, attention: str
) -> Callable[[], float]:
    """The same by `SentenceTransformerTrainer`."""

    def run() -> float:
        model = SentenceTransformer(
            folder,
            device=options.device,
            model_kwargs={"dtype": torch.float32, "attn_implementation": attention},
        )
        if options.dropout is not None:
            for module in model.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = options.dropout
        clock = Clock(options.warm_up, options.device)
        with tempfile.TemporaryDirectory() as scratch:
            trainer = SentenceTransformerTrainer(
                model=model,
                args=SentenceTransformerTrainingArguments(
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
                ),
                train_dataset=rows,
                loss=MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE),
                callbacks=[clock],
            )
            trainer.train()
        return clock.ended - clock.started

    return run


def main() -> None:
    options = arguments()
    transformers_logging.disable_progress_bar()
    torch.manual_seed(0)
    work = shared_work(options)
    listed = options.steps * options.batch_size * (1 + options.negatives)
    tokenizing: list[float] = []
    folder, rows = str(find_model(options.model)), work.rows()
    ways = {
        (name, dtype): ours(work, options, dtype, tokenizing)
        if name == OURS
        else peer(work, options, dtype, folder, rows, "eager" if name == PEER_EAGER else "sdpa")
        for dtype in ("float32", "bfloat16")
        for name in options.ways
    }
    seconds: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, run in ways.items():
            seconds[way].append(run())
    best = {way: min(times) for way, times in seconds.items()}

    print(f"{options.data}: {len(work.data.corpus):,} articles, {len(work.data.pairs):,} pairs")
    print(
        f"{options.model}, batches of {options.batch_size} pairs with {options.negatives} "
        f"negatives each, {options.steps} steps after {options.warm_up},"
    )
    dropout = "the model's" if options.dropout is None else options.dropout
    print(
        f"best of {options.rounds} rounds, dropout {dropout}, {options.device}, "
        f"torch {torch.__version__}, {torch.get_num_threads()} threads\n"
    )
    print("times: of the peer's best in the same format")
    print(f"{'':36}{'seconds':>9}{'s a step':>10}{'articles/s':>12}{'times':>7}")
    for (name, dtype), took in best.items():
        ratio = min(t for (n, d), t in best.items() if d == dtype and n != OURS) / took
        print(
            f"{name + ', ' + dtype:36}{took:9.2f}{took / options.steps:10.3f}{listed / took:12.1f}"
            f"{ratio:7.2f}"
        )
    print(f"\nour tokenising, once per run: {min(tokenizing):.1f} s (the peer's is in its steps)")
    order = epoch_order(len(work.data.pairs), seed=0, epoch=0)
    epoch = work.batches(work.data.pairs[order], options.batch_size)
    for name, count, distinct in (
        ("articles", sum(b.n_listed for b in epoch), sum(len(b.articles) for b in epoch)),
        ("questions", len(order), sum(len(b.questions) for b in epoch)),
    ):
        print(
            f"an epoch lists {count:,} {name}, {distinct:,} distinct in their batch: "
            f"{1 - distinct / count:.1%} of forward passes saved"
        )


if __name__ == "__main__":
    main()
