"""Password: who may read the site, where a file says so."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_FILE_LIMIT = 64 * 1024  # bytes
_MIN_CHARS = 12


class PasswordError(ValueError):
    """The file of passwords is refused."""


class Passwords:
    """Who may read the site.

    Args:
        readers: names and passwords.
    """

    def __init__(self, readers: Iterable[tuple[str, str]]) -> None:
        # Digests of one length, under a key of this process: neither the time that a comparison
        # takes nor a dump of memory tells a password.
        self._key = secrets.token_bytes(32)
        self._known = [self._digest(f"{name}:{password}") for name, password in readers]

    @classmethod
    def read(cls, path: Path) -> Passwords:
        """Read `name:password` lines.

        Raises:
            PasswordError: the file cannot be read, is open to others, or holds anything else.
        """
        try:
            # What was checked is what is read: the same open file.
            with path.open("rb") as file:
                if os.name == "posix":
                    _check_owner(path, os.fstat(file.fileno()))
                content = file.read(_FILE_LIMIT + 1)
        except OSError as error:
            raise PasswordError(
                f"the password file {path} cannot be read: {error.strerror}"
            ) from None
        if len(content) > _FILE_LIMIT:
            raise PasswordError(
                f"{path} is longer than {_FILE_LIMIT // 1024} KiB; is it the password file?"
            )
        return cls(_readers(path, content).items())

    def admit(self, authorization: str) -> bool:
        """Whether an `Authorization` header names a reader with their password."""
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            given = base64.b64decode(credentials.strip(), validate=True).decode()
        except (binascii.Error, ValueError):
            return False
        digest = self._digest(given)
        # Every one is compared, so that the time does not tell which line was nearly right.
        return sum(hmac.compare_digest(digest, known) for known in self._known) > 0

    def _digest(self, reader: str) -> bytes:
        # A letter with an accent has two spellings in Unicode; browsers send the composed one.
        composed = unicodedata.normalize("NFC", reader)
        return hashlib.blake2b(composed.encode(errors="surrogatepass"), key=self._key).digest()


def _check_owner(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PasswordError(f"{path} is no file")
    if status.st_uid not in (os.getuid(), 0):
        raise PasswordError(
            f"the password file {path} belongs to another user, who can change it. Copy it, and"
            " name your copy."
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PasswordError(
            f"the password file {path} can be read or changed by others on this machine. Mend it"
            f" with: chmod 600 {path}"
        )


def _readers(path: Path, content: bytes) -> dict[str, str]:
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise PasswordError(
            f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8 text."
        ) from None
    readers: dict[str, str] = {}
    # A message never quotes a line: it may be a password alone.
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, colon, password = line.partition(":")
        if not colon or not name or not line.isprintable():
            raise PasswordError(f"{path}:{number}: write name:password, in one line")
        if len(password) < _MIN_CHARS:
            raise PasswordError(
                f"{path}:{number}: the password of {name!r} has {len(password)} characters; give"
                f" it {_MIN_CHARS} or more"
            )
        if name in readers:
            raise PasswordError(f"{path}:{number}: {name!r} has a password in a line above")
        readers[name] = password
    if not readers:
        raise PasswordError(f"{path} is empty. Write name:password into it, in one line.")
    return readers
