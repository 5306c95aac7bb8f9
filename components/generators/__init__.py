"""Chat generators that may fail."""
