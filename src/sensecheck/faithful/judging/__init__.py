"""What a judge is asked about pairs: the prompts, and which texts they show."""
