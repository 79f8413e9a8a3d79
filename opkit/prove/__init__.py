"""Cases to stages to evidence to a verdict, one module per stage."""
