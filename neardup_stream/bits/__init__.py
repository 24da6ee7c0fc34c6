"""64-bit words: distances, permutations of blocks, ranges to scan."""
