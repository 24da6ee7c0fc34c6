"""Bytes to pages, events to bytes."""
