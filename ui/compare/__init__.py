"""The view "Compare": two pipelines on one question."""
