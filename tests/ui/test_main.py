"""python -m ui: what it refuses, and how it says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.indexing import index_corpus
from pipelines.serving.listening import address, listen
from ui.__main__ import _learning, _parse, main
from ui.serving import Serving


def test_a_port_in_use_is_said_at_once_with_exit_code_2(capsys: pytest.CaptureFixture[str]):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 is in use" in capsys.readouterr().err


def test_a_foreign_host_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["--host", "192.0.2.1", "--port", "0", "--insecure"]) == 2
    assert "192.0.2.1 is no address of this machine" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_other_machines_are_let_in_with_a_password_only(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([f"--host={host}", "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert "--auth FILE" in told
    assert "--insecure" in told
    # Either of them, and the next thing that is wrong is told.
    missing = ["--store", str(tmp_path / "none.db"), f"--host={host}", "--port", "0"]
    passwords = tmp_path / "passwords"
    passwords.write_text("reader:twelve letters")
    passwords.chmod(0o600)
    for reach in (["--insecure"], ["--auth", str(passwords)]):
        assert main([*missing, *reach]) == 2
        told = capsys.readouterr().err
        assert "none.db" in told
        assert "twelve letters" not in told


def test_a_password_file_that_others_can_read_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    passwords = tmp_path / "passwords"
    passwords.write_text("reader:twelve letters")
    passwords.chmod(0o644)
    assert main(["--auth", str(passwords), "--port", "0"]) == 2
    assert f"chmod 600 {passwords}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--auth", str(passwords), "--insecure", "--port", "0"])


@pytest.mark.parametrize("port", ["x", "-1", "65536", "1.5", ""])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([f"--port={port}"])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err


def test_a_store_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    missing = tmp_path / "none.db"
    assert main(["--port", "0", "--store", str(missing)]) == 2
    assert str(missing) in capsys.readouterr().err
    assert not missing.exists()


def test_an_unknown_pipeline_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store = tmp_path / "law.db"
    store.touch()
    assert main(["--port", "0", "--store", str(store), "--pipeline", "hybird"]) == 2
    assert "hybrid" in capsys.readouterr().err


def test_help_waits_for_no_model():
    command = [sys.executable, "-X", "importtime", "-m", "ui", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--port" in done.stdout
    assert not {"torch", "gradio", "haystack"} & {
        line.split("|")[-1].strip() for line in done.stderr.splitlines()
    }


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")]
)
def test_the_address_is_one_that_a_browser_here_can_open(host: str, shown: str):
    with listen(host, 0) as listening:
        assert address(listening) == f"http://{shown}:{listening.getsockname()[1]}/"


def test_a_page_that_asks_no_model_trains_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    index_corpus("aldermere", tmp_path / "demo.db", model="none")
    serving = Serving("lexical", tmp_path / "demo.db")
    for arguments in ([], ["--pipeline", "lexical"]):
        assert _learning(_parse(arguments), serving, tmp_path / "demo.db") is None
    assert list(tmp_path.glob("demo-*")) == []


def test_a_folder_of_trainings_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert _parse(["--runs", str(tmp_path), "--runs", str(tmp_path)]).runs == [str(tmp_path)] * 2
    with pytest.raises(SystemExit):
        _parse(["--runs", str(tmp_path / "none")])
    assert "none: there is no such folder" in capsys.readouterr().err
