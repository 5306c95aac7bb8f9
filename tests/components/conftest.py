"""Two small laws in our store and in an engine, and the models that read them."""

from __future__ import annotations

import shutil
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from component_cases import CPU, ENGINE, GRAPH_MODEL, GUIDE, MODEL, RANKER, STORE, Case, placed
from haystack import Document
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.models import registry
from components.models.cross_encoder import RankerSettings
from components.models.graph import LegislativeGraphEncoder
from components.retrievers.guides import articles_in, keep_guides
from components.statutes.guides import Guide, Guides, KeptGuide
from components.stores.engines import LAW, as_row
from components.stores.qdrant import QdrantEngine
from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path) -> str:
    """Two small laws with vectors."""
    laws = {
        "Housing Code": ["The landlord mends the roof.", "The tenant pays the rent."],
        "Family Code": ["Spouses share the household.", "Parents keep their children."],
    }
    documents = []
    for law, texts in laws.items():
        for number, text in enumerate(texts, start=1):
            meta = {"law": law, "number": str(number), "headings": [], "position": len(documents)}
            documents.append(Document(id=f"{law[0].lower()}{number}", content=text, meta=meta))
    embedder = StatuteDocumentEmbedder(str(tiny_encoder), CPU, "float32", progress_bar=False)
    path = tmp_path_factory.mktemp("habits") / "law.db"
    store = StatuteDocumentStore(str(path))
    store.write_documents(embedder.run(documents)["documents"])
    guide = KeptGuide.new(Guide.model_validate(GUIDE), articles_in(store), None)
    keep_guides(store, Guides(kept=[guide]), registry.BiEncoder.load(tiny_encoder, device="cpu"))
    return str(path)


@pytest.fixture(scope="module")
def engine_path(tmp_path_factory: pytest.TempPathFactory, store_path: str) -> str:
    """The same laws in Qdrant, in a folder."""
    path = str(tmp_path_factory.mktemp("engine") / "qdrant")
    engine = QdrantEngine(QdrantDocumentStore(path=path))
    engine.create(32)
    documents = [
        replace(each, meta=as_row(each, "digest"))
        for each in StatuteDocumentStore(store_path).filter_documents()
    ]
    engine.write(StatuteSparseDocumentEmbedder().run(documents)["documents"])
    for law in ("Housing Code", "Family Code"):
        engine.put_state(LAW, law, {"digest": "", "articles": 2})
    return path


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Hugging Face encoder of 32 dimensions with random weights."""
    from tiny_bert import fixed_wordpiece, save_bert

    letters = string.ascii_lowercase + string.digits
    words = ["rule", "article", "chapter", "code", "says", "the", "of", "as", "new", "work"]
    tokenizer = fixed_wordpiece([*words, *letters, *(f"##{each}" for each in letters), *".,?"])
    return save_bert(tmp_path_factory.mktemp("tiny-encoder") / "bert", tokenizer, longest=96)


@pytest.fixture(scope="session")
def graph_model(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path) -> str:
    """The tiny encoder with a fresh graph network over it."""
    folder = tmp_path_factory.mktemp("graph") / "model"
    network = LegislativeGraphEncoder(32, layers=1)
    registry.BiEncoder.load(tiny_encoder, device="cpu").save(folder, kept={"graph": network.save})
    return str(folder)


@pytest.fixture(scope="session")
def ranker_model(tmp_path_factory: pytest.TempPathFactory, minilm: str, tiny_ranker: Path) -> str:
    """MiniLM with a tiny ranker: one passage an article, fused with weight 100."""
    folder = tmp_path_factory.mktemp("ranker") / "model"

    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        RankerSettings(1, 32, fusion_weight=100.0).save(part)

    registry.BiEncoder.load(minilm, device="cpu").save(folder, kept={"ranker": write})
    return str(folder)


@pytest.fixture
def make(
    store_path: str, engine_path: str, tiny_encoder: Path, graph_model: str, ranker_model: str
) -> Callable[[Case, dict[str, Any]], Any]:
    """A component with these parameters, its store and model filled in."""

    def filled(case: Case, parameters: dict[str, Any]) -> Any:
        places = {
            STORE: StatuteDocumentStore(store_path),
            ENGINE: QdrantDocumentStore(path=engine_path),
            MODEL: str(tiny_encoder),
            GRAPH_MODEL: graph_model,
            RANKER: ranker_model,
        }
        return case.kind(**placed(parameters, places))

    return filled
