"""Text to (model, diagnostics). A user's mistake never raises out of this package."""
