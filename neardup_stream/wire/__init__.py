"""Decode pages from bytes and encode events to bytes."""
