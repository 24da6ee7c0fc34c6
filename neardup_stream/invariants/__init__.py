"""Whether a whole history, as topics and stores show it, keeps what is promised."""
