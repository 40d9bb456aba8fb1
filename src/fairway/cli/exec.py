"""`fairway exec`: run a command in a Pod, for those without (or with an old) kubectl."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import tty as terminal
from collections.abc import AsyncIterator, Callable, Iterator

import click
import uvloop

from fairway.cli.connection import connected, kubeconfig_option
from fairway.client import Client
from fairway.client.remote_command import run_in_container


@click.command(help="Run a command in a container of a Pod: fairway exec [-it] POD [-c NAME] -- COMMAND…")
@kubeconfig_option
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("-c", "--container", default="", help="the Pod's first container if left out")
@click.option("-i", "--stdin", is_flag=True, help="pass standard input on")
@click.option("-t", "--tty", is_flag=True, help="give the command a terminal")
@click.argument("pod")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def command(
    kubeconfig: str | None,
    namespace: str,
    container: str,
    stdin: bool,
    tty: bool,
    pod: str,
    arguments: tuple[str, ...],
) -> None:
    async def work(client: Client) -> int:
        with _raw_terminal() if tty and stdin else contextlib.nullcontext():
            return await run_in_container(
                client,
                pod.removeprefix("pod/"),
                arguments,
                namespace=namespace,
                container=container,
                stdin=_standard_input() if stdin else None,
                stdout=_writer(1),
                stderr=_writer(2),
                tty=tty,
                resizes=_terminal_sizes() if tty else None,
            )

    sys.exit(uvloop.run(connected(kubeconfig, "exec", work)))


def _writer(descriptor: int) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        while data:
            data = data[os.write(descriptor, data) :]

    return write


async def _standard_input() -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    while data := await reader.read(65536):
        yield data


async def _terminal_sizes() -> AsyncIterator[tuple[int, int]]:
    changed = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, changed.set)
    while True:
        size = shutil.get_terminal_size()
        yield size.columns, size.lines
        await changed.wait()
        changed.clear()


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(0)
    terminal.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
