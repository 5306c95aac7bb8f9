"""Haystack's name for `components.retrievers.guides`."""

from components.retrievers.guides import StatuteGuideRetriever as StatuteGuideRetriever
