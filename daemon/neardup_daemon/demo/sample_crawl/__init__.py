"""A generated crawl whose near-duplicates are known: for the demo, tests and benchmarks."""
