"""What `python -m pipelines.tree` draws and measures."""
