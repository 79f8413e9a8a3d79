"""Model to live registrations: what `emit` writes, done in memory."""
