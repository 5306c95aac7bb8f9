"""A view that Gradio draws, of which some parts tell what is searched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.components import Component

from ui.collection import Collection


class Following(gr.Blocks):
    """A view whose parts follow what is searched.

    Gradio puts into each document what the parts held when the view was mounted; `refresh` brings
    them up to date before the next document is made.

    Args:
        title: names the tab.
        searched: tells what is searched now.
    """

    def __init__(self, title: str, searched: Callable[[], Collection]) -> None:
        super().__init__(title=title, analytics_enabled=False, fill_width=True)
        self._searched = searched
        self._told = searched()
        self._parts: list[tuple[Component, str, Callable[[Collection], Any]]] = []
        self._refreshing = threading.Lock()

    @property
    def told(self) -> Collection:
        """What the parts tell of."""
        return self._told

    def follow(self, part: Component, name: str, tell: Callable[[Collection], Any]) -> None:
        """Give a part's attribute what is told of the collection, now and at each refresh."""
        setattr(part, name, tell(self._told))
        self._parts.append((part, name, tell))

    def refresh(self) -> None:
        """Tell the next reader of what is searched now."""
        with self._refreshing:
            now = self._searched()
            if now == self._told:
                return
            self._told = now
            for part, name, tell in self._parts:
                setattr(part, name, tell(now))
            self.config = self.get_config_file()
