"""Haystack's name for `components.stores.sqlite`."""

from components.stores.sqlite import StatuteDocumentStore as StatuteDocumentStore
