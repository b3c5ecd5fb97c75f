"""What a judge is asked about predicted queries: the prompt, and what it shows."""
