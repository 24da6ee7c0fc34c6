"""Hashes that are the same in every process and every version."""
