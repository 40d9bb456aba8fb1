"""The nginx process: its files, starting it, and starting it again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
import resource
import secrets
import shutil
import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import msgspec
import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.client.backoff import Backoff
from fairway.ingress.config import Config
from fairway.ingress.render import Settings, render
from fairway.kernel.users import lesser_user

log = structlog.get_logger()
_PATIENCE = 30.0
_OPEN_FILES = 65536


class NginxError(Exception):
    """nginx can't be started; the text says what it said."""


def settings(config: Config, owner: pwd.struct_passwd | None) -> Settings:
    folder = config.data.resolve()
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], _OPEN_FILES)
    ports = config.http_port, config.https_port
    return Settings(folder, config.bind, *ports, config.workers, _user(owner), most)


def _user(owner: pwd.struct_passwd | None) -> str:
    """Whom nginx shall make its workers; only root can, and it wants to unless it is told to stay."""
    if owner:
        return f"{owner.pw_name} {grp.getgrgid(owner.pw_gid).gr_name}"
    return "root root" if os.geteuid() == 0 else ""


class Nginx:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._owner = lesser_user(config.user)
        self.settings = settings(config, self._owner)
        self._process: asyncio.subprocess.Process | None = None
        self.starts = 0

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def prepare(self) -> None:
        folder = self.settings.folder
        folder.mkdir(parents=True, exist_ok=True)
        if self._owner:
            os.chown(folder, self._owner.pw_uid, -1)
        for name in ("temporary", "passwords"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "passwords" / "none").touch(mode=0o644)
        _copy_programs(self.settings.lua / "fairway")
        if not (folder / "default.crt").exists():
            _make_default_certificate(folder)

    async def start(self) -> None:
        program = shutil.which(self._config.nginx)
        if program is None:
            raise NginxError("there is no nginx; install nginx-light and libnginx-mod-http-lua")
        self.settings.socket.unlink(missing_ok=True)
        self.settings = replace(self.settings, start=secrets.token_hex(6))
        (self.settings.folder / "nginx.conf").write_text(render(self.settings))
        self._process = await asyncio.create_subprocess_exec(
            program,
            "-p",
            f"{self.settings.folder}/",
            "-c",
            str(self.settings.folder / "nginx.conf"),
            stdin=asyncio.subprocess.DEVNULL,
        )
        self.starts += 1
        await self._until_listening()

    async def _until_listening(self) -> None:
        assert self._process
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while not await self._listens():
            if self._process.returncode is not None:
                raise NginxError("nginx ended at once; its own words are above")
            if asyncio.get_running_loop().time() > deadline:
                raise NginxError("nginx does not come up")
            await asyncio.sleep(0.01)
        # The control socket is for us alone; nginx makes it for everyone.
        self.settings.socket.chmod(0o600)

    async def _listens(self) -> bool:
        """The socket is there a moment before anyone listens on it."""
        try:
            _, writer = await asyncio.open_unix_connection(str(self.settings.socket))
        except OSError:
            return False
        writer.close()
        return True

    async def ended(self) -> int:
        assert self._process
        return await self._process.wait()

    async def keep_running(self, restarted: asyncio.Event) -> None:
        """For ever: start it again whenever it ends, and say so."""
        backoff = Backoff(shortest=0.1, longest=10.0)
        while True:
            code = await self.ended()
            log.error("nginx has ended", status=code)
            try:
                await self.start()
            except NginxError as error:
                log.error("nginx can't be started", error=str(error))
                await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            restarted.set()

    async def stop(self) -> None:
        """Let what is being answered finish for a moment."""
        if not self._process or self._process.returncode is not None:
            return
        self._process.send_signal(signal.SIGQUIT)
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            await self._process.wait()

    def write_passwords(self, files: dict[str, bytes]) -> None:
        folder = self.settings.folder / "passwords"
        for name, lines in files.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != lines:
                self._write(path, lines)
        for path in folder.iterdir():
            if path.name not in files and path.name != "none":
                path.unlink()

    def save(self, entries: Mapping[str, bytes]) -> None:
        """What nginx starts from when it is started again, private keys and all."""
        text = {key: value.decode() for key, value in entries.items()}
        self._write(self.settings.folder / "state", msgspec.json.encode(text))

    def _write(self, path: Path, content: bytes) -> None:
        """For the eyes of nginx's workers only."""
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        new.touch(mode=0o600)
        if self._owner:
            os.chown(new, self._owner.pw_uid, -1)
        new.write_bytes(content)
        new.rename(path)


def _copy_programs(folder: Path) -> None:
    """Fairway may be installed where nginx's workers, who are nobody, can't read: in someone's home."""
    folder.mkdir(parents=True, exist_ok=True)
    for program in (resources.files("fairway.ingress") / "lua" / "fairway").iterdir():
        copy = folder / program.name
        copy.write_bytes(program.read_bytes())
        copy.chmod(0o644)
    for each in (folder, folder.parent):
        each.chmod(0o755)


def _make_default_certificate(folder: Path) -> None:
    """Self-signed, for names that no Secret is for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Fairway ingress default certificate")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("ingress.local")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "default.key"
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "default.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
