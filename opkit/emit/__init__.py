"""Model to text, one module per product. Reads no YAML and imports no torch."""
