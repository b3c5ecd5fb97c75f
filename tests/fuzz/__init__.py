"""Damaged inputs for everything that reads: whatever a file, a model or a server says gets one message of ours."""
