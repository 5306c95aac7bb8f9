"""The arrows between packages and what an import costs."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("components", "pipelines", "training", "ui")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

HAYSTACK_FOLDERS = (
    *("stores", "converters", "embedders", "retrievers", "rankers", "joiners", "generators"),
    *("builders", "evaluators", "preprocessors"),
)
STATUTES, MODELS = "components.statutes", "components.models"
HAYSTACK_PARTS = (
    *("components.aliases", "components.parameters"),
    *(f"components.{folder}" for folder in HAYSTACK_FOLDERS),
)

# Each part and what it may import of Lexarbor, itself aside.
ARROWS: dict[str, tuple[str, ...]] = {
    STATUTES: (),
    MODELS: (STATUTES,),
    **dict.fromkeys(HAYSTACK_PARTS, (STATUTES, MODELS, *HAYSTACK_PARTS)),
    "pipelines": ("components",),
    "ui": ("components", "pipelines"),
    "training": (STATUTES, MODELS),
}
HEAVY = ("torch", "haystack", "transformers", "sentence_transformers", "haystack_integrations")
FOREIGN = {
    STATUTES: HEAVY,
    MODELS: ("haystack",),
    "training": ("haystack",),
}


def part_of(module: str) -> str:
    """The longest part that a module's name lies in, or ''."""
    parts = [part for part in ARROWS if module == part or module.startswith(f"{part}.")]
    return max(parts, key=len, default="")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module that is imported, in functions too; (line, dotted name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the import with its whole name"
            # `from components import models` names a part in its second half.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield node.lineno, str(first.value)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> list[tuple[int, str]]:
    return list(imports(tree_of(path)))


def broken_arrows(found: Iterable[tuple[int, str]], module: str) -> list[str]:
    part = part_of(module)
    broken = []
    for line, name in found:
        top = name.split(".")[0]
        allowed = (*ARROWS.get(part, ()), part)
        inside = any(name == each or name.startswith(f"{each}.") for each in allowed if each)
        if (top in PACKAGES and not inside) or top in FOREIGN.get(part, ()):
            broken.append(f"{module}:{line} imports {name}")
    return broken


def test_imports_follow_the_arrows() -> None:
    broken: list[str] = []
    for path in SOURCES:
        broken += broken_arrows(imports_of(path), module_name(path))
    assert broken == []


@pytest.fixture(scope="module")
def import_graph() -> dict[str, set[str]]:
    """Each module and those of ours that it imports, in functions and for types alone too."""
    modules = {module_name(path): path for path in SOURCES}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        found = {
            name if name in modules else name.rpartition(".")[0] for _, name in imports_of(path)
        }
        graph[module] = {name for name in found if name in modules} - {module}
    return graph


def test_no_modules_import_each_other_in_a_circle(import_graph: dict[str, set[str]]) -> None:
    graph = dict(import_graph)
    while leaves := [module for module, found in graph.items() if not found & graph.keys()]:
        for module in leaves:
            del graph[module]
    assert graph == {}, "each of these imports another of them"


# Components, views of difficulty and readers of a format may be short, whoever imports them.
MAY_BE_SHORT = (
    *(f"components.{folder}." for folder in HAYSTACK_FOLDERS),
    "components.statutes.sources.",
)


def test_no_short_module_has_a_single_importer(import_graph: dict[str, set[str]]) -> None:
    for path in SOURCES:
        module = module_name(path)
        if path.name == "__init__.py" or module.startswith(MAY_BE_SHORT):
            continue
        importers = [name for name, found in import_graph.items() if module in found]
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        assert n_lines >= 80 or len(importers) != 1, f"{module} belongs in {importers[0]}"


# Imports in turn, and what must not be loaded after each.
LIGHT = (
    ("components", {"torch", "haystack", "numpy"}),
    ("components.statutes", {"torch", "haystack", "transformers", "sentence_transformers"}),
    *(  # for their --help
        (f"pipelines.{name}", {"torch", "haystack"})
        for name in ("index", "ask", "diff", "evaluate", "calibrate", "export", "tree")
    ),
    ("ui.__main__", {"torch", "haystack", "gradio"}),
    ("haystack_integrations.components.retrievers.lexarbor", {"torch", "haystack"}),
    (  # Haystack imports the module of each class that a file names
        "haystack_integrations.components.retrievers.lexarbor.bm25",
        {"transformers", "sentence_transformers", "qdrant_client"},
    ),
)


def test_what_is_imported_loads_nothing_heavy() -> None:
    code = f"""
import importlib, sys
for module, heavy in {LIGHT}:
    importlib.import_module(module)
    assert not heavy & set(sys.modules), (module, heavy & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_no_component_package_does_work_when_imported() -> None:
    for path in (ROOT / "components").glob("*/__init__.py"):
        kinds = {type(node) for node in tree_of(path).body}
        # Docstring, re-exports, __all__; a lazy package has its classes for type checkers, too.
        assert kinds <= {ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.If}, path
