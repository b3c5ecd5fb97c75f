"""Sums, slices, intervals and paired tests. Knows no question."""
