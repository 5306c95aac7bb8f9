"""Answers made of articles: what a generator is asked, what it said checked, and the answer."""
