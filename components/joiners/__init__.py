"""Haystack components: joiners."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "rank_fusion": ["StatuteRankFuser"],
    "sections": ["StatuteSectionMerger"],
}

if TYPE_CHECKING:
    from components.joiners.rank_fusion import StatuteRankFuser as StatuteRankFuser
    from components.joiners.sections import StatuteSectionMerger as StatuteSectionMerger
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
