"""The web demo."""

from pathlib import Path
from runpy import run_path

# By its place: by its name, a project's own package could be found.
_pipelines = run_path(str(Path(__file__).resolve().parent.parent / "pipelines" / "__init__.py"))
_pipelines["check_neighbour"]("pipelines")
