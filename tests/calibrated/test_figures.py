"""What figures are computed from."""

from __future__ import annotations

import numpy as np
import polars as pl

from sensecheck.calibrated import figures
from sensecheck.statistics.statistic import Statistic


def test_the_log_loss_of_marks_is_the_log_loss_of_shares_to_the_last_digit():
    rng = np.random.default_rng(4)
    near_the_ends = 10 ** -rng.uniform(0, 17, 2000)
    confidence = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, None, *near_the_ends, *(1 - near_the_ends)]
    correct = [True, False, None, True, False, None, True, False, *(rng.random(4000) < 0.5).tolist()]
    rows = pl.DataFrame({"confidence": confidence, "correct": correct}, strict=False)
    for figure in figures.statistics({}):
        for quicker in figure.derived_of_marks.values() if isinstance(figure, Statistic) else ():
            for name, expression in quicker.items():
                both = rows.select(figure.derived[name].alias("a"), expression.alias("b"))
                assert both["a"].eq_missing(both["b"]).all() and both["a"].null_count() == 3, name
