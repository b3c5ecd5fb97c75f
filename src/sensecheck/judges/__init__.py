"""Language models that judge examples beside the rules. A question says what is asked; all else is here."""
