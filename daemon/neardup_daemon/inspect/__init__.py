"""Commands that read an index, topics or archives and change nothing."""
