"""Which pages belong together, and which of them speaks for the others."""
