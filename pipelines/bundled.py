"""The model that comes with the `demo` extra."""

from __future__ import annotations

from pathlib import Path

from components.models.folder import bundled_folder


def bundled_model() -> str | None:
    """`bundled_folder` as models are named."""
    folder = bundled_folder()
    return None if folder is None else str(folder)


def place_now(recorded: str) -> str | None:
    """Where a model on record is now, or None when its folder is gone.

    The bundled model moves with its Python environment; a name is left as it is.
    """
    path = Path(recorded)
    if not path.is_absolute() or path.exists():
        return recorded
    bundled = bundled_model()
    if bundled is not None and Path(bundled).parts[-2:] == path.parts[-2:]:
        return bundled
    return None
