"""Citations of articles: found in running text, and resolved to the articles of a corpus."""
