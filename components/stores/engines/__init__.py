"""Distributed engines behind Haystack's own integrations: Qdrant and Milvus."""
