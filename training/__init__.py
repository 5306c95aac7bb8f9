"""Training of the models. Each trainer is a module of its own, run as `python -m training.X`."""

from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

for _module in ("accelerate", "datasets", "jsonargparse", "matplotlib", "rank_bm25", "torch"):
    if find_spec(_module) is None:
        raise ImportError(
            f"Training needs {_module}: pip install 'lexarbor[training]'", name=__name__
        )

# By its place: by its name, a project's own package could be found.
_pipelines = run_path(str(Path(__file__).resolve().parent.parent / "pipelines" / "__init__.py"))
_pipelines["check_neighbour"]("pipelines")
