"""Haystack's name for `components.retrievers.engines`."""

from components.retrievers.engines import EngineCitationRetriever as EngineCitationRetriever
from components.retrievers.engines import EngineEmbeddingRetriever as EngineEmbeddingRetriever
from components.retrievers.engines import EngineLexicalRetriever as EngineLexicalRetriever
