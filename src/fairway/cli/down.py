"""`fairway down`: ends a cluster and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import click

from fairway.cli.connection import data_option
from fairway.cluster.record import Claim, read_record, remove_record

PATIENCE = 60.0


@click.command(help="End a cluster on this machine: no namespace, rule, device or process stays.")
@data_option
def command(data: Path) -> None:
    data = data.expanduser().resolve()
    record = read_record(data)
    if record is None:
        click.echo(f"no cluster is up in {data}")
        return
    if record.rootless:
        _end_namespaces(data, record.pid)
        return
    if os.geteuid() != 0:
        raise click.ClickException("fairway down needs root; try: sudo fairway down")
    begin = time.perf_counter()
    claim = Claim(data)
    if not claim.take():
        # A supervisor that was killed is gone, but its components hold the claim until they have ended, too.
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGTERM)
        _wait_for(claim)
    if read_record(data) is not None:
        # The supervisor died before it could clean up.
        from fairway.cluster.teardown import tear_down

        tear_down(data, record)
        remove_record(data)
    click.echo(f"down in {time.perf_counter() - begin:.2f} s; its data is still in {data}")


def _end_namespaces(data: Path, pid: int) -> None:
    """`pid` only holds the namespaces; its child is the supervisor. The kernel clears away what is left."""
    with contextlib.suppress(OSError, ValueError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGTERM)
    _wait_for(Claim(data))
    remove_record(data)
    click.echo(f"down; its data is still in {data}")


def _wait_for(claim: Claim) -> None:
    deadline = time.monotonic() + PATIENCE
    while not claim.take():
        if time.monotonic() > deadline:
            raise click.ClickException("the supervisor does not end; kill it and run `fairway down` again")
        time.sleep(0.02)
