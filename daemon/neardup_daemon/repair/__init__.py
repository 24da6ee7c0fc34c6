"""Commands that change an index outside of the stream."""
