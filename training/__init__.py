"""Training of the models. Each trainer is a module of its own, run as `python -m training.X`."""
