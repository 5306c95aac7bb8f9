"""Haystack's name for `components.generators.rewriter`."""

from components.generators.rewriter import StatuteQueryRewriter as StatuteQueryRewriter
