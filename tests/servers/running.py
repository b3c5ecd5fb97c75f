"""PostgreSQL and MariaDB servers of our own: in a temporary folder, on loopback, under a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "correct horse battery 7"
"""Of all roles. It has blanks, so that it shows where it is not quoted."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Server:
    """A server that can be killed and started again where it was."""

    name = ""
    scheme = ""
    end = signal.SIGKILL
    """How it goes down at once."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sensecheck-server-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self.folder.chmod(0o755)

    def address(self, user: str = "reader", rest: str = "/shop") -> str:
        """Without the password, which stands in the environment."""
        return f"{self.scheme}://{user}@127.0.0.1:{self.port}{rest}"

    def run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, cwd=self.folder, **self.user)
        assert done.returncode == 0, done.stderr.decode()[-2000:]

    def command(self) -> list[str]:
        raise NotImplementedError

    def connect(self, database: str = "") -> Any:
        """As somebody who may do everything, by the driver itself."""
        raise NotImplementedError

    def execute(self, *statements: str, database: str = "") -> list[Any]:
        """Statements of the test; the rows of the last."""
        return self.all_rows(*statements, database=database)[-1]

    def all_rows(self, *statements: str, database: str = "") -> list[list[Any]]:
        """The rows of each statement."""
        with closing(self.connect(database)) as connection, connection.cursor() as cursor:
            told = []
            for statement in statements:
                cursor.execute(statement)
                told.append(list(cursor.fetchall()) if cursor.description else [])
            return told

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        with log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, **self.user,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
                return
            except Exception:
                ended = self.process.poll() is not None
                assert not ended and time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.05)

    def kill(self) -> None:
        """At once, as if the machine went down."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(self.end)
            self.process.wait(30)
            self.process = None

    def remove(self) -> None:
        self.kill()
        time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres(Server):
    name = "postgresql"
    scheme = "postgresql"
    end = signal.SIGQUIT  # to the letter: without a farewell, and none of its processes stays behind

    def __init__(self) -> None:
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")) + [
            Path(path) for path in [shutil.which("postgres")] if path
        ]
        if not binaries:
            pytest.skip("no PostgreSQL server here (Debian's postgresql)")
        pytest.importorskip("psycopg", reason="no psycopg here (pip install 'sensecheck[postgresql]')")
        super().__init__()
        self.binary = binaries[0]
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self.run(
            str(self.binary.with_name("initdb")), "-D", str(self.folder / "data"), "-U", "owner", "-A",
            "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off", "max_connections": "40",
            "shared_buffers": "32MB", "temp_file_limit": "100MB",
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.binary), "-D", str(self.folder / "data"), "-p", str(self.port), *options]

    def connect(self, database: str = "") -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="owner", password=PASSWORD, dbname=database or "postgres",
            autocommit=True, connect_timeout=5,
        )  # fmt: skip

    def create(self, database: str) -> None:
        """A database that the role `reader` may read, and nothing else."""
        if not self.execute("SELECT 1 FROM pg_roles WHERE rolname = 'reader'"):
            self.execute(
                f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
                "ALTER ROLE reader SET default_transaction_read_only = on",
            )
        self.execute(f'CREATE DATABASE "{database}"')
        self.execute(
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
            f'REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC',
            "REVOKE EXECUTE ON FUNCTION lo_creat(int), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC",
            "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader",
            database=database,
        )


class MariaDb(Server):
    name = "mariadb"
    scheme = "mysql"

    def __init__(self) -> None:
        binary = shutil.which("mariadbd") or shutil.which("mysqld") or shutil.which("mariadbd", path="/usr/sbin")
        if binary is None:
            pytest.skip("no MariaDB server here (Debian's mariadb-server)")
        pytest.importorskip("pymysql", reason="no PyMySQL here (pip install 'sensecheck[mysql]')")
        super().__init__()
        self.binary = binary
        self.run(
            "mariadb-install-db", "--no-defaults", f"--datadir={self.folder / 'data'}", "--skip-test-db",
            "--auth-root-authentication-method=normal", "--lower-case-table-names=1",
        )  # fmt: skip
        script = self.folder / "owner.sql"
        script.write_text(
            f"CREATE USER owner@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO owner@'%' WITH GRANT OPTION;\n"
            f"CREATE USER reader@'%' IDENTIFIED BY '{PASSWORD}';\n"
        )
        script.chmod(0o644)
        self.first = True

    def command(self) -> list[str]:
        options = [f"--init-file={self.folder / 'owner.sql'}"] if self.first else []
        self.first = False
        return [
            self.binary, "--no-defaults", f"--datadir={self.folder / 'data'}", f"--port={self.port}",
            "--bind-address=127.0.0.1", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--secure-file-priv=",
            "--skip-name-resolve", "--lower-case-table-names=1", "--tmp-disk-table-size=100M", *options,
        ]  # fmt: skip

    def connect(self, database: str = "") -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="owner", password=PASSWORD, database=database or None,
            autocommit=True, connect_timeout=5,
        )  # fmt: skip

    def create(self, database: str) -> None:
        self.execute(f"CREATE DATABASE `{database}`", f"GRANT SELECT ON `{database}`.* TO reader@'%'")
