"""Check that a complete history, read from topics and stores, fulfils the delivery guarantees."""
