"""The query API over HTTP: what is known of pages and clusters, and decisions for pages given now."""
