"""What the field writes, and how it is read: one registry (`registry.py`), a module for each part of the field."""
