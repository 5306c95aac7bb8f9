"""Answers made from articles: the prompt, the check of the reply, and the answer."""
