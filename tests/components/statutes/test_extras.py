"""Which missing modules an extra would bring."""

import importlib
import sys
import typing

import pytest

from components.embedders.text import BiEncoderComponent
from components.statutes.extras import MissingExtraError, needs_extra


@pytest.mark.parametrize(
    "name",
    ["not_installed", "not_installed.part", "haystack_integrations.document_stores.not_installed"],
)
def test_a_missing_package_names_its_extra(name):
    said = pytest.raises(MissingExtraError, match=r"Law in XML needs .*lexarbor\[files\]")
    with said, needs_extra("Law in XML", "files"):
        importlib.import_module(name)


@pytest.mark.parametrize("error", [None, "numpy.not_there", "haystack_integrations"])
def test_what_an_extra_would_not_bring_is_raised_as_it_is(error):
    with (
        pytest.raises(ModuleNotFoundError, match="by hand"),
        needs_extra("Law in XML", "files"),
    ):
        raise ModuleNotFoundError("by hand", name=error)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("qdrant", "qdrant_client", "qdrant"), ("postgres", "psycopg", "postgres")],
)
def test_an_engine_without_its_packages_names_its_extra(monkeypatch, module, package, extra):
    for each in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, each)
    monkeypatch.delitem(sys.modules, f"components.stores.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"lexarbor\[{extra}\]"):
        importlib.import_module(f"components.stores.{module}")


def test_components_have_type_hints_without_the_packages_of_models():
    assert typing.get_type_hints(BiEncoderComponent.__init__)["model"] == str | None
