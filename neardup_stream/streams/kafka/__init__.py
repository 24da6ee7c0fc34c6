"""Kafka as source and sink."""
