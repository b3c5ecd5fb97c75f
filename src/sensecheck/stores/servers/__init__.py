"""SQL databases on servers: how they are named, what may run on them, what their values are, and the store itself."""
