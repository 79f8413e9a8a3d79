"""One module per output format; knows nothing about how results arose."""
