"""Distances between 64-bit words, block permutations and ranges of sorted tables."""
