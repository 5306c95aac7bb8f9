"""Haystack's name for `components.builders.citation_auditor`."""

from components.builders.citation_auditor import CitationAuditor as CitationAuditor
