"""HAProxy as processes: one generation at a time, the next taking over the listening sockets of the last.

A generation is started only for what the runtime interface can't change: listeners and more room for servers.
Nobody is refused meanwhile, and the old one ends when its last connection has.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import structlog

from fairway.kernel.users import lesser_user
from fairway.lb.balancer import runtime

log = structlog.get_logger()
PROGRAM = "haproxy"
READY_SECONDS = 15.0


class HaproxyError(Exception):
    """HAProxy would not start; the message is what it says."""


class Haproxy:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._owner = lesser_user("haproxy", "nobody")  # Debian's package makes the first
        self._generation = 0
        self._process: asyncio.subprocess.Process | None = None
        self._leaving: list[asyncio.subprocess.Process] = []
        self.reloads = 0

    @property
    def socket(self) -> Path:
        return self._socket(self._generation)

    @property
    def next_socket(self) -> Path:
        return self._socket(self._generation + 1)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def _words(self) -> Path:
        """What the latest generation has to say."""
        return self.folder / "haproxy.log"

    def _socket(self, generation: int) -> Path:
        return self.folder / f"{generation}.sock"

    def prepare(self) -> None:
        """A folder that nobody but HAProxy's user can look into: there are keys in it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for stale in (*self.folder.glob("*.sock"), *self.folder.glob("*.cfg"), *self.folder.glob("*.pem")):
            stale.unlink()
        if self._owner:
            os.chown(self.folder, self._owner.pw_uid, self._owner.pw_gid)

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if self._owner:
                os.fchown(descriptor, self._owner.pw_uid, self._owner.pw_gid)
        return path

    async def start(self, configuration: str) -> None:
        """The next generation; when this raises, the former one works on as if nothing had been."""
        path = self.write(f"{self._generation + 1}.cfg", configuration.encode())
        await self._check(path)
        old = self._process if self.is_running else None
        # -db: in the foreground.
        command = [*self._privileges(), PROGRAM, "-db", "-f", os.fspath(path)]
        if old is not None:
            command += ["-x", os.fspath(self.socket), "-sf", str(old.pid)]
        with self._words.open("wb") as words:
            # HAProxy must be able to name the folder it starts in, and its user may not see ours.
            started = await asyncio.create_subprocess_exec(
                *command, cwd=self.folder, stdin=asyncio.subprocess.DEVNULL, stdout=words, stderr=words
            )
        await self._until_ready(started)
        self._process = started
        self._generation += 1
        if old is not None:
            self.reloads += 1
            self._leaving = [process for process in [*self._leaving, old] if process.returncode is None]
        (self.folder / f"{self._generation - 1}.cfg").unlink(missing_ok=True)

    def _privileges(self) -> list[str]:
        """Those of its own user; and it ends with us, even when we are killed.

        HAProxy could change its user itself, but the kernel forgets about our death when a process does that.
        """
        words = ["setpriv", "--pdeathsig", "TERM"]
        if self._owner:
            words += [f"--reuid={self._owner.pw_uid}", f"--regid={self._owner.pw_gid}", "--clear-groups"]
        return words

    async def stop(self) -> None:
        for process in [*self._leaving, *([self._process] if self._process else [])]:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()
        self._process = None

    async def _check(self, path: Path) -> None:
        try:
            checking = await asyncio.create_subprocess_exec(
                *(PROGRAM, "-c", "-q", "-f", os.fspath(path)),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise HaproxyError("haproxy is missing: install the package haproxy") from error
        _, words = await checking.communicate()
        if checking.returncode:
            raise HaproxyError(words.decode(errors="replace").strip()[:1000])

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        """Its socket is new, so an answer on it can only be its own."""
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        while asyncio.get_running_loop().time() < deadline and process.returncode is None:
            with contextlib.suppress(runtime.RuntimeRefused):
                if "Pid:" in await runtime.ask(self.next_socket, "show info"):
                    return
            await asyncio.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        words = self._words.read_text(errors="replace").strip()[-1000:]
        raise HaproxyError(f"it did not start: {words or 'no answer in time'}")
