"""Compute fingerprints: values that depend on one page alone."""
