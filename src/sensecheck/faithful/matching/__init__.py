"""Holding what a query says against what a sentence says."""
