"""The commands of the SPICE evaluation, under their own names: `run_subtype_lf` and `summarise_results`."""
