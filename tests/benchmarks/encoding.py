"""Encoding articles next to sentence-transformers: `python tests/benchmarks/encoding.py`.

    python tests/benchmarks/encoding.py [--corpus PATH] [--articles N] [--model M] [--device cuda]

All encode the same articles with the same model, in turns, several rounds; the best round counts.
The peer is sentence-transformers' `encode`: on a CPU as it comes (float32, 32 texts a batch), on a
GPU in bfloat16 at the fastest of several batch sizes.
"""

from __future__ import annotations

import bench
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from components.models.biencoder import BiEncoder
from components.models.folder import BUNDLED_MODEL, find_model
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus

BATCH_SIZES = {"cpu": (8, 32, 128), "cuda": (32, 128, 512)}
DEFAULT, TUNED = "sentence-transformers, default", "sentence-transformers, best batch"
TARGETS = {("cpu", "float32"): 1.3, ("cpu", "bfloat16"): 3.0, ("cuda", "bfloat16"): 1.5}


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

    dtype = torch.float32 if kind == "cpu" else torch.bfloat16
    peer = SentenceTransformer(folder, device=options.device, model_kwargs={"dtype": dtype})

    def encode(batch_size: int, some: list[str] = texts) -> torch.Tensor:
        vectors = peer.encode_document(some, batch_size=batch_size, normalize_embeddings=True)
        return torch.from_numpy(np.asarray(vectors, np.float32))

    best_batch = min(
        BATCH_SIZES[kind],
        key=lambda size: bench.milliseconds(lambda some: encode(size, some), [texts[::3]] * 2),
    )
    ways: dict[str, bench.Call] = {
        DEFAULT: lambda _: encode(32),
        TUNED: lambda _: encode(best_batch),
    }
    for name in ("float32", "bfloat16"):
        model = BiEncoder.load(folder, device=options.device, dtype=name)
        ways[f"lexarbor {name}"] = lambda _, model=model: model.encode_articles(texts)
    report = model.encode_articles_report(texts)[1]
    tokens = report.n_tokens - report.tokens_cut
    exact = ways["lexarbor float32"](0)
    best = {
        name: rounds.min()
        for name, rounds in bench.in_turns(ways, range(options.rounds), options.device).items()
    }

    print(f"{len(texts)} articles of {options.corpus}, {tokens:,} tokens, {options.device},")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, best of the rounds\n")
    print(f"{'':34}{'seconds':>9}{'tokens/s':>10}{'times':>7}{'cosine':>9}")
    peer_seconds = best[DEFAULT if kind == "cpu" else TUNED]
    for name, way in ways.items():
        cosine = float((way(0) * exact).sum(1).min())  # type: ignore[operator]
        ratio = peer_seconds / best[name]
        target = TARGETS.get((kind, name.removeprefix("lexarbor ")))
        print(
            f"{name:34}{best[name]:9.2f}{tokens / best[name]:10,.0f}{ratio:7.2f}{cosine:9.5f}"
            + (f"   {bench.at_least(ratio, target)}" if target else "")
        )


if __name__ == "__main__":
    main()
