"""What `python -m training.graph` is made of."""
