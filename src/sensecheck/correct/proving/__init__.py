"""Databases that tell two queries apart.

Two queries that agree on one database need not ask the same thing. Here a small database is searched on which they
differ and that could well occur: its rows are the given ones or near to them, its keys hold, nothing ties. A find
proves that the queries differ; which of them is wrong is for the question to say. No find proves nothing.
"""
