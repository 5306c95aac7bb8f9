"""Haystack's name for `components.preprocessors.splitter`."""

from components.preprocessors.splitter import StatuteSplitter as StatuteSplitter
