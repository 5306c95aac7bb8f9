"""Haystack's name for `components.retrievers.bm25`."""

from components.retrievers.bm25 import StatuteBM25Retriever as StatuteBM25Retriever
