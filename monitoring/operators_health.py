"""The rows of the operators' dashboard about dependencies, the process, and the query API."""

from typing import Final

from monitoring.panels import Panel, Query, Row

__all__ = ["DEPENDENCIES", "PROCESS", "QUERY_API"]

DEPENDENCIES: Final = Row(
    "Redis and Kafka",
    (
        Panel(
            "Stored pages, of the plan",
            "Page records divided by index.expected_pages, for which the tables are laid out.",
            "percentunit",
            (
                Query(
                    'max by (job) (neardup_stored_pages{job=~"$job"}) / max by (job)'
                    ' (neardup_limit{job=~"$job", setting="index.expected_pages"})',
                    "{{job}}",
                ),
            ),
        ),
        Panel(
            "Redis memory",
            "Used by the fullest primary, and its maxmemory if it has one. At maxmemory writes fail.",
            "bytes",
            (Query('max by (job, kind) (neardup_redis_memory_bytes{job=~"$job"})', "{{job}} {{kind}}"),),
        ),
        Panel(
            "Stored pages",
            "Page records in the index, stubs of removed pages included.",
            "short",
            (Query('max by (job) (neardup_stored_pages{job=~"$job"})', "{{job}}"),),
        ),
        Panel(
            "Errors of dependencies, by reason",
            "docs/faults.md has each reason with its remedy.",
            "cps",
            (
                Query(
                    "sum by (dependency, reason)"
                    ' (rate(neardup_dependency_errors_total{job=~"$job"}[$__rate_interval])) > 0',
                    "{{dependency}}: {{reason}}",
                ),
            ),
        ),
        Panel(
            "Retries, dropped commits",
            "Steps that were retried. A dropped commit came after its partition was revoked: its records are"
            " redelivered to the next owner.",
            "cps",
            (
                Query(
                    'sum by (dependency) (rate(neardup_retries_total{job=~"$job"}[$__rate_interval]))',
                    "retries: {{dependency}}",
                ),
                Query(
                    'sum(rate(neardup_dropped_commits_total{job=~"$job"}[$__rate_interval]))',
                    "dropped commits",
                ),
            ),
        ),
        Panel(
            "Retention: records by action",
            "What the sweeper did with the records that it looked at.",
            "cps",
            (
                Query(
                    'sum by (action) (rate(neardup_swept_records_total{job=~"$job"}[$__rate_interval]))',
                    "{{action}}",
                ),
            ),
        ),
        Panel(
            "Retention: pace",
            "How long a look at every record takes, how far it is behind its schedule, and by how much the latest"
            " page was late.",
            "s",
            (
                Query('max(neardup_sweep_round_seconds{job=~"$job"})', "a round"),
                Query('max(neardup_sweep_lag_seconds{job=~"$job"})', "behind its schedule"),
                Query('max(neardup_sweep_overdue_seconds{job=~"$job"})', "latest page"),
            ),
        ),
        Panel(
            "Retention: back-pressure",
            "Sweeps in flight at once, and the share of time that reading waits for them.",
            "short",
            (
                Query('max(neardup_sweeps_in_flight{job=~"$job"})', "sweeps in flight"),
                Query(
                    'max(rate(neardup_reading_paused_seconds_total{job=~"$job"}[$__rate_interval]))',
                    "share of time that reading waits",
                ),
            ),
        ),
        Panel(
            "Clocks",
            "How far each host's clock is ahead of that of Redis; above 60 s either way nothing expires.",
            "s",
            (Query('neardup_clock_offset_seconds{job=~"$job"}', "{{instance}}"),),
            may_be_negative=True,
        ),
    ),
)


PROCESS: Final = Row(
    "The processes",
    (
        Panel(
            "State",
            "degraded: a dependency is unavailable. stalled: there is work and no commit, restart it.",
            "none",
            (Query('max by (instance, state) (neardup_state{job=~"$job"}) == 1', "{{instance}} {{state}}"),),
            kind="statetimeline",
        ),
        Panel(
            "CPU cores",
            "Used by each daemon; one daemon uses little more than one.",
            "none",
            (Query('rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval])', "{{instance}}"),),
        ),
        Panel(
            "Resident memory",
            "Of each daemon.",
            "bytes",
            (Query('process_resident_memory_bytes{job=~"$job"}', "{{instance}}"),),
        ),
        Panel(
            "Open files, of the limit",
            "File descriptors in use, as a share of LimitNOFILE.",
            "percentunit",
            (
                Query(
                    'process_open_fds{job=~"$job"} / process_max_fds{job=~"$job"}',
                    "{{instance}}",
                ),
            ),
        ),
        Panel(
            "Tasks of the event loop",
            "A number that rises for hours is a leak.",
            "none",
            (Query('neardup_event_loop_tasks{job=~"$job"}', "{{instance}}"),),
        ),
        Panel(
            "Daemons by version and index",
            "More than one version: a rollout is not finished. More than one schema: they share no index.",
            "none",
            (
                Query(
                    'count by (version, python, namespace, schema) (neardup_build_info{job=~"$job"}'
                    " * on (job, instance) group_left (namespace, schema) neardup_service_info)",
                    "{{version}}, Python {{python}}: {{namespace}} ({{schema}})",
                ),
            ),
            kind="stat",
        ),
    ),
)


QUERY_API: Final = Row(
    "The query API",
    (
        Panel(
            "Requests",
            "Answered requests by endpoint and status; 429 means that more came than api.max_concurrent_requests and"
            " api.max_queued_requests allow.",
            "cps",
            (
                Query(
                    "sum by (endpoint, status)"
                    ' (rate(neardup_api_requests_total{job=~"$job"}[$__rate_interval])) > 0 or on ()'
                    ' sum(rate(neardup_api_requests_total{job=~"$job"}[$__rate_interval]))',
                    "{{endpoint}} {{status}}",
                ),
            ),
        ),
        Panel(
            "Time of a request, mean",
            "From the head of a request to its answer, by endpoint.",
            "s",
            (
                Query(
                    "sum by (endpoint)"
                    ' (rate(neardup_api_request_duration_seconds_sum{job=~"$job"}[$__rate_interval]))'
                    " / clamp_min(sum by (endpoint)"
                    ' (rate(neardup_api_request_duration_seconds_count{job=~"$job"}[$__rate_interval])), 1e-9)',
                    "{{endpoint}}",
                ),
            ),
        ),
        Panel(
            "Requests in progress",
            "Requests that a daemon works on, requests that wait for their turn, and those that wait for the"
            " decision of a page.",
            "none",
            (
                Query('sum(neardup_api_running_requests{job=~"$job"})', "running"),
                Query('sum(neardup_api_queued_requests{job=~"$job"})', "queued"),
                Query('sum(neardup_api_waiting_pages{job=~"$job"})', "waiting for decisions"),
            ),
        ),
        Panel(
            "Connections",
            "Open connections, TLS handshakes included; at most api.max_connections in each process.",
            "none",
            (Query('sum(neardup_api_connections{job=~"$job"})', "open"),),
        ),
        Panel(
            "Connections ended by the server",
            "By reason: evicted or refused at api.max_connections, timeouts, and TLS handshakes that failed.",
            "cps",
            (
                Query(
                    "sum by (reason)"
                    ' (rate(neardup_api_connections_ended_total{job=~"$job"}[$__rate_interval])) > 0 or on ()'
                    ' sum(rate(neardup_api_connections_ended_total{job=~"$job"}[$__rate_interval]))',
                    "{{reason}}",
                ),
            ),
        ),
    ),
)
