"""The process: environment, signals, ports, Prometheus."""
