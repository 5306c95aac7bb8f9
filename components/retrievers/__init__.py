"""Haystack components: retrievers."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "bm25": ["StatuteBM25Retriever"],
    "citation": ["CitationRetriever"],
    "embedding": ["StatuteEmbeddingRetriever"],
    "engines": ["EngineCitationRetriever", "EngineEmbeddingRetriever", "EngineLexicalRetriever"],
    "guides": ["StatuteGuideRetriever"],
    "hybrid": ["StatuteHybridRetriever"],
    "structure": ["StructureExpander"],
}

if TYPE_CHECKING:
    from components.retrievers.bm25 import StatuteBM25Retriever as StatuteBM25Retriever
    from components.retrievers.citation import CitationRetriever as CitationRetriever
    from components.retrievers.embedding import (
        StatuteEmbeddingRetriever as StatuteEmbeddingRetriever,
    )
    from components.retrievers.engines import EngineCitationRetriever as EngineCitationRetriever
    from components.retrievers.engines import EngineEmbeddingRetriever as EngineEmbeddingRetriever
    from components.retrievers.engines import EngineLexicalRetriever as EngineLexicalRetriever
    from components.retrievers.guides import StatuteGuideRetriever as StatuteGuideRetriever
    from components.retrievers.hybrid import StatuteHybridRetriever as StatuteHybridRetriever
    from components.retrievers.structure import StructureExpander as StructureExpander
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
