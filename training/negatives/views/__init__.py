"""Views: each says how difficult every article is as a negative of a question."""

from training.negatives.views.bm25 import BM25View
from training.negatives.views.run import RunView
from training.negatives.views.semantic import SemanticView
from training.negatives.views.sequence import SequenceView
from training.negatives.views.tree import TreeView
from training.negatives.views.view import View

__all__ = ["BM25View", "RunView", "SemanticView", "SequenceView", "TreeView", "View"]
