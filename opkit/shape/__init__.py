"""What rule expressions mean: evaluation over ints and SymInts, named helpers, printing as Python."""
