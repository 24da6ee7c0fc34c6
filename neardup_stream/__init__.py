"""Near-duplicate detection for streams of web pages."""

__version__ = "0.1.0"
