"""Use Kafka as source and sink."""
