"""What people say of a run's examples: drawn, shown, read back, compared with the verdicts."""
