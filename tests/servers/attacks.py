"""Queries meant to do harm, tried on a server one after the other, and what must be true after each."""

from __future__ import annotations

import time
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.servers.conftest import CANARY
from tests.servers.running import PASSWORD, MariaDb, Postgres, Server

from sensecheck.stores import Answer, Limits, Outcome, Request, ServerDatabases

CASES = tomllib.loads((Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8"))
QUESTION = "SELECT id, name FROM item ORDER BY id"
ANSWER = [(1, "apple"), (2, "pear"), (3, None)]


class Ground:
    """A server with something to steal and something to spoil."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port
        self.secret = server.folder / "secret.txt"
        self.secret.write_text(CANARY)
        self.secret.chmod(0o644)
        self.out = server.folder / "out"
        self.out.mkdir(exist_ok=True)
        self.out.chmod(0o777)

    def text_of(self, case: dict[str, Any]) -> str:
        text = case["query"] if "query" in case else case["head"] + case["unit"] * case["times"] + case["tail"]
        for name, value in {"SECRET": self.secret, "OUT": self.out, "PORT": self.port, "PASSWORD": PASSWORD}.items():
            text = text.replace(f"@{name}@", str(value))
        return str(text)

    def state(self) -> list[Any]:
        """All that a query might have changed, as the server itself tells."""
        files = sorted(path.name for path in self.out.iterdir())
        if isinstance(self.server, Postgres):
            asked = (
                "SELECT * FROM item ORDER BY 1",
                "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
                "SELECT last_value, is_called FROM counter",
                "SELECT oid FROM pg_largeobject_metadata",
                "SELECT rolname, rolsuper, rolpassword FROM pg_authid ORDER BY 1",
                "SELECT relname, relacl::text FROM pg_class WHERE relname IN ('item', 'sale') ORDER BY 1",
                "SELECT * FROM pg_db_role_setting",
                "SELECT name, setting FROM pg_file_settings ORDER BY seqno",
                "SELECT extname FROM pg_extension ORDER BY 1",
            )
        else:
            asked = (
                "SELECT * FROM item ORDER BY 1",
                "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
                "SELECT next_not_cached_value FROM counter",
                "SELECT user, host, authentication_string FROM mysql.user ORDER BY 1, 2",
                "SELECT grantee, privilege_type FROM information_schema.user_privileges ORDER BY 1, 2",
                "SELECT @@GLOBAL.max_statement_time, @@GLOBAL.read_only, @@GLOBAL.general_log",
                "SELECT plugin_name FROM information_schema.plugins ORDER BY 1",
            )
        return [files, *self.server.all_rows(*asked, database="shop")]

    def queries_at_work(self) -> int:
        """Queries of ours that still run on the server."""
        text = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'sensecheck'"
        if isinstance(self.server, MariaDb):
            text = (
                "SELECT count(*) FROM information_schema.processlist "
                "WHERE db = 'shop' AND command <> 'Sleep' AND id <> CONNECTION_ID()"
            )
        return int(self.server.execute(text)[0][0])


def end_of(outcome: Outcome) -> str:
    return "answered" if isinstance(outcome, Answer) else str(outcome.reason)


def tried(ground: Ground, store: ServerDatabases, case: dict[str, Any], limits: Limits) -> tuple[str, float, list[str]]:
    """How a query ended, after how long, and what is wrong with that."""
    text = ground.text_of(case)
    before = ground.state()
    started = time.monotonic()
    outcome = store.execute(Request(text, "shop"))
    seconds = time.monotonic() - started
    again = store.execute(Request(QUESTION, "shop"))
    end, faults = end_of(outcome), []
    if end not in case.get("ends", ["refused"]):
        faults.append(f"ended as {end}: {str(outcome)[:200]}")
    if seconds > limits.seconds + 1:
        faults.append(f"took {seconds:.1f} s")
    if ground.state() != before:
        faults.append("something was written")
    if CANARY in str(outcome):
        faults.append("what nobody may read was read")
    if not isinstance(again, Answer) or again.rows != ANSWER:
        faults.append(f"the next query: {str(again)[:100]}")
    return end, seconds, faults


def suite(ground: Ground, cases: list[dict[str, Any]], user: str, limits: Limits) -> list[str]:
    """What is wrong after all cases; the table of what happened is printed."""
    wrong: list[str] = []
    with ExitStack() as closing:
        stores: dict[float, ServerDatabases] = {}
        for case in cases:
            # A busy machine may need longer even to refuse: then it is asked again with more time, not forgiven.
            for seconds in (limits.seconds, 4 * limits.seconds, 16 * limits.seconds):
                some = replace(limits, seconds=seconds)
                if seconds not in stores:
                    store = ServerDatabases(ground.server.address(user), limits=some, workers=1)
                    stores[seconds] = closing.enter_context(store)
                    assert store.file_print("shop")  # as in every run: what counts rows has started
                    assert isinstance(store.execute(Request(QUESTION, "shop")), Answer)
                end, spent, faults = tried(ground, stores[seconds], case, some)
                if not faults or not all(fault.startswith(("took", "ended as timeout")) for fault in faults):
                    break
            shown = " ".join(ground.text_of(case).split())[:70]
            print(f"{shown:70} {end:13} {spent:5.2f} s  {'; '.join(faults) or 'ok'}")
            wrong += [f"{shown}: {fault}" for fault in faults]
        deadline = time.monotonic() + 15
        while ground.queries_at_work() and time.monotonic() < deadline:
            time.sleep(0.1)
        if ground.queries_at_work():
            wrong.append("queries still run on the server")
    return wrong
