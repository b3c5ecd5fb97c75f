"""Small graphs that tell two SPARQL queries apart: the search of `proving`, over triples in the place of tables."""
