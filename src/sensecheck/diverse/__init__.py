"""Diverse: does a set of responses cover the different good answers?"""

from sensecheck.diverse.evaluation import alignments, evaluate
from sensecheck.diverse.question import QUESTION

__all__ = ["QUESTION", "alignments", "evaluate"]
