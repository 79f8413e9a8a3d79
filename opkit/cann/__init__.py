"""CANN's libraries, real or stood in for: the only package that knows whether the runtime is real."""
