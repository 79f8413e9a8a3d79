"""Questions asked of an installed package's operators: do the rules agree with it, can each enter a graph."""
