"""Diverse: does a set of responses cover the different good answers?"""

from sensecheck.diverse.evaluation import QUESTION, alignments, evaluate

__all__ = ["QUESTION", "alignments", "evaluate"]
