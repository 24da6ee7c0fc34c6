"""Files and pipes as source and sink."""
