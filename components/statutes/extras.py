"""Extras: packages that only a part of Lexarbor needs, imported when that part is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import accumulate


class MissingExtraError(ImportError):
    """A package is not installed; the message names the extra that brings it."""


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Import the packages of an extra within the block.

    Args:
        what: what needs them, for the message.
        extra: its name.

    Raises:
        MissingExtraError: one is missing; says how to install it.
        ModuleNotFoundError: a package is there, but lacks a module: no extra would help.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or _is_installed(error.name):
            raise
        install = f"pip install 'lexarbor[{extra}]'"
        raise MissingExtraError(f"{what} needs {error.name}: {install}", name=error.name) from error


def _is_installed(module: str) -> bool:
    """Whether the package that a module is of is there; many share the name of a namespace."""
    for name in accumulate(module.split("."), "{}.{}".format):
        spec = find_spec(name)
        if spec is None or spec.origin is not None:
            return spec is not None
    return True
