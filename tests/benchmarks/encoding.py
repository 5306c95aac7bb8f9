"""Encoding articles next to sentence-transformers: `python tests/benchmarks/encoding.py`.

    python tests/benchmarks/encoding.py [--corpus PATH] [--articles N] [--model M] [--device cuda]

All encode the same articles with the same model, in turns, several rounds; the best round counts.
The peer is sentence-transformers' `encode`: on a CPU as it comes (float32, 32 texts a batch), on a
GPU in bfloat16 at the fastest of several batch sizes. Its fastest batch size is shown on a CPU too.
"""

from __future__ import annotations

from collections.abc import Callable

import bench
import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.folder import BUNDLED_MODEL, find_model
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus

BATCH_SIZES = {"cpu": (8, 32, 128), "cuda": (32, 128, 512)}
TARGET_DIFFERENCE = 1e-4
TARGET_COSINE = 0.9995
DEFAULT = "sentence-transformers, default"
TUNED = "sentence-transformers, best batch"
TUNED_BF16 = "the same, bfloat16"
TARGETS = {
    ("cpu", "float32"): (DEFAULT, 1.3),
    ("cpu", "bfloat16"): (DEFAULT, 3.0),
    ("cuda", "bfloat16"): (TUNED_BF16, 1.5),
}


Way = Callable[[object], Tensor]


class Peer:
    """sentence-transformers, and the batch size that is best for a third of the texts."""

    def __init__(self, folder: str, device: str, dtype: torch.dtype, texts: list[str]) -> None:
        self.model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": dtype})
        self.texts = texts
        sizes, sample = BATCH_SIZES[torch.device(device).type], texts[::3]
        self.best_batch = min(
            sizes, key=lambda size: bench.milliseconds(lambda t: self.encode(size, t), [sample] * 2)
        )

    def encode(self, batch_size: int, texts: list[str]) -> Tensor:
        vectors = self.model.encode_document(
            texts, batch_size=batch_size, normalize_embeddings=True
        )
        return torch.from_numpy(np.asarray(vectors, np.float32))

    def at(self, batch_size: int) -> Way:
        return lambda _: self.encode(batch_size, self.texts)


def main() -> None:
    parser = bench.parser(__doc__, articles=100)
    parser.add_argument("--corpus", default="aldermere", help="a corpus, or aldermere")
    parser.add_argument("--model", default=BUNDLED_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    kind = torch.device(options.device).type
    corpus = StatuteCorpus.read(options.corpus)
    chosen = np.random.default_rng(0).permutation(len(corpus))[: options.articles]
    texts = [indexed_text(corpus[int(row)].headings, corpus[int(row)].text) for row in chosen]
    folder = str(find_model(options.model))

    peer = Peer(folder, options.device, torch.float32, texts)
    ways: dict[str, Way] = {DEFAULT: peer.at(32), TUNED: peer.at(peer.best_batch)}
    if kind == "cuda":
        half = Peer(folder, options.device, torch.bfloat16, texts)
        ways[TUNED_BF16] = half.at(half.best_batch)
    for dtype in ("float32", "bfloat16"):
        model = BiEncoder.load(folder, device=options.device, dtype=dtype)
        model.encode_articles(texts[:8])
        ways[f"lexarbor {dtype}"] = lambda _, model=model: model.encode_articles(texts)
    report = model.encode_articles_report(texts)[1]
    tokens = report.n_tokens - report.tokens_cut

    vectors = {name: way(0) for name, way in ways.items()}
    times = bench.in_turns(ways, range(options.rounds), options.device)
    exact = vectors[DEFAULT]
    best = {name: rounds.min() for name, rounds in times.items()}

    print(f"{len(texts)} articles of {options.corpus}, {tokens:,} tokens, {options.device},")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, best of the rounds\n")
    print(f"{'':34}{'seconds':>9}{'tokens/s':>10}{'times':>7}{'difference':>12}{'cosine':>9}")
    reference = best[DEFAULT]
    for name in ways:
        difference = float((vectors[name] - exact).abs().max())
        cosine = float((vectors[name] * exact).sum(1).min())
        print(
            f"{name:34}{best[name]:9.2f}{tokens / best[name]:10,.0f}{reference / best[name]:7.2f}"
            f"{difference:12.1e}{cosine:9.5f}"
        )
    print()
    for dtype in ("float32", "bfloat16"):
        ours = f"lexarbor {dtype}"
        if (kind, dtype) in TARGETS:
            name, least = TARGETS[kind, dtype]
            ratio = best[name] / best[ours]
            print(f"{ours}: {ratio:.2f} times {name} ({bench.at_least(ratio, least)})")
    difference = float((vectors["lexarbor float32"] - exact).abs().max())
    cosine = float((vectors["lexarbor bfloat16"] * exact).sum(1).min())
    print(f"float32 vectors within {TARGET_DIFFERENCE}: {difference <= TARGET_DIFFERENCE}")
    print(f"bfloat16 cosine at least {TARGET_COSINE}: {cosine >= TARGET_COSINE}")


if __name__ == "__main__":
    main()
