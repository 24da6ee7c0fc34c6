"""The rows of the operators' dashboard about the work: is the daemon keeping up, with what, and what limits it?"""

from typing import Final

from monitoring.panels import Panel, Query, Row

__all__ = ["BOTTLENECK", "INPUT", "KEEPING_UP"]

KEEPING_UP: Final = Row(
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
                    'sum(max by (job) (neardup_topic_partitions{job=~"$job"}))'
                    ' - sum(neardup_assigned_partitions{job=~"$job"})'
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
            "Consumer lag divided by the rate of the last minutes: the time if no more pages came. If it grows,"
            " add daemons, up to the number of partitions.",
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


BOTTLENECK: Final = Row(
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
            "Slowest batches, by step",
            "95th percentile of the time of one batch in one step; docs/operations.md lists the steps of each stage.",
            "s",
            (
                Query(
                    "histogram_quantile(0.95, sum by (le, step)"
                    ' (rate(neardup_stage_duration_seconds_bucket{job=~"$job"}[$__rate_interval])))',
                    "{{step}}",
                ),
            ),
        ),
        Panel(
            "In flight, of the limits",
            "Pages and bytes between reading and delivery, as shares of pipeline.max_in_flight_pages and _bytes. At"
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


INPUT: Final = Row(
    "What is wrong with the input?",
    (
        Panel(
            "Dead letters by reason",
            "docs/pages.md explains each reason; `neardup-stream replay --reason` replays repaired ones.",
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
            "Key, value and headers of the records delivered.",
            "Bps",
            (Query('sum(rate(neardup_page_bytes_total{job=~"$job"}[$__rate_interval]))', "bytes"),),
        ),
        Panel(
            "Bytes per record",
            "Mean size of key, value and headers.",
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
