"""Between bytes of a page and the tokens a fingerprint is made of."""
