"""Detect site frames: the lines that a site repeats on its pages, learned from the pages. Pure."""
