"""Whole daemons on virtual time, scheduled by chance: every await is a possible switch, crash or stall."""
