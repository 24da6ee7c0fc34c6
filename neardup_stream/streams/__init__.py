"""Read pages from, and write events to, Kafka, files, pipes and memory."""
