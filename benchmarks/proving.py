"""How far the search for databases that tell queries apart reaches, and whether it ever tells equal ones apart.

    python -m benchmarks proving               all pairs of ../shared/data/sql, and rewritten queries
    python -m benchmarks proving --pairs 150   a sample of them
    python -m benchmarks proving --sheet FILE  also 60 separations for readers, as JSON lines
    python -m benchmarks proving --suites      also suites of five systems' finds, tried on the sixth

Times are processor seconds of the worker processes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot import exp, parse_one

from benchmarks.golden import SHARED
from sensecheck.correct.proving.judging import is_vacuous
from sensecheck.correct.proving.suites import told_apart, write_suite
from sensecheck.correct.proving.telling import BUDGET, Counterexample, Pair, Prover, Telling
from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.stores import Answer, Databases, Request

DATA = SHARED / "data" / "sql"


class Agreement(NamedTuple):
    """Two queries that give the same answer on a database, and how many records have them."""

    database: str
    gold: str
    prediction: str
    records: int
    vacuous: str
    """`empty`: no rows on either side; `nothing`: 0 or NULL alone; or ""."""
    models: frozenset[str]
    """The systems that predict it."""


class Count(NamedTuple):
    """Agreements, counted one way."""

    pairs: list[Agreement]
    """Unique ones that are not the same text."""
    same: list[Agreement]
    """Unique ones that are."""
    records: int


def row(what: str, value: str, target: str = "", ok: bool | None = None) -> None:
    print(f"{what:62} {value:>20}   {target:20} {'' if ok is None else 'ok' if ok else 'MISSED'}", flush=True)


# ---- pairs that agree


def as_text(query: str) -> str:
    """What two spellings of one text have in common."""
    return re.sub(r"\s*([(),=<>!]+)\s*", r"\1", " ".join(query.lower().replace(";", " ").split()))


def as_trial(query: str) -> str:
    """The same as the trial had it: spaces about = and < count, and <> is !=."""
    return re.sub(r"\s*([(),])\s*", r"\1", " ".join(query.strip().rstrip("; ").lower().replace("<>", "!=").split()))


def agreements(store: Databases) -> tuple[Count, Count]:
    """The agreements as `correct` counts them, where rows that tie may change places, and as the trial did, where they
    may not."""
    with gzip.open(DATA / "predictions.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    plans = {gold: plan_gold(gold) for gold in {record["gold"] for record in records}}
    asked: dict[Request, None] = {}
    for record in records:
        record["file"] = str(store.files(record["db_id"])[0])
        for text in (record["gold"], record["pred"], plans[record["gold"]].keyed):
            if text:
                asked[Request(text, record["file"])] = None
    outcomes = dict(zip(asked, store.execute_many(asked), strict=True))
    agreeing: list[Agreement] = []
    decided: list[Agreement] = []
    for record in records:
        file, plan = record["file"], plans[record["gold"]]
        gold, predicted = outcomes[Request(record["gold"], file)], outcomes[Request(record["pred"], file)]
        if not isinstance(gold, Answer) or not isinstance(predicted, Answer):
            continue
        keyed = outcomes.get(Request(plan.keyed, file)) if plan.keyed else None
        verdict = compare(gold, predicted, plan, keyed if isinstance(keyed, Answer) else None)
        if not verdict.equal:
            continue
        kind = "empty" if not gold.rows and not predicted.rows else ""
        if not kind and is_vacuous(gold) and is_vacuous(predicted):
            kind = "nothing"
        found = Agreement(file, record["gold"], record["pred"], 1, kind, frozenset({record["model"]}))
        agreeing.append(found)
        if not verdict.tie:
            decided.append(found)
    return counted(agreeing, as_text), counted(decided, as_trial)


def counted(agreeing: list[Agreement], spelt: Callable[[str], str]) -> Count:
    found: dict[tuple[str, str, str], Agreement] = {}
    for pair in agreeing:
        key = (pair.database, spelt(pair.gold), spelt(pair.prediction))
        before = found.get(key)
        if before is not None:
            pair = before._replace(records=before.records + 1, models=before.models | pair.models)
        found[key] = pair
    same = [pair for key, pair in found.items() if key[1] == key[2]]
    return Count([pair for key, pair in found.items() if key[1] != key[2]], same, len(agreeing))


# ---- pairs that are equal, by rewriting


def rewritings(gold: str, tables: dict[str, dict[str, tuple[str, bool]]]) -> Iterator[tuple[str, str]]:
    """Other queries with the same answer on every database, each with the name of what was done."""
    try:
        tree = parse_one(gold, dialect="sqlite")
    except ValueError:
        return
    for name, rewrite in REWRITES.items():
        copy = tree.copy()
        result = rewrite(copy, tables)
        if result is not None:
            text = result.sql(dialect="sqlite")
            if text != tree.sql(dialect="sqlite"):
                yield name, text


def _between(tree: Any, _: Any) -> Any:
    def change(node: Any) -> Any:
        if isinstance(node, exp.Between):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            return exp.paren(exp.and_(low, high))
        return node

    return tree.transform(change)


def _aliases(tree: Any, _: Any) -> Any:
    """Other names for tables. Queries with two tables of one alias, or columns of the query itself, keep theirs."""
    tables = list(tree.find_all(exp.Table))
    names = {table.alias.lower() for table in tables if table.alias}
    if not names:
        return None
    for table in tables:
        if table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(f"renamed_{table.alias.lower()}")))
    for column in tree.find_all(exp.Column):
        if column.table.lower() in names:
            column.set("table", exp.to_identifier(f"renamed_{column.table.lower()}"))
    return tree


_TURNED = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ}


def _sides(tree: Any, _: Any) -> Any:
    for node in list(tree.find_all(*_TURNED)):
        left, right = node.this, node.expression
        if isinstance(left, exp.Column) and not isinstance(right, exp.Subquery):
            node.replace(_TURNED[type(node)](this=right.copy(), expression=left.copy()))
    return tree


def _conditions(tree: Any, _: Any) -> Any:
    for node in list(tree.find_all(exp.And, exp.Or)):
        left, right = node.this, node.expression
        node.set("this", exp.paren(right.copy()))
        node.set("expression", exp.paren(left.copy()))
    return tree


def _listed(tree: Any, _: Any) -> Any:
    def change(node: Any) -> Any:
        if isinstance(node, exp.In) and node.expressions and not isinstance(node.parent, exp.Not):
            return exp.paren(exp.or_(*[exp.EQ(this=node.this.copy(), expression=e.copy()) for e in node.expressions]))
        return node

    return tree.transform(change)


def _counted(tree: Any, tables: Any) -> Any:
    """COUNT(*) becomes COUNT of a column that holds no NULL, where one table is read."""
    selects = list(tree.find_all(exp.Select))
    if len(selects) != 1 or len(list(tree.find_all(exp.Table))) != 1:
        return None
    known = tables.get(next(tree.find_all(exp.Table)).name.lower(), {})
    key = next((name for name, (_, solid) in known.items() if solid), None)
    if key is None:
        return None
    for node in list(tree.find_all(exp.Count)):
        if isinstance(node.this, exp.Star):
            node.set("this", exp.column(key, quoted=True))
    return tree


def _counted_ones(tree: Any, _: Any) -> Any:
    for node in list(tree.find_all(exp.Count)):
        if isinstance(node.this, exp.Star):
            node.set("this", exp.Literal.number(1))
    return tree


def _commas(tree: Any, _: Any) -> Any:
    """Inner joins become a list of tables and conditions."""
    for select in tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if any(join.side or join.kind not in ("", "INNER") or not join.args.get("on") for join in joins):
            return None
        for join in joins:
            select.where(join.args["on"].copy(), copy=False)
            join.set("on", None)
            join.set("kind", "CROSS")
    return tree


def _join_order(tree: Any, _: Any) -> Any:
    """Of two joined tables the second comes first."""
    for select in tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        start = select.args.get("from_") or select.args.get("from")
        whole = any(isinstance(item, exp.Star) for item in select.expressions)
        if whole or len(joins) != 1 or joins[0].side or not joins[0].args.get("on"):
            continue
        first, second = start.this.copy(), joins[0].this.copy()
        start.set("this", second)
        joins[0].set("this", first)
    return tree


def _exists(tree: Any, tables: Any) -> Any:
    """x IN (SELECT y …) becomes EXISTS, where x and y are columns of one type and neither name is in doubt."""
    for node in list(tree.find_all(exp.In)):
        inner = node.args.get("query")
        select = inner.unnest() if inner is not None else None
        if isinstance(node.parent, exp.Not) or not isinstance(select, exp.Select):
            continue
        if any(select.args.get(part) for part in ("group", "limit", "having", "distinct", "joins", "order")):
            continue
        outer = node.find_ancestor(exp.Select)
        sources = list(outer.find_all(exp.Table)) if outer is not None else []
        own = select.find(exp.Table)
        column, shown = node.this, select.expressions[0]
        if not isinstance(column, exp.Column) or not isinstance(shown, exp.Column) or own is None:
            continue
        mine = [table for table in sources if table.find_ancestor(exp.Select) is outer]
        if len(mine) != 1 or mine[0].name.lower() == own.name.lower() or own.alias or mine[0].alias:
            continue
        types = [tables.get(t.name.lower(), {}).get(c.name.lower()) for t, c in ((mine[0], column), (own, shown))]
        if types[0] is None or types[1] is None or types[0][0] != types[1][0]:
            continue
        condition = exp.EQ(
            this=exp.column(shown.name, table=own.name), expression=exp.column(column.name, table=mine[0].name)
        )
        changed = exp.select("1").from_(own.copy()).where(condition)
        if select.args.get("where"):
            changed = changed.where(select.args["where"].this.copy())
        node.replace(exp.Exists(this=changed))
    return tree


def _grouped(tree: Any, _: Any) -> Any:
    """DISTINCT becomes GROUP BY."""
    if not isinstance(tree, exp.Select) or not tree.args.get("distinct"):
        return None
    if tree.args.get("group") or tree.find(exp.AggFunc) or tree.args.get("order") or tree.args.get("limit"):
        return None
    if not all(isinstance(item, exp.Column) and not item.is_star for item in tree.expressions):
        return None
    tree.set("distinct", None)
    return tree.group_by(*[item.copy() for item in tree.expressions])


def _wrapped(tree: Any, _: Any) -> Any:
    if tree.args.get("order") or not isinstance(tree, exp.Select):
        return None
    if len({item.alias_or_name.lower() for item in tree.expressions}) < len(tree.expressions):
        return None
    return exp.select("*").from_(tree.subquery("whole"))


def _named(tree: Any, _: Any) -> Any:
    if tree.args.get("order") or tree.args.get("with_"):
        return None
    return exp.select("*").from_("whole").with_("whole", as_=tree)


def _arms(tree: Any, _: Any) -> Any:
    if not isinstance(tree, exp.Union | exp.Intersect) or not tree.args.get("distinct") or tree.args.get("order"):
        return None
    if isinstance(tree.left, exp.SetOperation) or isinstance(tree.right, exp.SetOperation):
        return None
    left, right = tree.left.copy(), tree.right.copy()
    tree.set("this", right)
    tree.set("expression", left)
    return tree


def _offset(tree: Any, _: Any) -> Any:
    if not tree.args.get("limit") or tree.args.get("offset"):
        return None
    return tree.offset(0)


def _negated(tree: Any, tables: Any) -> Any:
    """x != c becomes NOT x = c: NULL is neither."""
    for node in list(tree.find_all(exp.NEQ)):
        node.replace(exp.not_(exp.paren(exp.EQ(this=node.this.copy(), expression=node.expression.copy()))))
    return tree


REWRITES = {
    "BETWEEN as two comparisons": _between, "other aliases": _aliases, "sides turned": _sides,
    "conditions in another order": _conditions, "IN as OR": _listed, "COUNT of a key": _counted,
    "COUNT(1)": _counted_ones, "joins as a list": _commas, "joins in another order": _join_order,
    "IN as EXISTS": _exists, "DISTINCT as GROUP BY": _grouped, "inside SELECT *": _wrapped, "as WITH": _named,
    "arms swapped": _arms, "OFFSET 0": _offset, "NOT =": _negated,
}  # fmt: skip


def schema_of(file: str) -> dict[str, dict[str, tuple[str, bool]]]:
    """Tables → columns → their type, and whether they hold no NULL (keys and NOT NULL)."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        found[name.lower()] = {c[1].lower(): (c[2].upper(), bool(c[3]) or c[5] == 1) for c in columns}
    connection.close()
    return found


def equal_pairs(pairs: list[Agreement], most: int) -> tuple[list[Pair], Counter[str]]:
    """Queries and their rewritings, of every kind as many as there are up to a share."""
    chance = random.Random(11)
    texts = list(dict.fromkeys((p.database, text) for p in pairs for text in (p.gold, p.prediction)))
    chance.shuffle(texts)
    schemas = {file: schema_of(file) for file in {file for file, _ in texts}}
    by_kind: dict[str, list[Pair]] = {name: [] for name in REWRITES}
    for file, text in texts:
        for kind, other in rewritings(text, schemas[file]):
            if len(by_kind[kind]) < -(-most // 10):
                by_kind[kind].append(Pair(text, other, file))
    chosen = [(kind, pair) for kind, made in by_kind.items() for pair in made]
    chance.shuffle(chosen)
    chosen = chosen[:most]
    return [pair for _, pair in chosen], Counter(kind for kind, _ in chosen)


# ---- suites


def suites(told: list[tuple[Agreement, Telling]]) -> None:
    """A suite of each five systems' finds, tried on the pairs of the sixth that are proven different."""
    caught_in_all = proven_in_all = new_in_all = caught_new_in_all = 0
    for left_out in sorted({model for pair, _ in told for model in pair.models}):
        finds: dict[str, dict[Pair, Counterexample]] = {}
        for pair, telling in told:
            if pair.models - {left_out} and telling.counterexample is not None:
                asked = Pair(pair.gold, pair.prediction, pair.database)
                finds.setdefault(Path(pair.database).parent.name, {})[asked] = telling.counterexample
        theirs = [pair for pair, _ in told if left_out in pair.models]
        with tempfile.TemporaryDirectory() as folder:
            given = {name: [Path(next(iter(pairs)).database)] for name, pairs in finds.items()}
            made = write_suite(Path(folder) / "suite", given, finds)
            caught = {
                pair for pair in theirs if _differs(pair, Path(folder) / "suite" / Path(pair.database).parent.name)
            }
        new = [pair for pair in theirs if pair.models == {left_out}]
        caught_new = sum(pair in caught for pair in new)
        row(
            f"suite of the others ({made.databases} databases) on {left_out}", share(len(caught), len(theirs)),
            f"{caught_new} of {len(new)} new",
        )  # fmt: skip
        caught_in_all += len(caught)
        proven_in_all += len(theirs)
        new_in_all += len(new)
        caught_new_in_all += caught_new
    enough = caught_in_all >= 0.8 * proven_in_all
    row("suites of five on the sixth, in all", share(caught_in_all, proven_in_all), ">= 80 %", enough)
    row("   pairs that none of the five has", share(caught_new_in_all, new_in_all))


def equal_on_a_suite(told: list[tuple[Agreement, Telling]], equal: list[Pair]) -> None:
    """Queries that are equal are so on every database of a suite, whatever it was made for."""
    finds: dict[str, dict[Pair, Counterexample]] = {}
    for pair, telling in told:
        if telling.counterexample is not None:
            asked = Pair(pair.gold, pair.prediction, pair.database)
            finds.setdefault(Path(pair.database).parent.name, {})[asked] = telling.counterexample
    counted = apart = 0
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "suite"
        write_suite(suite, {name: [Path(next(iter(pairs)).database)] for name, pairs in finds.items()}, finds)
        for name in finds:
            pairs = [pair for pair in equal if Path(pair.database).parent.name == name]
            counted += len(pairs)
            if pairs:
                apart += len(set().union(*told_apart(pairs, sorted((suite / name).glob("*.sqlite")))))
    row("equal pairs told apart by a suite of all finds", share(apart, counted), "0", not apart)


def _differs(pair: Agreement, home: Path) -> bool:
    """Whether some database of a suite tells the pair apart."""
    files = sorted(home.glob("*.sqlite")) if home.is_dir() else []
    return bool(files) and any(told_apart([Pair(pair.gold, pair.prediction, pair.database)], files))


# ---- the table


def searched(pairs: list[Pair], budget: int, workers: int) -> tuple[list[Telling], float]:
    started = time.perf_counter()
    with Prover(budget=budget, workers=workers) as prover:
        results = dict(prover.run(pairs))
    return [results[number] for number in range(len(pairs))], time.perf_counter() - started


def replays(pair: Agreement, telling: Telling) -> bool:
    """Whether the script of a find, loaded into a new database by SQLite itself, gives what it says."""
    assert telling.counterexample is not None
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(telling.counterexample.script())
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        gold = connection.execute(pair.gold).fetchall()
        predicted = connection.execute(pair.prediction).fetchall()
    except sqlite3.Error as error:
        print(f"   {error}: {pair.gold}")
        return False
    finally:
        connection.close()
    found = telling.counterexample
    return not broken and gold == found.gold.rows and predicted == found.prediction.rows


def share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=0, help="a sample of so many pairs")
    parser.add_argument("--equal", type=int, default=400, help="rewritten queries")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--sheet-seed", type=int, default=60, help="another one draws other separations")
    parser.add_argument("--suites", action="store_true")
    options = parser.parse_args(argv)
    if not DATA.is_dir():
        print("left out: no ../shared/data/sql beside the repository")
        return
    with Databases(DATA / "databases") as store:
        assert isinstance(store, Databases)
        ours, trial = agreements(store)
    for name, count in (("as correct counts them", ours), ("as the trial counted them", trial)):
        print(
            f"{count.records:,} records agree {name}: {len(count.pairs) + len(count.same):,} unique pairs, "
            f"{len(count.same):,} the same as text, {len(count.pairs):,} searched"
        )
    pairs = ours.pairs
    if options.pairs:
        pairs = random.Random(5).sample(pairs, options.pairs)
        trial = trial._replace(pairs=[pair for pair in trial.pairs if asked_of(pair) in set(map(asked_of, pairs))])
    pairs = sorted(pairs, key=lambda pair: pair.database)

    if options.equal:
        equal, kinds = equal_pairs(ours.pairs, options.equal)
        results, _ = searched(equal, options.budget, options.workers)
        status = Counter(telling.status for telling in results)
        false = [(pair, telling) for pair, telling in zip(equal, results, strict=True) if telling.counterexample]
        counted = status["told apart"] + status["not told apart"]
        row("equal pairs told apart", share(len(false), counted), "0 of 300 or more", not false and counted >= 300)
        row(
            "   not counted",
            ", ".join(f"{n} {s}" for s, n in status.items() if s not in ("told apart", "not told apart")) or "none",
        )
        row("   kinds of rewriting", str(len(kinds)))
        for pair, telling in false[:5]:
            print(f"   {telling}\n     {pair.gold}\n     {pair.prediction}")

    asked = list(dict.fromkeys(asked_of(pair) for pair in pairs))
    more = list(dict.fromkeys(asked_of(pair) for pair in trial.pairs if asked_of(pair) not in set(asked)))
    every, wall = searched(asked + more, options.budget, options.workers)
    results = every[: len(asked)]
    outcome = dict(zip(asked + more, every, strict=True))
    told = [(pair, telling) for pair, telling in zip(pairs, results, strict=True) if telling.counterexample]
    hard = [(pair, telling) for pair, telling in told if telling.counterexample and telling.counterexample.hard]
    row("pairs told apart", share(len(told), len(pairs)))
    row("   hard: not by repetition alone", share(len(hard), len(pairs)))
    row("   records of these", share(sum(pair.records for pair, _ in hard), sum(pair.records for pair in pairs)))
    for kind in ("empty", "nothing"):
        of_kind = [pair for pair in pairs if pair.vacuous == kind]
        row(f"   vacuous ({kind})", share(sum(pair.vacuous == kind for pair, _ in told), len(of_kind)))
    row("   vacuous", share(sum(bool(pair.vacuous) for pair, _ in told), sum(bool(pair.vacuous) for pair in pairs)))
    as_the_trial_counted(trial, outcome, whole=not options.pairs)
    for name, count in Counter(t.counterexample.difference for _, t in told if t.counterexample).most_common():
        row(f"   {name}", str(count))
    marks = Counter(_kind_of(mark) for _, t in hard if t.counterexample for mark in t.counterexample.marks)
    for name, count in marks.most_common():
        row(f"   hard, with a mark: {name}", str(count))
    row("   hard, without a mark", str(sum(not t.counterexample.marks for _, t in hard if t.counterexample)))
    seconds = sorted(telling.seconds for _, telling in told)
    if seconds:
        late = seconds[int(0.95 * len(seconds))]
        row("time of a find, median", f"{1000 * seconds[len(seconds) // 2]:.0f} ms")
        row("time of a find, 95 of 100", f"{1000 * late:.0f} ms", "<= 100 ms", late <= 0.1)
    whole = sum(telling.seconds for telling in every)
    tried = sum(telling.databases for telling in every)
    row(
        f"{len(every):,} pairs, {options.budget} databases each",
        f"{whole:.0f} s cpu, {wall:.0f} s",
        "<= 300 s of two cores",
        whole / 2 <= 300 * len(every) / 1533,
    )
    row("   databases a second", f"{tried / max(whole, 1e-9):,.0f}")
    rows = [sum(len(table.rows) for table in t.counterexample.tables.values()) for _, t in told if t.counterexample]
    row("   rows of a find, median", str(sorted(rows)[len(rows) // 2] if rows else 0))
    again = sum(replays(pair, telling) for pair, telling in told)
    row("finds that replay from their script", share(again, len(told)), "all", again == len(told))
    reasons = Counter(re.sub(r"\d[\d,.]*", "N", t.reason)[:60] for t in results if t.status == "left out")
    row("left out", str(sum(reasons.values())))
    for reason, count in reasons.most_common(5):
        row(f"   {reason}", str(count))
    if options.suites:
        suites(told)
        if options.equal:
            equal_on_a_suite(told, equal)
    if options.sheet:
        write_sheet(options.sheet, told, options.sheet_seed)


def as_the_trial_counted(trial: Count, outcome: dict[Pair, Telling], *, whole: bool) -> None:
    """The trial took pairs of the same text among the vacuous ones, which nothing can tell apart."""
    told = [pair for pair in trial.pairs if outcome[asked_of(pair)].counterexample is not None]
    hard = [pair for pair in told if (found := outcome[asked_of(pair)].counterexample) is not None and found.hard]
    row("as the trial counted: told apart", share(len(told), len(trial.pairs)))
    many = len(trial.pairs)
    row("   hard", share(len(hard), many), f">= {170 * many / 1533:.0f}", len(hard) >= 170 * many / 1533)
    vacuous = sum(bool(pair.vacuous) for pair in told)
    same = sum(bool(pair.vacuous) for pair in trial.same) if whole else 0
    of_them = sum(bool(pair.vacuous) for pair in trial.pairs) + same
    target = 93 / 211 * of_them
    row(f"   vacuous, {same} of them the same text", share(vacuous, of_them), f">= {target:.0f}", vacuous >= target)
    for kind in ("empty", "nothing"):
        of_kind = [pair for pair in (*trial.pairs, *(trial.same if whole else ())) if pair.vacuous == kind]
        row(f"      {kind}", share(sum(pair.vacuous == kind for pair in told), len(of_kind)))


def asked_of(pair: Agreement) -> Pair:
    return Pair(pair.gold, pair.prediction, pair.database, agreed=True)


def _kind_of(mark: str) -> str:
    if mark.startswith("constant"):
        return "constant absent from the data"
    return "two rows with one value" if mark.startswith("two rows") else "parent without child"


def write_sheet(path: Path, told: list[tuple[Agreement, Telling]], seed: int, most: int = 60) -> None:
    """Separations for readers: is the database one that could well occur?"""
    chosen = random.Random(seed).sample(told, min(most, len(told)))
    with path.open("w", encoding="utf-8") as out:
        for number, (pair, telling) in enumerate(chosen):
            found = telling.counterexample
            assert found is not None
            connection = sqlite3.connect(f"file:{pair.database}?mode=ro", uri=True)
            real = {name: _sample(connection, name) for name in found.tables}
            connection.close()
            line = {
                "number": number, "database": Path(pair.database).stem, "gold": pair.gold,
                "prediction": pair.prediction, "difference": found.difference, "marks": found.marks,
                "tables": {name: {"columns": t.columns, "rows": t.rows} for name, t in found.tables.items()},
                "gold_answer": found.gold.rows, "prediction_answer": found.prediction.rows, "real_rows": real,
            }  # fmt: skip
            out.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def _sample(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    quoted = '"' + name.replace('"', '""') + '"'
    count = connection.execute(f"SELECT COUNT(*) FROM {quoted}").fetchone()[0]
    cursor = connection.execute(f"SELECT * FROM {quoted} LIMIT 5")
    return {"rows_in_all": count, "columns": [column[0] for column in cursor.description], "rows": cursor.fetchall()}


if __name__ == "__main__":
    main()
