"""Haystack components: preprocessors."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {"splitter": ["StatuteSplitter"]}

if TYPE_CHECKING:
    from components.preprocessors.splitter import StatuteSplitter as StatuteSplitter
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
