"""Lists as source and sink, for tests."""
