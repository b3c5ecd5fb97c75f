"""A run: where measurements, texts, figures and their signature are kept."""
