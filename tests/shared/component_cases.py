"""Every component: how it is made, how it is run, and what it loads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.components.embedders.types import DocumentEmbedder, TextEmbedder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.types import EmbeddingRetriever, TextRetriever
from haystack.dataclasses import ByteStream, ChatMessage, SparseEmbedding
from haystack.utils import ComponentDevice

from components.builders.citation_auditor import CitationAuditor
from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.prompt import StatutePromptBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.converters.statutes import StatuteConverter
from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.graph import LegislativeGraphEmbedder
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.sparse_text import StatuteSparseTextEmbedder
from components.embedders.text import StatuteTextEmbedder
from components.evaluators.retrieval import RetrievalEvaluator
from components.generators import rewriter
from components.generators.rewriter import StatuteQueryRewriter
from components.generators.tolerant import TolerantChatGenerator
from components.joiners import sections
from components.joiners.rank_fusion import StatuteRankFuser
from components.joiners.sections import StatuteSectionMerger
from components.models import registry
from components.preprocessors.splitter import StatuteSplitter
from components.rankers.cross_encoder import StatuteRanker
from components.rankers.gate import AnswerabilityGate
from components.rankers.passages import StatutePassageRanker
from components.retrievers import bm25, citation, embedding, lists
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.engines import (
    EngineCitationRetriever,
    EngineEmbeddingRetriever,
    EngineLexicalRetriever,
)
from components.retrievers.guides import StatuteGuideRetriever
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.structure import StructureExpander
from components.statutes.lexical import question_numbers

CPU = ComponentDevice.from_str("cpu")
EXPANSIONS = str(Path(__file__).with_name("synthetic.jsonl"))
FAMILY = {"field": "meta.law", "operator": "==", "value": "Family Code"}
ARTICLE = {"id": "h1", "law": "Housing Code", "number": "1", "headings": [], "text": "A roof."}

GUIDE = {
    "id": "roof",
    "language": "en",
    "title": "The roof leaks",
    "answer": "The landlord mends it.",
    "when": ["Who mends the roof?", "It rains in"],
    "steps": [{"text": "Tell the landlord.", "article": "h1"}],
    "reviewed": {"date": "2026-11-01", "by": "a team"},
}


@dataclass
class Case:
    """One component: how to make it, how to run it, and what it loads."""

    kind: type[Any]
    # A value of every parameter, none of them its default; STORE and MODEL are filled in.
    parameters: dict[str, Any]
    inputs: dict[str, Any]
    # What warm_up loads: (where, name) of the function that must be called once.
    loads: tuple[Any, str] | None = None
    protocol: type[Any] | None = None

    @property
    def needed(self) -> dict[str, Any]:
        """What it cannot run without: its store, or else its model."""
        names = [name for name in ("document_store", "model") if name in self.parameters]
        return {name: self.parameters[name] for name in names[:1]}


STORE, MODEL, GRAPH_MODEL, RANKER = "<store>", "<model>", "<graph model>", "<ranker>"
ENGINE = "<engine>"
OF_A_RETRIEVER = {"document_store": STORE, "top_k": 7, "filters": FAMILY, "as_of": "2020-01-01"}
OF_AN_ENGINE = {**OF_A_RETRIEVER, "document_store": ENGINE}
TERMS = question_numbers("Who shares the household, and who mends the roof?", ["en"])
OF_A_MODEL = {"model": MODEL, "device": CPU, "dtype": "float32"}


def placed(parameters: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the store and the models in their places."""
    return {
        name: places.get(value, value) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


CASES = [
    Case(
        StatuteConverter,
        {"skip_bad": True, "format": "legalize"},
        {
            "sources": [ByteStream(json.dumps(ARTICLE).encode(), meta={"file_path": "law"})],
            "meta": {"edition": {"year": 2024}},
        },
    ),
    Case(
        StatuteSplitter,
        {"law": "Act", "language": "en", "as_paragraphs": True},
        {"documents": [Document(id="h1", content="Act\n\n§ 1 Roofs\nTight.\n\n§ 2 Oars\nTwo.\n")]},
    ),
    Case(
        StatuteTextEmbedder,
        OF_A_MODEL,
        {"text": "Who mends the roof?"},
        loads=(registry.BiEncoder, "load"),
        protocol=TextEmbedder,
    ),
    Case(
        StatuteDocumentEmbedder,
        {**OF_A_MODEL, "progress_bar": False},
        {"documents": [Document(id="h1", content="A roof.", meta={"headings": ["Repairs"]})]},
        loads=(registry.BiEncoder, "load"),
        protocol=DocumentEmbedder,
    ),
    Case(
        LegislativeGraphEmbedder,
        {
            "model": GRAPH_MODEL,
            "device": CPU,
            "dtype": "float32",
            "store": STORE,
            "progress_bar": False,
        },
        {
            "documents": [
                Document(id="x8", content="A roof.", meta={"law": "Tax Code", "law_articles": 1}),
                Document(
                    id="x9", content="A roof.", meta={"law": "Pension Code", "law_articles": 1}
                ),
            ]
        },
        loads=(registry.BiEncoder, "load"),
        protocol=DocumentEmbedder,
    ),
    Case(
        StatuteEmbeddingRetriever,
        {**OF_A_RETRIEVER, "device": CPU, "refresh_seconds": 5.5},
        {"query_embedding": [1.0] + [0.1] * 31, "filters": FAMILY, "top_k": 3},
        loads=(embedding.DenseVectors, "read"),
        protocol=EmbeddingRetriever,
    ),
    Case(
        StatuteBM25Retriever,
        {**OF_A_RETRIEVER, "k1": 2.5, "b": 0.2, "expansions": EXPANSIONS, "refresh_seconds": 5.5},
        {
            "query": "Who shares the household, and who mends the roof?",
            "filters": FAMILY,
            "top_k": 3,
        },
        loads=(bm25.LexicalIndex, "build"),
        protocol=TextRetriever,
    ),
    Case(
        CitationRetriever,
        {**OF_A_RETRIEVER, "refresh_seconds": 5.5},
        {"query": "art. 1 Housing Code, art. 2 Family Code", "filters": FAMILY, "top_k": 3},
        loads=(citation, "CitationResolver"),
        protocol=TextRetriever,
    ),
    Case(
        StatuteHybridRetriever,
        {
            **OF_A_RETRIEVER,
            **OF_A_MODEL,
            "depth": 20,
            "weights": {"division": 0.5},
            "full_coverage": 0.4,
            "expansions": EXPANSIONS,
            "k": 20,
            "k1": 2.5,
            "b": 0.2,
            "refresh_seconds": 5.5,
            "with_rankings": True,
        },
        {"query": "Who shares the household?", "filters": FAMILY, "top_k": 3},
        loads=(lists, "LawArrays"),
        protocol=TextRetriever,
    ),
    Case(
        StatuteSparseTextEmbedder,
        {"languages": ["en", None]},
        {"text": "Who mends the roof?"},
        protocol=TextEmbedder,
    ),
    Case(
        StatuteSparseDocumentEmbedder,
        {"average_length": 7.5},
        {"documents": [Document(id="h1", content="A roof.", meta={"headings": ["Repairs"]})]},
        protocol=DocumentEmbedder,
    ),
    Case(
        EngineEmbeddingRetriever,
        OF_AN_ENGINE,
        {"query_embedding": [1.0] + [0.1] * 31, "filters": FAMILY, "top_k": 3},
        protocol=EmbeddingRetriever,
    ),
    Case(
        EngineLexicalRetriever,
        OF_AN_ENGINE,
        {
            "query_sparse_embedding": SparseEmbedding(TERMS, [1.0] * len(TERMS)),
            "filters": FAMILY,
            "top_k": 3,
        },
    ),
    Case(
        EngineCitationRetriever,
        OF_AN_ENGINE,
        {"query": "art. 1 Housing Code, art. 2 Family Code", "filters": FAMILY, "top_k": 3},
        protocol=TextRetriever,
    ),
    Case(
        StatuteRankFuser,
        {
            "stages": ["bm25", "graph"],
            "weights": {"graph": 2.0},
            "k": 60,
            "top_k": 3,
            "full_coverage": {"bm25": 0.4},
        },
        {
            "pinned": [Document(id="p", meta={"ranks": {"bm25": 9}}, embedding=[1.0])],
            "query": "A question?",
            "bm25": [Document(id="a", embedding=[1.0]), Document(id="p")],
            "top_k": 2,
        },
    ),
    Case(
        StatuteSectionMerger,
        {"document_store": STORE, "at_least": 3, "as_of": "any", "refresh_seconds": 5.5},
        {"documents": [Document(id="h1", content="A roof.", embedding=[1.0])]},
        loads=(sections, "_Sections"),
    ),
    Case(
        StatutePassageRanker,
        {
            "document_store": STORE,
            "model": MODEL,
            "device": CPU,
            "dtype": "float32",
            "top_k": 2,
        },
        {
            "query": "Who mends the roof?",
            "documents": [Document(id="h1", content="(1) A roof.\n(2) A wall.")],
        },
    ),
    Case(
        StatuteGuideRetriever,
        {
            "document_store": STORE,
            "model": MODEL,
            "device": CPU,
            "dtype": "float32",
        },
        {"query": GUIDE["when"][0], "documents": [Document(id="h1", content="A roof.", score=1.0)]},
    ),
    Case(
        StatuteRanker,
        {
            "model": RANKER,
            "device": CPU,
            "dtype": "float32",
            "top_k": 3,
            "candidates": 2,
            "score_threshold": 0.0,
            "meta_fields": ["law"],
            "fuse_with_first_stage": True,
            "time_budget_ms": 60_000.0,
            "biencoder": MODEL,
        },
        {
            "query": "Who mends the roof?",
            "documents": [
                Document(id="h1", content="The landlord mends it.", embedding=[1.0]),
                # Of two that can be read, it would hang on the clock which are read together.
                Document(id="h2", meta={"ranks": {"bm25": 2}}, embedding=[1.0]),
            ],
            "pinned": [Document(id="p", content="A roof.", embedding=[1.0])],
            "top_k": 2,
        },
        loads=(registry.CrossEncoderRanker, "load"),
    ),
    Case(
        StructureExpander,
        {
            "document_store": STORE,
            "adjacent": 2,
            "cited": 1,
            "as_of": "any",
            "refresh_seconds": 5.5,
        },
        {"documents": [Document(id="h1", content="See art. 2.", embedding=[1.0])]},
        loads=(citation, "CitationResolver"),
    ),
    Case(
        AnswerabilityGate,
        {"threshold": 0.5, "stage": "reranker"},
        {
            "documents": [Document(id="h1", embedding=[1.0])],
            "scored": [Document(id="h1", score=0.9, meta={"ranks": {"reranker": 1}})],
        },
    ),
    Case(
        StatutePromptBuilder,
        {"max_articles": 2, "max_neighbours": 1, "max_chars": 500},
        {"query": "Who mends the roof?", "documents": [Document(id="h1", content="A roof.")]},
    ),
    Case(
        TolerantChatGenerator,
        {"chat_generator": MockChatGenerator("The landlord [1]."), "time_limit": 5.0},
        {"messages": [ChatMessage.from_user("Who mends the roof?")]},
    ),
    Case(
        StatuteQueryRewriter,
        {
            "document_store": STORE,
            "chat_generator": MockChatGenerator('{"searches": ["repair of the roof"]}'),
            "time_limit": 5.0,
            "refresh_seconds": 5.5,
        },
        {"query": "Who mends the roof?"},
        loads=(rewriter._Laws, "read"),
    ),
    Case(
        QuoteVerifier,
        {},
        {
            "replies": [ChatMessage.from_assistant('"The landlord mends it" [1].')],
            "documents": [Document(id="h1", content="The landlord mends it.")],
        },
    ),
    Case(
        CitationAuditor,
        {"document_store": STORE, "as_of": "2020-01-01", "refresh_seconds": 5.5},
        {"text": "Article 1 of the Housing Code, article 9 of the Family Code."},
        loads=(citation, "CitationResolver"),
    ),
    Case(
        CitedAnswerBuilder,
        {"max_articles": 1},
        {"query": "Who mends the roof?", "documents": [Document(id="h1", content="A roof.")]},
    ),
    Case(
        RetrievalEvaluator,
        {"metrics": ["R@5", "MRR@10"], "depth": 10},
        {"ground_truth_ids": [["a"]], "retrieved_documents": [[Document(id="a")]]},
    ),
]
every_component = pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.__name__)
loading_components = pytest.mark.parametrize(
    "case", [case for case in CASES if case.loads], ids=lambda case: case.kind.__name__
)
NAMES = {case.kind.__name__: case for case in CASES}
RETRIEVERS = [
    case
    for case in CASES
    if "filters" in case.inputs and (case.loads or case.needed.get("document_store") == ENGINE)
]
