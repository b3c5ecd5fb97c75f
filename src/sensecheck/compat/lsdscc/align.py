"""LSDSCC's aligners: called with the words of a hypothesis and a list of references, they return a number."""

from sensecheck.diverse.original import BleuAligner, NLTKBleuAligner, NLTKNistAligner

__all__ = ["BleuAligner", "NLTKBleuAligner", "NLTKNistAligner"]
