"""Haystack components: converters."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {"statutes": ["StatuteConverter"]}

if TYPE_CHECKING:
    from components.converters.statutes import StatuteConverter as StatuteConverter
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
