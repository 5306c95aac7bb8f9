"""Haystack's name for `components.retrievers.structure`."""

from components.retrievers.structure import StructureExpander as StructureExpander
