"""The same stores in memory: the simplest correct ones, for tests."""
