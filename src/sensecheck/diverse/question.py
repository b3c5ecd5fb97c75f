"""What `diverse` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from sensecheck.diverse import plots
from sensecheck.diverse.figures import statistics
from sensecheck.diverse.showing import example_page, verdict
from sensecheck.report.question import Question

QUESTION = Question(
    name="diverse",
    asks="Do the responses cover the different good answers?",
    statistics=statistics,
    headline=("mds", "mds_over_chance", "pds", "max_bleu", "max_score"),
    outcome="mds",
    given=("query",),
    plots=plots.plots,
    example_page=example_page,
    verdict=verdict,
)
