"""Indexing into, and asking, a distributed engine."""
