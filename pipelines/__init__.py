"""Retrieval pipelines and the command line."""
