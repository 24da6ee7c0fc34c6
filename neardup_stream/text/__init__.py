"""Convert a page's bytes to the tokens of its fingerprint."""
