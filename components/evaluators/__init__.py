"""Haystack components: evaluators."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {"retrieval": ["RetrievalEvaluator"]}

if TYPE_CHECKING:
    from components.evaluators.retrieval import RetrievalEvaluator as RetrievalEvaluator
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
