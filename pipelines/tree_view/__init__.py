"""The picture of an article in its law, and its attention, for `python -m pipelines.tree`."""
