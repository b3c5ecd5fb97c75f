"""Comparing SQL by meaning."""

from __future__ import annotations

import pytest

from sensecheck.language.isomorphism import same_up_to_renaming
from sensecheck.language.sql_normal_form import sql_normal_form

SAME = [
    ("select count(*) from singer", "SELECT COUNT( * ) FROM Singer AS t;"),
    ("select a.x from t as a join u as b on a.i = b.i where b.y > 3 and a.z = 1",
     "SELECT q.x FROM u AS p JOIN t AS q ON p.i = q.i WHERE q.z = 1 AND 3 < p.y"),
    ("select a.x from t a join u b on a.i = b.i", "select a.x from t a, u b where b.i = a.i"),
    ("select x from t where x in (1, 2)", "select x from t where x in (2, 1)"),
    ("select x, count(*) as c from t group by x order by c desc",
     "select x, count(*) from t group by x order by count(*) desc"),
    ("select x from t union select x from u", "select x from u union select x from t"),
    ("select x from t where a = 'B'", 'select t.x from t where "B" = a'),
    ("select x from t where y >= 1.50", "select x from t where 1.5 <= y"),
    ("with c as (select x from t) select x from c", "with d as (select x from t) select d.x from d"),
]  # fmt: skip
DIFFERENT = [
    ("select x from t", "select x from u"),
    ("select x from t", "select y from t"),
    ("select x, y from t", "select y, x from t"),
    ("select x from t", "select distinct x from t"),
    ("select x from t order by x", "select x from t order by x desc"),
    ("select x from t except select x from u", "select x from u except select x from t"),
    ("select x from t where y > 3", "select x from t where y < 3"),
    ("select x from t where a = 'B'", "select x from t where a = 'b'"),
    ("select a.x from t a left join u b on a.i = b.i", "select a.x from t a join u b on a.i = b.i"),
    ("select x from t limit 1", "select x from t limit 2"),
    ("select max(x) from t", "select min(x) from t"),
]  # fmt: skip


def same(left: str, right: str) -> bool:
    a, b = sql_normal_form(left), sql_normal_form(right)
    assert a is not None
    assert b is not None
    return same_up_to_renaming(a, b)


@pytest.mark.parametrize(("left", "right"), SAME)
def test_same_meaning(left: str, right: str) -> None:
    assert same(left, right)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_other_meaning(left: str, right: str) -> None:
    assert not same(left, right)


@pytest.mark.parametrize("text", ["", "selec x from t", "select (((", "select 1; select 2", "nonsense \x00"])
def test_no_query(text: str) -> None:
    assert sql_normal_form(text) is None
