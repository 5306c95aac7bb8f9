"""Markup that would set `window.pwned`, leave the page or load a foreign file."""

from pathlib import Path

PAYLOADS = (Path(__file__).parents[1] / "browser" / "payloads.txt").read_text("utf-8").splitlines()
