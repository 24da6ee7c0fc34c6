"""Frozen archives: a finished crawl in one read-only file with microsecond lookups."""
