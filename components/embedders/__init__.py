"""Haystack components: embedders."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "document": ["StatuteDocumentEmbedder"],
    "graph": ["LegislativeGraphEmbedder"],
    "sparse_document": ["StatuteSparseDocumentEmbedder"],
    "sparse_text": ["StatuteSparseTextEmbedder"],
    "text": ["StatuteTextEmbedder"],
}

if TYPE_CHECKING:
    from components.embedders.document import StatuteDocumentEmbedder as StatuteDocumentEmbedder
    from components.embedders.graph import LegislativeGraphEmbedder as LegislativeGraphEmbedder
    from components.embedders.sparse_document import (
        StatuteSparseDocumentEmbedder as StatuteSparseDocumentEmbedder,
    )
    from components.embedders.sparse_text import (
        StatuteSparseTextEmbedder as StatuteSparseTextEmbedder,
    )
    from components.embedders.text import StatuteTextEmbedder as StatuteTextEmbedder
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
