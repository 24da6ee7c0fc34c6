"""One page's journey, batch by batch."""
