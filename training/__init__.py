"""Training of the models. Each trainer is a module of its own, run as `python -m training.X`."""

from importlib.util import find_spec
from pathlib import Path

for _module in ("accelerate", "datasets", "jsonargparse", "matplotlib", "rank_bm25"):
    if find_spec(_module) is None:
        raise ImportError(
            f"Training needs {_module}: pip install 'lexarbor[training]'", name=__name__
        )

_expected = Path(__file__).resolve().parent.parent / "components"
_found = find_spec("components")
if _found and str(_expected) not in (_found.submodule_search_locations or ()):
    # A project's own folder comes first where it is the working directory.
    raise ImportError(
        f"{_found.origin} stands in the place of Lexarbor's package 'components' ({_expected}). "
        "Start from a folder that has no package of this name, or run the command lexarbor.",
        name=__name__,
    )
