"""Masked-language modelling on a law: settings, tokenizer, blocks of text, the run."""
