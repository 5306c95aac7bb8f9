"""What every training with a Hugging Face Trainer has in common, whatever it trains."""
