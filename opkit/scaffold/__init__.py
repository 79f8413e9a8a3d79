"""A complete operator package from a name or a schema."""
