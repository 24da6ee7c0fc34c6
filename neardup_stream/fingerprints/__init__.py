"""Values computed from one page alone."""
