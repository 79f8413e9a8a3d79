"""One check per module, each with a code and a page."""
