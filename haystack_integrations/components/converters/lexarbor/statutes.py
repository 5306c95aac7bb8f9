"""Haystack's name for `components.converters.statutes`."""

from components.converters.statutes import StatuteConverter as StatuteConverter
