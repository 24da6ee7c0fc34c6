"""Near-duplicates in a process of one's own: the stages of the stream over stores in memory."""
