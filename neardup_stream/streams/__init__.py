"""Where pages come from and where events go."""
