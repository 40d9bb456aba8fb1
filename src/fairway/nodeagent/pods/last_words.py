"""What a container that has ended left for whoever asks why: its message, or the end of its log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairway.nodeagent.pods.model import Run
from fairway.nodeagent.runtime import records
from fairway.nodeagent.runtime.logs import LogOptions, Rendering, last_lines

_MESSAGE_LIMIT = 4096
# As much of the log as kubelet takes.
_LOG_LINES, _LOG_BYTES = 80, 2048


def with_message(run: Run, folder: Path) -> Run:
    """A run that goes on, or that never began, has nothing to add."""
    if run.running or run.message:
        return run
    text = _file_message(folder)
    record = records.read(folder)
    if not text and record and record.message_from_log and run.exit_code:
        text = _log_message(folder)
    return replace(run, message=text) if text else run


def _file_message(folder: Path) -> str:
    try:
        with (folder / "termination-message").open("rb") as file:
            return file.read(_MESSAGE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def _log_message(folder: Path) -> str:
    try:
        lines = (folder / "log").read_bytes().splitlines()
    except OSError:
        return ""
    text = Rendering(LogOptions()).render(last_lines(lines, _LOG_LINES))
    return text[-_LOG_BYTES:].decode("utf-8", "replace")
