"""Training of a re-ranker: first stage, examples, loss, the run and its measurements.

The settings are `training.settings.RankerTrainingSettings`; the command is `training.ranker`.
"""
