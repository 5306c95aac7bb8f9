"""Training runs: what models learned, read from what their trainings wrote down."""
