"""Use files and pipes as source and sink."""
