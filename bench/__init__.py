"""One benchmark per promise of speed. `python -m bench` runs them all."""
