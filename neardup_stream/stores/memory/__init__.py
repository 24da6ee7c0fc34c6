"""The same stores in the memory of one process: for runs over files, and for tests."""
