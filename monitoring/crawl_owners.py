"""The dashboard for those whose crawl it is."""

from typing import Final

from monitoring.panels import Board, Panel, Query, Row

__all__ = ["CRAWL_OWNERS"]

_FOUND: Final = Row(
    "What is found?",
    (
        Panel(
            "Share of duplicates",
            "Duplicates among the pages that were judged; none too short.",
            "percentunit",
            (
                Query(
                    'sum(increase(neardup_outcomes_total{job=~"$job", outcome="duplicate"}[$__range])) / sum('
                    'increase(neardup_outcomes_total{job=~"$job", outcome=~"unique|duplicate|archived"}[$__range]))'
                ),
            ),
            kind="stat",
            width=6,
        ),
        Panel(
            "Duplicates",
            "Pages declared duplicate.",
            "short",
            (Query('sum(increase(neardup_outcomes_total{job=~"$job", outcome="duplicate"}[$__range]))'),),
            kind="stat",
            width=6,
        ),
        Panel(
            "Bytes of duplicates",
            "What need not be stored: key, value and headers of the records whose pages are duplicates.",
            "bytes",
            (Query('sum(increase(neardup_duplicate_bytes_total{job=~"$job"}[$__range]))'),),
            kind="stat",
            width=6,
        ),
        Panel(
            "Known pages",
            "Page records in the index.",
            "short",
            (Query('sum(max by (job) (neardup_stored_pages{job=~"$job"} >= 0))'),),
            kind="stat",
            width=6,
        ),
        Panel(
            "Records by outcome",
            "docs/operations.md explains the outcomes.",
            "cps",
            (
                Query(
                    'sum by (outcome) (rate(neardup_outcomes_total{job=~"$job"}[$__rate_interval]))',
                    "{{outcome}}",
                ),
            ),
            is_stacked=True,
        ),
        Panel(
            "Share of duplicates over time",
            "A jump: a spider trap, a changed template, or an index that was lost.",
            "percentunit",
            (
                Query(
                    'sum(rate(neardup_outcomes_total{job=~"$job", outcome="duplicate"}[$__rate_interval])) / sum('
                    'rate(neardup_outcomes_total{job=~"$job", outcome=~"unique|duplicate|archived"}'
                    "[$__rate_interval]))"
                ),
            ),
        ),
        Panel(
            "Events by type",
            "What subscribers receive; docs/events.md explains the types.",
            "cps",
            (Query('sum by (type) (rate(neardup_events_total{job=~"$job"}[$__rate_interval]))', "{{type}}"),),
        ),
    ),
)

_WHERE: Final = Row(
    "Where is it found?",
    (
        Panel(
            "Sites with most duplicates",
            "Since the daemons started. metrics.top_sites sets how many sites each daemon counts.",
            "short",
            (Query('topk(10, sum by (site) (neardup_site_duplicates_total{job=~"$job"}))', "{{site}}"),),
            kind="bargauge",
        ),
        Panel(
            "Sites with the largest share of duplicates",
            "Near 100 %: the site repeats itself, or is a mirror. The same sites as beside, and others that are counted.",
            "percentunit",
            (
                Query(
                    'topk(10, sum by (site) (neardup_site_duplicates_total{job=~"$job"})'
                    ' / sum by (site) (neardup_site_pages_total{job=~"$job"}))',
                    "{{site}}",
                ),
            ),
            kind="bargauge",
        ),
        Panel(
            "Re-crawled and unchanged",
            "Share of all records that were known and had not changed: what a slower re-crawl would save.",
            "percentunit",
            (
                Query(
                    'sum(rate(neardup_outcomes_total{job=~"$job", outcome="unchanged"}[$__rate_interval]))'
                    ' / sum(rate(neardup_outcomes_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
    ),
)

_TRUST: Final = Row(
    "How is it found, and may something be missing?",
    (
        Panel(
            "Candidates per record",
            "Stored pages that a page is compared with.",
            "none",
            (
                Query(
                    'sum(rate(neardup_candidates_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
        Panel(
            "Rejected candidates by reason",
            "Share of all candidates. Many stale ones: pages change often, or records were lost.",
            "percentunit",
            (
                Query(
                    'sum by (reason) (rate(neardup_rejected_candidates_total{job=~"$job"}[$__rate_interval]))'
                    ' / ignoring (reason) group_left sum(rate(neardup_candidates_total{job=~"$job"}[$__rate_interval]))',
                    "{{reason}}",
                ),
            ),
        ),
        Panel(
            "Oversized buckets met, per record",
            "Probes that met a bucket larger than index.bucket_cap and read a sample: matches may be missing.",
            "none",
            (
                Query(
                    'sum(rate(neardup_bucket_cap_hits_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
        Panel(
            "Records that may lack matches",
            "Share of records whose probe left entries unread, as in buckets full of equal pages; and matches"
            " that were not left for a page that is not decided yet.",
            "percentunit",
            (
                Query(
                    'sum(rate(neardup_truncated_probes_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))',
                    "entries unread",
                ),
                Query(
                    'sum(rate(neardup_dropped_pending_edges_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_pages_total{job=~"$job"}[$__rate_interval]))',
                    "matches dropped",
                ),
            ),
        ),
        Panel(
            "Share of frame",
            "Words that sites repeat on their pages (navigation, footers) and that are not compared.",
            "percentunit",
            (
                Query(
                    'sum(rate(neardup_frame_tokens_total{job=~"$job"}[$__rate_interval]))'
                    ' / sum(rate(neardup_viewed_tokens_total{job=~"$job"}[$__rate_interval]))'
                ),
            ),
        ),
        Panel(
            "Sites whose frame is cached, in the daemon with most",
            "settled: at least 64 pages counted; young: fewer; full: frames.max_lines reached, some of its frame"
            " may be unknown.",
            "short",
            (Query('max by (state) (neardup_frame_sites{job=~"$job"})', "{{state}}"),),
        ),
        Panel(
            "Pages like archived ones",
            "By their best match in archive.files; candidates: frozen pages that were compared for it. Keys over"
            " the cap: more frozen pages have them than are compared, so matches may be missing.",
            "cps",
            (
                Query(
                    'sum by (kind) (rate(neardup_archived_total{job=~"$job"}[$__rate_interval]))', "{{kind}}"
                ),
                Query(
                    'sum(rate(neardup_archive_candidates_total{job=~"$job"}[$__rate_interval]))', "candidates"
                ),
                Query(
                    'sum(rate(neardup_archive_cap_hits_total{job=~"$job"}[$__rate_interval]))',
                    "keys over the cap",
                ),
            ),
        ),
        Panel(
            "Archives not renewed",
            "The file under the name of an archive is refused or missing, and the former one is asked: see"
            " archive_reload_failed in the log.",
            "short",
            (Query('sum by (instance) (neardup_refused_archives{job=~"$job"})', "{{instance}}"),),
        ),
        Panel(
            "Frame tables written",
            "dropped: another daemon wrote the table at the same time; the next pages teach it again.",
            "cps",
            (
                Query(
                    'sum by (result) (rate(neardup_frame_lessons_total{job=~"$job"}[$__rate_interval]))',
                    "{{result}}",
                ),
            ),
        ),
    ),
)

CRAWL_OWNERS: Final = Board(
    "neardup-crawl",
    "neardup-stream: the crawl",
    "What is found in the crawl, on which sites, what it saves, and how far it can be trusted.",
    (_FOUND, _WHERE, _TRUST),
)
