"""Writes the report of a run over files."""

from neardup_daemon.reports.findings import Findings
from neardup_daemon.reports.rendering import Run, render_report
from neardup_daemon.reports.texts import read_texts
from neardup_daemon.settings.settings import Settings
from neardup_stream.streams.files.waiting_file import WaitingFile

__all__ = ["write_report"]


def write_report(output: WaitingFile, run: Run, findings: Findings, settings: Settings) -> None:
    """Read the texts of the examples again, and write the page; calls `check_cut` now and then.

    Args:
        output: where to write.
        run: what the report is about.
        findings: of the run.
        settings: of the run.

    Raises:
        StreamUnavailable: the disk is full or failed.
    """
    positions = {at for each in findings.examples.values() for at in (*each.positions, *each.other_positions)}
    texts = read_texts(run.files, positions, settings)
    output.write_all(render_report(run, findings, texts).encode())
