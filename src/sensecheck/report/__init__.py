"""What a user sees: the result, terminal tables, the HTML page."""
