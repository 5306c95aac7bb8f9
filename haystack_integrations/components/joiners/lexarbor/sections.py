"""Haystack's name for `components.joiners.sections`."""

from components.joiners.sections import StatuteSectionMerger as StatuteSectionMerger
