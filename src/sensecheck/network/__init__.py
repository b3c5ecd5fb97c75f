"""Talking to servers: addresses without their secrets, and one HTTP exchange that ends in time."""
