"""Training on a GPU: gradients, ranking of negatives, the refresh, throughput."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from components.models.encoding import encode_tokenized
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.question import Question
from training.command_line import Place
from training.cusines import RunTexts, loss_and_gradient, starting_model, train_mode
from training.data import TrainingData, epoch_order
from training.negatives import CurriculumNegatives
from training.objective import make_batch
from training.settings import CusinesSettings

RANKING_MS = 0.2
REFRESH_RATIO = 1.1
GRADIENT_DIFFERENCE = 1e-3
CHAPTERS, SECTIONS = 40, 12


def invented_law(texts: Sequence[str], n_questions: int) -> TrainingData:
    """Articles in a tree of chapters and sections, and questions made of words of one article."""
    rng = np.random.default_rng(1)
    articles = [
        Article(
            id=f"a{number}",
            law=f"Code {number % 7}",
            number=str(number),
            headings=(f"Chapter {number // 7 % CHAPTERS}", f"Section {number // 280 % SECTIONS}"),
            text=text,
        )
        for number, text in enumerate(texts)
    ]
    chosen = rng.choice(len(texts), n_questions, replace=False)
    questions = [
        Question(
            id=f"q{number}",
            text=" ".join(rng.permutation(articles[place].text.split()[:40])[:12]) + f" {number}",
            relevant=(articles[place].id,),
            split="train",
        )
        for number, place in enumerate(chosen.tolist())
    ]
    return TrainingData(StatuteCorpus(articles), questions, [], "")


def check_train(
    checks: Callable[[str, bool], None],
    device: torch.device,
    seconds: Callable[..., float],
    texts: Callable[..., list[str]],
    base_model: Callable[[Path, int, int], None],
    *,
    number: int = 22_633,
    n_questions: int = 512,
    hidden: int = 768,
    layers: int = 12,
) -> dict[str, Any]:
    """Cached against uncached gradients, and what ranking, refresh and steps take."""
    data = invented_law(texts(number), n_questions)
    accelerator = Accelerator(cpu=device.type == "cpu")
    settings = _settings()
    with tempfile.TemporaryDirectory() as folder:
        base_model(Path(folder), hidden, layers)
        model = starting_model(replace(settings, model=Place(folder)), device)
    negatives = CurriculumNegatives(data.corpus, data.train, device=str(device))
    run = RunTexts(model, data, None)
    measured: dict[str, Any] = {"articles": number, "questions": n_questions}

    vectors = run.encode(accelerator, train=True)

    def draw() -> None:
        negatives.draw(0, 0.0, questions=vectors.train, articles=vectors.articles)

    measured["ranking_ms_a_question"] = 1e3 * seconds(draw, device) / n_questions
    checks(
        f"train: ranking, fusing and drawing within {RANKING_MS} ms a question",
        measured["ranking_ms_a_question"] <= RANKING_MS,
    )
    encoder, passages = run.articles.encoder, run.articles.passages
    alone = seconds(lambda: encode_tokenized(encoder, passages, dtype=run.dtype), device, 2)
    whole = seconds(lambda: run.encode(accelerator, train=True), device, 2)
    measured |= {"encoding_s": alone, "refresh_s": whole, "refresh_ratio": whole / alone}
    checks(
        f"train: the refresh within {REFRESH_RATIO} times the encoding of the law",
        whole <= REFRESH_RATIO * alone,
    )

    drawn = negatives.draw(0, 0.5, questions=vectors.train, articles=vectors.articles)
    order = epoch_order(len(data.pairs), seed=0, epoch=0)
    batch = make_batch(data.pairs[order[:24]], drawn, negatives.gold, in_batch=True)
    parameters = [p for p in model.parameters() if p.requires_grad]

    def gradient(*, cached: bool) -> torch.Tensor:
        train_mode(model)
        model.zero_grad(set_to_none=True)
        pieces = RunTexts(model, data, 2_048 if cached else None)
        loss_and_gradient(batch, pieces, replace(settings, gradient_caching=cached), accelerator)
        return torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])

    model.dtype = "float32"
    whole_gradient, in_pieces = gradient(cached=False), gradient(cached=True)
    apart = float((whole_gradient - in_pieces).norm() / whole_gradient.norm())
    measured["cached_gradient_difference"] = apart
    checks(
        f"train: gradients in pieces within {GRADIENT_DIFFERENCE} of those of the whole batch",
        apart <= GRADIENT_DIFFERENCE,
    )
    del whole_gradient, in_pieces

    model.dtype = "auto"
    for cached in (False, True):
        chosen = replace(settings, gradient_caching=cached)
        train_mode(model)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        took = seconds(
            lambda chosen=chosen: loss_and_gradient(batch, run, chosen, accelerator), device
        )
        name = "cached" if cached else "whole"
        measured[f"{name}_articles_per_second"] = len(batch.articles) / took
        if device.type == "cuda":
            measured[f"{name}_peak_gib"] = torch.cuda.max_memory_allocated(device) / 2**30
    measured["passes_saved"] = 1 - len(batch.articles) / batch.n_listed
    return measured


def _settings() -> CusinesSettings:
    """Without dropout: gradients in pieces and as a whole can be compared."""
    nowhere = Place("-")
    return CusinesSettings(corpus=nowhere, questions=nowhere, output=nowhere, dropout=0.0)
