"""Haystack components: rankers."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "cross_encoder": ["StatuteRanker"],
    "gate": ["AnswerabilityGate"],
    "passages": ["StatutePassageRanker"],
}

if TYPE_CHECKING:
    from components.rankers.cross_encoder import StatuteRanker as StatuteRanker
    from components.rankers.gate import AnswerabilityGate as AnswerabilityGate
    from components.rankers.passages import StatutePassageRanker as StatutePassageRanker
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
