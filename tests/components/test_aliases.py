"""Haystack loads our classes without being told to trust them, under the names of aliases.py."""

import ast
import importlib
import json
import pickle
import re
from pathlib import Path

import pytest
import yaml
from haystack import Pipeline, component
from haystack.components.retrievers import MultiRetriever
from haystack.components.writers import DocumentWriter
from haystack.core.errors import DeserializationError
from haystack.tools import ComponentTool

import haystack_integrations.components.retrievers
from components.aliases import trusted_name
from components.parameters import StatuteComponent
from components.retrievers.bm25 import StatuteBM25Retriever
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import OUR_CLASSES
from pipelines.loading import load_pipeline

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = ROOT / "haystack_integrations"
# Of a class by its module, and of a package whose classes are imported when asked for.
REEXPORTS = ((ast.ImportFrom,), (ast.Import, ast.ImportFrom, ast.FunctionDef))
FILES = [*ROOT.glob("pipelines/*.yaml"), *ROOT.glob("examples/*.yaml")]


def as_defined(text: str) -> str:
    """A text with our classes named as in `components`."""
    text = text.replace("haystack_integrations.document_stores.lexarbor.", "components.stores.")
    return re.sub(r"haystack_integrations\.components\.(\w+)\.lexarbor\.", r"components.\1.", text)


def test_each_name_is_the_class_itself():
    for name in OUR_CLASSES:
        module, _, own = name.rpartition(".")
        cls = getattr(importlib.import_module(module), own)
        defined = importlib.import_module(as_defined(module))
        assert getattr(defined, own) is cls
        assert getattr(importlib.import_module(module.rpartition(".")[0]), own) is cls
        assert (cls.__module__, trusted_name(f"{defined.__name__}.{own}")) == (module, name)
        assert pickle.loads(pickle.dumps(cls)) is cls
        for registered in (name, as_defined(name)) if own != "StatuteDocumentStore" else ():
            assert component.registry[registered] is cls


def test_the_folders_that_others_share_are_namespaces():
    files = {path.relative_to(NAMESPACE) for path in NAMESPACE.rglob("*.py")}
    named = {Path(*name.split(".")[1:-1]).with_suffix(".py") for name in OUR_CLASSES}
    assert files == named | {path.parent / "__init__.py" for path in named}
    assert {path.parent.name for path in files} == {"lexarbor"}
    for path in files:  # re-exports alone
        body = ast.parse((NAMESPACE / path).read_text(encoding="utf-8")).body
        assert {type(node) for node in body} <= {ast.Expr, *REEXPORTS[path.name == "__init__.py"]}
    for shared in (haystack_integrations, haystack_integrations.components.retrievers):
        assert shared.__file__ is None
        assert len(set(shared.__path__)) > 1  # ours, and that of qdrant-haystack


def test_other_names_are_left_alone():
    for name in (
        *("haystack.components.joiners.branch.BranchJoiner", "my.components.retrievers.a.B"),
        *("components.models.weights.load", "components.retrieversx.a.B", "components", ""),
    ):
        assert trusted_name(name) == name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_loaded_by_haystack_alone(file):
    text = file.read_text(encoding="utf-8")
    assert as_defined(text) != text
    pipeline = Pipeline.loads(text)
    written = pipeline.dumps()
    assert "type: components." not in written
    again = Pipeline.loads(written)
    old = Pipeline.loads(as_defined(written), allowed_modules=["components"])
    for loaded in (again, old):
        assert yaml.safe_load(loaded.dumps())["components"] == yaml.safe_load(written)["components"]
    with pytest.raises(DeserializationError, match="not on the trusted-module allowlist"):
        Pipeline.loads(as_defined(text))


def test_ours_are_loaded_inside_haystacks_own(tmp_path):
    store = StatuteDocumentStore(tmp_path / "law.db")
    retriever = StatuteBM25Retriever(store)
    pipeline = Pipeline()
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.add_component("both", MultiRetriever(retrievers={"words": retriever}))
    assert Pipeline.loads(pipeline.dumps()).to_dict() == pipeline.to_dict()
    tool = ComponentTool(retriever, name="law", description="Finds articles.")
    assert ComponentTool.from_dict(json.loads(json.dumps(tool.to_dict()))).name == "law"


def test_load_pipeline_reads_files_that_name_classes_as_in_components(tmp_path, store_path):
    path = tmp_path / "old.yaml"
    path.write_text(as_defined((ROOT / "pipelines" / "lexical.yaml").read_text("utf-8")))
    part = {"type": "components.stores.sqlite.StatuteDocumentStore"}
    part["init_parameters"] = {"path": store_path}
    pipeline = load_pipeline(path, store_path, overrides={"bm25.document_store": part})
    assert pipeline.to_dict() == load_pipeline("lexical", store_path).to_dict() | {
        "metadata": pipeline.metadata
    }


def test_a_component_of_ones_own_keeps_its_module():
    @component
    class Own(StatuteComponent):
        @component.output_types(text=str)
        def run(self, text: str):
            return {"text": text}

    class Narrow(StatuteBM25Retriever):
        def run(self, query: str):
            return {"documents": []}

    for cls in (Own, Narrow):
        assert cls.__module__ == __name__
        assert f"{__name__}.{cls.__name__}" == trusted_name(f"{__name__}.{cls.__name__}")
    assert component.registry["components.retrievers.bm25.StatuteBM25Retriever"] is not Narrow
    assert Own.from_dict(Own().to_dict()).run("a") == {"text": "a"}
