"""The version of the library and the programs: of releases, of caches, and of the writer of an index."""

__all__ = ["__version__"]

__version__ = "0.1.0"
