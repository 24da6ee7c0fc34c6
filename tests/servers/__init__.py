"""Real servers for tests and benchmarks: each on free ports, in a private directory, gone when we go."""
