"""Retrieval pipelines and the command line."""

from importlib.util import find_spec
from pathlib import Path


def check_neighbour(name: str) -> None:
    """Refuse another package that stands where one of Lexarbor's should.

    Python takes the first package of a name that it finds, and a project's own folder often comes
    first: the working directory, or the folder of the script that is run.

    Args:
        name: of a package that is installed next to this one.

    Raises:
        ImportError: another package has this name; says which and what to do.
    """
    expected = Path(__file__).resolve().parent.parent / name
    found = find_spec(name)
    places = (found.submodule_search_locations if found else None) or []
    if found is not None and expected not in {Path(place).resolve() for place in places}:
        other = found.origin or next(iter(places), "")
        raise ImportError(
            f"{other} stands in the place of Lexarbor's package '{name}' ({expected}). Start from "
            "a folder that has no package of this name, or run the command lexarbor, which is "
            f"never shadowed by the working directory; in your own code rename '{name}'.",
            name="pipelines",
        )


check_neighbour("components")
