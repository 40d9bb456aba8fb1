"""`fairway up`: a whole cluster on this machine."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

from fairway.cli.connection import data_option
from fairway.cli.store import store_option
from fairway.cluster import rootless
from fairway.cluster.choices import Choices
from fairway.cluster.layout import MOST_NODES, Layout
from fairway.cluster.record import Claim, read_record
from fairway.proxy.modes import MODES, ModeNotBuilt, check_mode

DEFAULT_PORT = 6443


class Progress:
    """One line a step, with the seconds since the start."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def say(self, what: str, detail: str) -> None:
        click.echo(f"{self.seconds:6.2f} s  {what:<18} {detail}")


@click.command(help="Start a cluster on this machine; its nodes are network namespaces.")
@data_option
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, MOST_NODES))
@click.option("--port", type=int, help=f"the API server's port (default: the first free from {DEFAULT_PORT})")
@click.option("--proxy-mode", default="nftables", show_default=True, type=click.Choice(MODES))
@store_option
@click.option("--detach", is_flag=True, help="return once it is up, and leave it running")
def command(data: Path, nodes: int, port: int | None, proxy_mode: str, store: str, detach: bool) -> None:
    data = data.expanduser().resolve()
    progress = Progress()
    inside = rootless.inside()
    if inside:
        rootless.prepare()
    _check_mode(proxy_mode)
    claim = Claim(data)
    if not claim.take():
        record = read_record(data)
        where = f" (process {record.pid}, API server on port {record.port})" if record else ""
        click.echo(f"already up{where}: export KUBECONFIG={data / 'kubeconfig'}")
        return
    choices = Choices(data, nodes, port or free_port(), proxy_mode, store)
    if os.geteuid() != 0:
        claim.release()
        _as_user(choices, detach)
    elif inside:
        _bring_up(choices, progress, Handed(inside, detach), inside)
    else:
        _bring_up(choices, progress, Background() if detach else None)


def _check_mode(name: str) -> None:
    """Before anything is begun. The default needs nothing that a kernel lacks, and isn't loaded for this."""
    if name == MODES[0]:
        return
    try:
        check_mode(name)
    except ModeNotBuilt as error:
        raise click.ClickException(str(error)) from error


def _as_user(choices: Choices, detach: bool) -> NoReturn:
    """The same again, in namespaces of the user's own."""
    if choices.store.startswith("etcd:"):
        raise click.ClickException(
            "without root, the cluster runs in namespaces of its own, from where it can't reach etcd: "
            "leave --store away, or run this as root"
        )
    arguments = ["up", *choices.arguments(), *(["--detach"] if detach else [])]
    try:
        sys.exit(rootless.enter(arguments, choices.port, detach))
    except rootless.Impossible as error:
        raise click.ClickException(
            f"without root, fairway up needs namespaces of its own: {error}"
        ) from error


def _bring_up(
    choices: Choices,
    progress: Progress,
    background: Background | Handed | None,
    inside: rootless.Inside | None = None,
) -> None:
    # Imported here, because it takes longer than the answer to `--help` should.
    from fairway.cluster.host_network import choose_index
    from fairway.cluster.supervisor import StartError, Supervisor

    data = choices.data
    previous = read_record(data)
    layout = Layout(choose_index(previous), choices.nodes)
    supervisor = Supervisor(choices, layout, progress.say, previous, inside)
    try:
        supervisor.start()
    except BaseException as error:
        supervisor.stop()
        if isinstance(error, StartError):
            raise click.ClickException(str(error)) from error
        raise
    click.echo(f"\nready in {progress.seconds:.2f} s. To use it:\n")
    click.echo(f"  export KUBECONFIG={data / 'kubeconfig'}")
    click.echo("  kubectl get nodes")
    click.echo(f"  fairway down --data {data}")
    if inside:
        click.echo("\nAs an ordinary user: reach Services by `kubectl port-forward` and `fairway exec`.")
    sys.stdout.flush()
    if background:
        background.release_terminal(data)
    if not detached(background):
        click.echo("\nCtrl-C ends it.")
    try:
        supervisor.watch_over()
    finally:
        supervisor.stop()


def free_port() -> int:
    for port in range(DEFAULT_PORT, DEFAULT_PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise click.ClickException(f"no free port from {DEFAULT_PORT} on; name one with --port")


class Background:
    """Goes on in a child; the parent ends, successfully once the child says that all is up."""

    def __init__(self) -> None:
        reading, self._tell = os.pipe()
        if os.fork():
            os.close(self._tell)
            os._exit(0 if os.read(reading, 1) == b"1" else 1)
        os.close(reading)
        os.setsid()

    def release_terminal(self, data: Path) -> None:
        _print_to_log(data)
        os.write(self._tell, b"1")
        os.close(self._tell)


class Handed:
    """Inside a user's namespaces: whoever is outside waits for a word, and perhaps no longer."""

    def __init__(self, inside: rootless.Inside, detach: bool) -> None:
        self._tell = inside.ready
        self.detach = detach

    def release_terminal(self, data: Path) -> None:
        if self.detach:
            _print_to_log(data)
        os.write(self._tell, b"1")
        os.close(self._tell)


def detached(background: Background | Handed | None) -> bool:
    return background.detach if isinstance(background, Handed) else background is not None


def _print_to_log(data: Path) -> None:
    """From here on there is nobody to read what we print."""
    log = os.open(data / "logs" / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, source in ((0, null), (1, log), (2, log)):
        os.dup2(source, descriptor)
