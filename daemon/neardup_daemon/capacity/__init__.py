"""Capacity planning: memory, processor time, machines and recall of an index, before it exists."""
