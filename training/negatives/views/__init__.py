"""Views: each says how difficult every article is as a negative of a question.

Every module here is a view: its name is what the view is called in settings, and its function
`of` makes it from a law and its questions (`training.negatives.options.Given`).
"""

from training.negatives.views.bm25 import BM25View
from training.negatives.views.run import RunView
from training.negatives.views.semantic import SemanticView
from training.negatives.views.sequence import SequenceView
from training.negatives.views.tree import TreeView

__all__ = ["BM25View", "RunView", "SemanticView", "SequenceView", "TreeView"]
