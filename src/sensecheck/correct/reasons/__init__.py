"""Why a prediction is wrong: one reason for each, from its failure, from the two answers, and from the two queries.

A reason that a repair proves (the prediction with one clause of the gold's gives the gold's answer) goes before one
that is told from what differs.
"""
