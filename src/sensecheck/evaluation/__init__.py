"""One file that says what to evaluate: systems × questions × data (`sensecheck run evaluation.toml`)."""

from sensecheck.evaluation.file import Evaluation, EvaluationError, read
from sensecheck.evaluation.running import Done, run

__all__ = ["Done", "Evaluation", "EvaluationError", "read", "run"]
