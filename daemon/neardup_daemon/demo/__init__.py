"""The demo: a sample crawl, and the report on it."""
