"""Where the shards of a run are measured at once: processes of this machine, or a cluster."""
