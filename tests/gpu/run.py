"""The checks, timings and trainings that need a GPU.

    python tests/gpu/run.py --out DIR [--only encode,index,train,graph,ranker]

Needs no Haystack and no network: torch, sentence-transformers, accelerate, networkx, and for
`train`, `graph` and `ranker` the small packages jsonargparse, typeshed-client, ir-measures,
pytrec_eval-terrier, rank-bm25, PyStemmer, datasets, dill and multiprocess. The model is a random
base-size BERT and the texts are words drawn by Zipf's law.

Writes DIR/metrics.json.
Exit code 0 where every check holds, 1 where one fails or the machine has no GPU, 2 on wrong use.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from numpy.typing import NDArray

Measured = dict[str, Any]
COSINE = 0.9995
DIFFERENCE = 1e-4
SPEED_UP = 1.5
MATRIX_RATE_SHARE = 0.45
K = 100


class Checks:
    """What was asked of the machine, and what it answered."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def __call__(self, name: str, holds: bool) -> None:
        print(f"  {'holds' if holds else 'FAILS'}  {name}", flush=True)
        if not holds:
            self.failed.append(name)


def seconds(call: Callable[[], object], device: torch.device, rounds: int = 3) -> float:
    """Best of some rounds, after one that warms up."""
    times = []
    for _ in range(rounds + 1):
        _wait(device)
        started = time.perf_counter()
        call()
        _wait(device)
        times.append(time.perf_counter() - started)
    return min(times[1:])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def texts(number: int, seed: int = 0) -> list[str]:
    """Invented articles: a median of 60 words, some of more than a thousand."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array(["".join("etaoinshrd"[int(d)] for d in str(i + 10)) for i in range(8000)])
    frequency = 1 / (np.arange(len(vocabulary)) + 2.7)
    lengths = np.maximum(3, rng.lognormal(np.log(60), 1.0, number)).astype(int)
    drawn = rng.choice(len(vocabulary), lengths.sum(), p=frequency / frequency.sum())
    return [" ".join(vocabulary[ranks]) for ranks in np.split(drawn, np.cumsum(lengths)[:-1])]


def base_model(folder: Path, hidden: int, layers: int) -> None:
    """A BERT with random weights and a WordPiece tokenizer trained on the invented articles."""
    from tiny_bert import save_bert, trained_wordpiece

    save_bert(
        folder,
        trained_wordpiece(texts(500), 6000),
        longest=512,
        hidden=hidden,
        layers=layers,
        heads=hidden // 64,
        inner=4 * hidden,
        spread=0.05,
    )


def matrix_rate(device: torch.device, size: int) -> float:
    """Measured bfloat16 matrix products, FLOP a second."""
    left = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    right = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    return 2 * size**3 * 10 / seconds(lambda: [left @ right for _ in range(10)], device)


def check_encode(
    checks: Checks, device: torch.device, number: int = 16_384, hidden: int = 768, layers: int = 12
) -> Measured:
    """bf16 against fp32 vectors, ours against sentence-transformers', and both speeds."""
    from sentence_transformers import SentenceTransformer

    from components.models.biencoder import BiEncoder
    from components.models.encoding import HierarchicalArticleHead

    articles = texts(number)
    few = articles[:256]
    with tempfile.TemporaryDirectory() as folder:
        base_model(Path(folder), hidden, layers)
        exact = BiEncoder.load(folder, device=str(device), dtype="float32")
        fast = BiEncoder.load(folder, device=str(device), dtype="bfloat16")
        theirs = SentenceTransformer(
            folder, device=str(device), model_kwargs={"dtype": torch.bfloat16}
        )
        reference = SentenceTransformer(
            folder, device=str(device), model_kwargs={"dtype": torch.float32}
        )

    expected = torch.from_numpy(reference.encode(few, normalize_embeddings=True))
    vectors = exact.encode_articles(few)
    difference = float((vectors - expected).abs().max())
    cosine = float((fast.encode_articles(few) * vectors).sum(1).min())
    peer_cosine = float(
        (torch.from_numpy(theirs.encode(few, normalize_embeddings=True)).float() * vectors)
        .sum(1)
        .min()
    )
    checks(f"encode: fp32 within {DIFFERENCE} of sentence-transformers", difference <= DIFFERENCE)
    checks(f"encode: bf16 cosine to fp32 at least {COSINE}", cosine >= COSINE)

    head = HierarchicalArticleHead(hidden, exact.query.attention_heads, init="paper")
    headed = BiEncoder(exact.query, head=head.to(device), dtype="float32").eval()
    alone = torch.cat([headed.encode_articles([text]) for text in few[:16]])
    apart = float((headed.encode_articles(few)[:16] - alone).abs().max())
    checks("encode: an article does not depend on its batch-mates", apart <= 1e-5)

    tokens = sum(len(ids) for ids in fast.query.tokenizer.token_ids(articles))
    report = fast.encode_articles_report(articles)[1]
    read = tokens - report.tokens_cut
    sizes = (64, 256, 1024)
    peers = {
        size: seconds(lambda size=size: theirs.encode(articles, batch_size=size), device, 2)
        for size in sizes
    }
    ours = seconds(lambda: fast.encode_articles(articles), device, 2)
    rate = matrix_rate(device, 8192 if device.type == "cuda" else 256)
    weights = sum(p.numel() for n, p in fast.query.named_parameters() if ".layer." in n)
    share = 2 * weights * read / ours / rate
    speed_up = min(peers.values()) / ours
    checks(f"encode: at least {SPEED_UP} times sentence-transformers' best", speed_up >= SPEED_UP)
    checks(
        f"encode: at least {MATRIX_RATE_SHARE:.0%} of the matrix rate", share >= MATRIX_RATE_SHARE
    )
    return {
        "articles": number,
        "tokens": read,
        "fp32_difference": difference,
        "bf16_cosine": cosine,
        "sentence_transformers_bf16_cosine": peer_cosine,
        "seconds": ours,
        "tokens_per_second": read / ours,
        "sentence_transformers_seconds": {str(size): value for size, value in peers.items()},
        "speed_up": speed_up,
        "matrix_rate_flops": rate,
        "matrix_rate_share": share,
    }


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def check_index(
    checks: Checks, device: torch.device, sizes: Sequence[int] = (22_633, 500_000), dim: int = 768
) -> Measured:
    """The search on the GPU against the one on the CPU, twins included, and its speed."""
    return {str(size): _check_index(checks, device, size, dim) for size in sizes}


def _check_index(checks: Checks, device: torch.device, size: int, dim: int) -> Measured:
    from components.models.dense_index import DenseIndex

    rng = np.random.default_rng(0)
    matrix = unit(rng.standard_normal((size, dim), dtype=np.float32))
    queries = unit(rng.standard_normal((256, dim), dtype=np.float32))
    # Identical rows in scattered places across the k-th: 200 of them, and 800.
    places = rng.permutation(size)[:1_050]
    for query, group in ((0, places[:220]), (1, places[220:])):
        near = queries[query] + rng.standard_normal((31, dim)) / dim**0.5
        matrix[group] = unit(near[:1])
        matrix[group[:20]] = unit(queries[query] + 0.5 * (near[1:21] - queries[query]))
    allowed = rng.random(size) < 0.3
    gpu, cpu = DenseIndex(matrix, str(device)), DenseIndex(matrix, "cpu")
    for name, k, mask in (("", K, None), (" of allowed rows", K, allowed), ("", 10 * K, None)):
        found, expected = (each.search(queries, k, allowed=mask) for each in (gpu, cpu))
        label = f"index: {size:,} rows, top-{k}{name}"
        checks(f"{label}, the same rows as on the CPU", np.array_equal(found[1], expected[1]))
        step = float(np.abs(found[0] - expected[0]).max())
        checks(f"{label}, the same scores", step <= 2.0**-23)

    rows, wanted = torch.from_numpy(matrix).to(device), torch.from_numpy(queries).to(device)
    ways: dict[str, Callable[[], object]] = {
        "one_query": lambda: gpu.search(queries[9:10], K),
        "batch": lambda: gpu.search(queries, K),
        "float32_topk_one_query": lambda: torch.topk(wanted[9:10] @ rows.T, K)[1].cpu(),
        "float32_topk_batch": lambda: torch.topk(wanted @ rows.T, K)[1].cpu(),
    }
    return {f"{name}_ms": 1e3 * seconds(way, device, 10) for name, way in ways.items()}


def check_train(checks: Checks, device: torch.device, **sizes: int) -> Measured:
    """Gradients, ranking, refresh and steps; see train_checks.py."""
    import train_checks

    return train_checks.check_train(checks, device, seconds, texts, base_model, **sizes)


def check_graph(checks: Checks, device: torch.device, **sizes: int) -> Measured:
    """The graph network; see graph_checks.py."""
    import graph_checks

    return graph_checks.check_graph(checks, device, seconds, texts, **sizes)


def check_ranker(checks: Checks, device: torch.device, **sizes: int) -> Measured:
    """The cross-encoder; see ranker_checks.py."""
    import ranker_checks

    return ranker_checks.check_ranker(checks, device, seconds, texts, base_model, **sizes)


CHECKS = {
    "encode": check_encode,
    "index": check_index,
    "train": check_train,
    "graph": check_graph,
    "ranker": check_ranker,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for metrics.json")
    parser.add_argument("--only", default=",".join(CHECKS), help="default: %(default)s")
    options = parser.parse_args()
    requested = options.only.split(",")
    if unknown := [name for name in requested if name not in CHECKS]:
        parser.error(f"--only {unknown[0]!r} is none of {', '.join(CHECKS)}")
    if not torch.cuda.is_available():
        print("This machine has no GPU that PyTorch can use: nothing was checked.")
        return 1
    device = torch.device("cuda", 0)
    checks = Checks()
    metrics: Measured = {"device": torch.cuda.get_device_name(device), "torch": torch.__version__}
    options.out.mkdir(parents=True, exist_ok=True)
    for name in requested:
        print(name, flush=True)
        metrics[name] = CHECKS[name](checks, device)
        print(json.dumps(metrics[name], indent=2), flush=True)
    metrics["failed"] = checks.failed
    (options.out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
