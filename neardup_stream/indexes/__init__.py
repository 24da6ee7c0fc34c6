"""Find near neighbors of a fingerprint, in stored tables, in memory and in archives."""
