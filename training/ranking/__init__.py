"""Training of a re-ranker: settings, first stage, examples, loss, the run, what it measures."""
