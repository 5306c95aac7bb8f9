"""Who may read the site: the file of passwords, and the header."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from ui.password import PasswordError, Passwords

GOOD = "reader:twelve letters"


def write(path: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def basic(reader: str, scheme: str = "Basic") -> str:
    return f"{scheme} {base64.b64encode(reader.encode()).decode()}"


def test_a_reader_is_let_in_with_their_own_password_only(tmp_path: Path):
    content = f"{GOOD}\r\n\nélise:mot de passe : é\n"
    passwords = Passwords.read(write(tmp_path / "auth", content))
    for reader in (GOOD, "élise:mot de passe : é", "e\u0301lise:mot de passe : e\u0301"):
        assert passwords.admit(basic(reader))
        assert passwords.admit(basic(reader, "bASIC"))
    for reader in (
        "",
        ":",
        "reader",
        "reader:",
        "reader:twelve letter",
        "reader:twelve letters ",
        "Reader:twelve letters",
        "élise:twelve letters",
        "reader:twelve letters\n",
    ):
        assert not passwords.admit(basic(reader)), reader


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic cmVhZGVyOnR3ZWx2ZSBsZXR0ZXJz=x",
        "Basic /////w==",
        basic(GOOD, "Bearer"),
        basic(GOOD)[:-2],
        f"{basic(GOOD)[:10]}!{basic(GOOD)[10:]}",
        f" {basic(GOOD)}",
        "Basic é",
        GOOD,
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: str):
    assert not Passwords.read(write(tmp_path / "auth", GOOD)).admit(header)


def test_a_mark_at_the_beginning_of_the_file_is_no_part_of_the_name(tmp_path: Path):
    assert Passwords.read(write(tmp_path / "auth", f"\ufeff{GOOD}")).admit(basic(GOOD))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a password alone", ":1: write name:password"),
        (f"{GOOD}\n:a password alone", ":2: write name:password"),
        ("reader:twelve\x00letters", ":1: write name:password"),
        ("reader:elevenchars", ":1: the password of 'reader' has 11 characters"),
        (f"{GOOD}\n{GOOD}", ":2: 'reader' has a password in a line above"),
        (b"\xff\xfereader:twelve letters", "is not UTF-8 (byte 0)"),
        ("x" * 70_000, "longer than 64 KiB"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, content: str | bytes, told: str):
    path = write(tmp_path / "auth", content)
    with pytest.raises(PasswordError) as refused:
        Passwords.read(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "alone" not in str(refused.value)  # no line is quoted


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(PasswordError, match=f"{path}.*cannot be read"):
            Passwords.read(path)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o611])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int):
    path = write(tmp_path / "auth", GOOD, mode)
    with pytest.raises(PasswordError, match="chmod 600"):
        Passwords.read(path)
    path.chmod(0o400)
    assert Passwords.read(path).admit(basic(GOOD))
