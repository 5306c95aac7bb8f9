"""python -m ui: what it refuses, and what is said next to the results."""

import pytest
from small_law import told as text_of

from pipelines.serving.limits import listen
from ui.__main__ import main
from ui.ask import ask_markup
from ui.frame import Collection, notice


def test_a_port_in_use_or_invalid_ends_with_2(capsys):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    assert f"at port {port}" in capsys.readouterr().err
    for wrong in ("-1", "65536"):
        assert main([f"--port={wrong}"]) == 2
        assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_other_machines_are_let_in_with_a_password_only(host, tmp_path, capsys):
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


def test_the_notice_names_invented_law_only_where_it_is():
    aldermere = Collection(1, ("Housing Code of Aldermere (invented)",))
    mixed = Collection(2, ("Code of X (invented)", "Code civil"))
    real = Collection(1, ("Code civil",))
    assert aldermere.is_aldermere
    assert not mixed.is_aldermere
    assert "Aldermere is an invented country" in notice(aldermere, "en")
    assert "marked as invented" in notice(mixed, "en")
    assert "invented" not in notice(real, "en")
    for collection in (aldermere, mixed, real, Collection(0, ())):
        assert "Information, not legal advice." in notice(collection, "en")


def test_what_was_read_is_shown():
    checks = {"code.md": "Read 2 articles of 1 law\n  Code <b>: numbers 1 to 2"}
    told = ask_markup(Collection(2, ("Code",), checks=checks), [], "de")
    assert "Was gelesen wurde" in told
    assert "Code &lt;b&gt;: numbers 1 to 2</li>" in told
    assert "Was gelesen wurde" not in ask_markup(Collection(2, ("Code",)), [], "de")


def test_what_is_searched_and_where_a_question_goes_is_stated():
    laws = tuple(f"Law {number} <b>" for number in range(12))
    told = ask_markup(Collection(1200, laws), ["bm25"], "en")
    assert "1,200 articles of 12 laws." in text_of(told)
    assert "Law 11 <b>" in text_of(told)
    assert "<dt>Same words</dt>" in told
    assert told.count("<dt>") == 1
    assert "<details>" in told
    assert "<details>" not in ask_markup(Collection(5, laws[:5]), [], "en")
    assert "1\u202f200 articles, 12 lois." in text_of(ask_markup(Collection(1200, laws), [], "fr"))
    one = Collection(1, ("A",))
    for language, kept in (("en", "not stored or shared"), ("fr", "ni enregistrée ni transmise")):
        here = ask_markup(one, [], language)
        sent = [
            ask_markup(one, [], language, sent_to=to)
            for to in ({"generator"}, {"engine"}, {"engine", "generator"})
        ]
        assert len({here, *sent}) == 4
        assert [kept in text_of(each) for each in (here, *sent)] == [True, False, False, False]
