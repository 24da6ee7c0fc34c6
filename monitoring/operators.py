"""The dashboard for those who run the daemons."""

from typing import Final

from monitoring.panels import Board, Panel, Query, Row

__all__ = ["OPERATORS"]

_KEEPING_UP: Final = Row(
    "Am I keeping up?",
    (
        Panel(
            "Daemons ready",
            "Daemons that read pages, and daemons that Prometheus can scrape.",
            "none",
            (
                Query('sum(neardup_ready{job=~"$job"})', "ready"),
                Query('sum(up{job=~"$job"})', "scraped"),
            ),
            kind="stat",
            width=6,
        ),
        Panel(
            "Consumer lag",
            "Records of all assigned partitions that are not committed.",
            "short",
            (Query('sum(neardup_uncommitted_records{job=~"$job"})'),),
            kind="stat",
            width=6,
        ),
        Panel(
            "Oldest uncommitted record",
            "Age of the oldest record that was read and is not committed, by its own timestamp.",
            "s",
            (Query('max(neardup_lag_seconds{job=~"$job"})'),),
            kind="stat",
            width=6,
            warn_above=300,
        ),
        Panel(
            "Partitions without a daemon",
            "Partitions of the pages topic that no scraped daemon is assigned. During a rebalance it is all of"
            " them; after that, a daemon is missing.",
            "none",
            (
                Query(
                    'max(neardup_topic_partitions{job=~"$job"}) - sum(neardup_assigned_partitions{job=~"$job"})'
                ),
            ),
            kind="stat",
            width=6,
            warn_above=1,
        ),
        Panel(
            "From record to event",
            "Time from a record's timestamp to the acknowledgement of its events.",
            "s",
            tuple(
                Query(
                    f"histogram_quantile({quantile}, sum by (le)"
                    ' (rate(neardup_delivery_delay_seconds_bucket{job=~"$job"}[$__rate_interval])))',
                    label,
                )
                for quantile, label in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
            ),
        ),
        Panel(
            "Records per second",
            "Records whose events are acknowledged, by daemon.",
            "cps",
            (
                Query(
                    'sum by (instance) (rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))',
                    "{{instance}}",
                ),
            ),
            is_stacked=True,
        ),
        Panel(
            "Time to catch up",
            "Consumer lag divided by the rate of the last minutes. If it grows, add daemons, up to the number of"
            " partitions.",
            "s",
            (
                Query(
                    'sum(neardup_uncommitted_records{job=~"$job"})'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
        Panel(
            "Lag by partition",
            "One partition far above the others: its keys are skewed, or its daemon is slow.",
            "short",
            (
                Query(
                    'sum by (topic, partition) (neardup_uncommitted_records{job=~"$job"})',
                    "{{topic}}-{{partition}}",
                ),
            ),
        ),
        Panel(
            "Not yet read, by partition",
            "The part of the lag that is still in Kafka.",
            "short",
            (
                Query(
                    'sum by (topic, partition) (neardup_lag_records{job=~"$job"})', "{{topic}}-{{partition}}"
                ),
            ),
        ),
        Panel(
            "Assigned partitions, rebalances",
            "Partitions by daemon, and rebalances in the interval. Many rebalances: a daemon restarts, or does not"
            " read for longer than kafka.max_poll_interval_seconds.",
            "short",
            (
                Query('neardup_assigned_partitions{job=~"$job"}', "{{instance}}"),
                Query('sum(increase(neardup_rebalances_total{job=~"$job"}[$__rate_interval]))', "rebalances"),
            ),
        ),
    ),
)

_BOTTLENECK: Final = Row(
    "Where is the time spent?",
    (
        Panel(
            "Busy share of each stage",
            "The stage near 100 % is the bottleneck of its daemon. All stages run at once, each on its own batch."
            " Busiest daemon.",
            "percentunit",
            (
                Query(
                    "max by (stage) (rate(neardup_stage_time_seconds_total"
                    '{job=~"$job", activity="busy"}[$__rate_interval]))',
                    "{{stage}}",
                ),
            ),
        ),
        Panel(
            "Waiting for the next stage",
            "Share of the time in which a stage could not hand its batch over: the stage behind it is slower.",
            "percentunit",
            (
                Query(
                    "max by (stage) (rate(neardup_stage_time_seconds_total"
                    '{job=~"$job", activity="waiting_for_output"}[$__rate_interval]))',
                    "{{stage}}",
                ),
            ),
        ),
        Panel(
            "Milliseconds per record, by stage",
            "What one record costs in each stage.",
            "ms",
            (
                Query(
                    '1000 * sum by (stage) (rate(neardup_stage_duration_seconds_sum{job=~"$job"}[$__rate_interval]))'
                    ' / ignoring (stage) group_left sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))',
                    "{{stage}}",
                ),
            ),
            is_stacked=True,
        ),
        Panel(
            "Slowest batches, by stage",
            "95th percentile of the time of one batch.",
            "s",
            (
                Query(
                    "histogram_quantile(0.95, sum by (le, stage)"
                    ' (rate(neardup_stage_duration_seconds_bucket{job=~"$job"}[$__rate_interval])))',
                    "{{stage}}",
                ),
            ),
        ),
        Panel(
            "In flight, of the limits",
            "Pages and bytes between reading and commit, as shares of pipeline.max_in_flight_pages and _bytes. At"
            " 100 % reading pauses.",
            "percentunit",
            tuple(
                Query(
                    f'max(neardup_in_flight_{what}{{job=~"$job"}} / on (job, instance)'
                    f' neardup_limit{{job=~"$job", setting="pipeline.max_in_flight_{what}"}})',
                    what,
                )
                for what in ("pages", "bytes")
            ),
        ),
        Panel(
            "Event loop delay",
            "99th percentile of how late the event loop wakes a task. Above a second, probes time out and"
            " heartbeats are late.",
            "s",
            (
                Query(
                    "histogram_quantile(0.99, sum by (le, instance)"
                    ' (rate(neardup_event_loop_delay_seconds_bucket{job=~"$job"}[$__rate_interval])))',
                    "{{instance}}",
                ),
            ),
        ),
    ),
)

_INPUT: Final = Row(
    "What is wrong with the input?",
    (
        Panel(
            "Dead letters by reason",
            "docs/pages.md explains each reason; `neardup-stream replay --reason` puts mended ones back.",
            "cps",
            (
                Query(
                    "sum by (reason) (rate(neardup_outcome_reasons_total"
                    '{job=~"$job", outcome="dead_letter"}[$__rate_interval])) > 0',
                    "{{reason}}",
                ),
            ),
            is_stacked=True,
        ),
        Panel(
            "Share of dead letters",
            "Of all records.",
            "percentunit",
            (
                Query(
                    'sum(rate(neardup_outcomes_total{job=~"$job", outcome="dead_letter"}[$__rate_interval]))'
                    ' / sum(rate(neardup_outcomes_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
        Panel(
            "Skipped and undecided, by reason",
            "Records that are no pages by nature, and pages that are too short to be judged.",
            "cps",
            (
                Query(
                    "sum by (outcome, reason) (rate(neardup_outcome_reasons_total"
                    '{job=~"$job", outcome=~"skipped|undecided"}[$__rate_interval]))',
                    "{{outcome}}: {{reason}}",
                ),
            ),
        ),
        Panel(
            "Damaged on the way",
            "Bodies whose charset label was wrong, and dead letters that were cut to fit their topic and cannot be"
            " replayed.",
            "cps",
            (
                Query(
                    'sum(rate(neardup_charset_fallbacks_total{job=~"$job"}[$__rate_interval]))',
                    "wrong charset",
                ),
                Query(
                    'sum(rate(neardup_truncated_dead_letters_total{job=~"$job"}[$__rate_interval]))',
                    "cut dead letters",
                ),
            ),
        ),
        Panel(
            "Pages over a limit",
            "Pages that took more time or memory than a setting of [limits] allows, and worker processes that they ended.",
            "cps",
            (
                Query(
                    'sum by (limit) (rate(neardup_over_limit_total{job=~"$job"}[$__rate_interval]))',
                    "{{limit}}",
                ),
                Query(
                    'sum by (reason) (rate(neardup_worker_ends_total{job=~"$job"}[$__rate_interval]))',
                    "worker ended: {{reason}}",
                ),
            ),
        ),
        Panel(
            "Bytes per second",
            "Key and value of the records delivered.",
            "Bps",
            (Query('sum(rate(neardup_page_bytes_total{job=~"$job"}[$__rate_interval]))', "bytes"),),
        ),
        Panel(
            "Bytes per record",
            "Mean size of key and value.",
            "bytes",
            (
                Query(
                    'sum(rate(neardup_page_bytes_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
    ),
)

_DEPENDENCIES: Final = Row(
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
            "Used by all primaries together, and their maxmemory if they have one. At maxmemory writes fail.",
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
            "Sweeps under way at once, and the share of time that reading waits for them.",
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
        ),
    ),
)

_PROCESS: Final = Row(
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

_QUERY_API: Final = Row(
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
                    ' (rate(neardup_api_requests_total{job=~"$job"}[$__rate_interval])) > 0 or'
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
                    ' (rate(neardup_api_request_duration_seconds_count{job=~"$job"}[$__rate_interval])), 0.001)',
                    "{{endpoint}}",
                ),
            ),
        ),
        Panel(
            "Requests in progress",
            "Requests that a daemon works on, and requests that wait for their turn.",
            "none",
            (
                Query('sum(neardup_api_running_requests{job=~"$job"})', "running"),
                Query('sum(neardup_api_queued_requests{job=~"$job"})', "queued"),
            ),
        ),
    ),
)

OPERATORS: Final = Board(
    "neardup-operators",
    "neardup-stream: operation",
    "Does it keep up, where is the time spent, what is wrong with the input, Redis, Kafka and the processes?",
    (_KEEPING_UP, _BOTTLENECK, _INPUT, _DEPENDENCIES, _QUERY_API, _PROCESS),
)
