"""Rewriting English sentences by rule: what follows from them, and what contradicts them."""
