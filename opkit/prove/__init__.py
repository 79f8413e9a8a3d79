"""Cases to stages to evidence to a verdict, one module per stage. Only the worker process imports torch."""
