"""Chat generators that may fail, and searches that they write."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "rewriter": ["StatuteQueryRewriter"],
    "tolerant": ["TolerantChatGenerator"],
}

if TYPE_CHECKING:
    from components.generators.rewriter import StatuteQueryRewriter as StatuteQueryRewriter
    from components.generators.tolerant import TolerantChatGenerator as TolerantChatGenerator
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
