"""Hash functions that return the same values in every process and version."""
