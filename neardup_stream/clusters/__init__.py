"""Which pages belong together, and which of them represents the others."""
