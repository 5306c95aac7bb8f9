"""Answers made from articles: the prompt, the check of the reply, and the answer."""

import sys
from typing import TYPE_CHECKING

from lazy_imports import LazyImporter

_import_structure = {
    "citation_auditor": ["CitationAuditor"],
    "cited_answer": ["CitedAnswerBuilder"],
    "prompt": ["StatutePromptBuilder"],
    "quote_verifier": ["QuoteVerifier"],
}

if TYPE_CHECKING:
    from components.builders.citation_auditor import CitationAuditor as CitationAuditor
    from components.builders.cited_answer import CitedAnswerBuilder as CitedAnswerBuilder
    from components.builders.prompt import StatutePromptBuilder as StatutePromptBuilder
    from components.builders.quote_verifier import QuoteVerifier as QuoteVerifier
else:  # as in Haystack: a class is imported when it is first asked for
    sys.modules[__name__] = LazyImporter(
        name=__name__, module_file=__file__, import_structure=_import_structure
    )
