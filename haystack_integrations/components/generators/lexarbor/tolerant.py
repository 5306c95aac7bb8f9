"""Haystack's name for `components.generators.tolerant`."""

from components.generators.tolerant import TolerantChatGenerator as TolerantChatGenerator
