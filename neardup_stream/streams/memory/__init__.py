"""Use lists as source and sink, for tests."""
