"""The REST service: pipelines behind hayhooks, with limits, logs and metrics."""
