"""Say how zlib reads and writes gzip, for files and for batches of Kafka."""

import zlib
from typing import Final

__all__ = ["GZIP_WINDOW_BITS"]

GZIP_WINDOW_BITS: Final = zlib.MAX_WBITS + 16
"""With it zlib expects, or writes, the header and the trailer of gzip."""
