"""Diverse: does a set of responses cover the different good answers?"""

from sensecheck.diverse.evaluate import QUESTION, alignments, evaluate

__all__ = ["QUESTION", "alignments", "evaluate"]
