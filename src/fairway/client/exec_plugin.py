"""Credentials from a program: `exec` users of a kubeconfig, `client.authentication.k8s.io` v1 and v1beta1.

Reading its settings, running it and reading its answer belong here; when to run it again is `credentials`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from fairway.client.errors import KubeConfigError

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
PATIENCE = 60.0  # seconds for a program that may have to ask somebody far away


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cluster: Mapping[str, Any] | None = None
    """What the program is told of the cluster, if the kubeconfig asks for that."""
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, or a certificate with its key, or both; None in `expires` means until it is refused."""

    token: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    expires: datetime | None = None


def plugin_of(settings: Mapping[str, Any], folder: Path, cluster: Mapping[str, Any]) -> ExecPlugin:
    """From the `exec` of a user; a relative path is one beside the kubeconfig."""
    version, command = str(settings.get("apiVersion") or ""), str(settings.get("command") or "")
    if version not in VERSIONS:
        raise KubeConfigError(f"exec plugin: apiVersion {version!r} is none of {', '.join(VERSIONS)}")
    if not command:
        raise KubeConfigError("exec plugin: no command is given")
    if settings.get("interactiveMode") == "Always":
        raise KubeConfigError(f"exec plugin {command} wants to ask a person, and there is none here")
    if os.sep in command and not os.path.isabs(command):
        command = str(folder / command)
    return ExecPlugin(
        version,
        command,
        tuple(map(str, settings.get("args") or ())),
        tuple((str(entry["name"]), str(entry.get("value", ""))) for entry in settings.get("env") or ()),
        cluster if settings.get("provideClusterInfo") else None,
        str(settings.get("installHint") or ""),
    )


async def run(plugin: ExecPlugin) -> Credential:
    """Runs the program; whatever goes wrong with it is a KubeConfigError that shows what it said."""
    environment = {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": _question(plugin)}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f"\n{plugin.install_hint}" if plugin.install_hint else ""
        raise KubeConfigError(f"exec plugin {plugin.command}: {error.strerror}{hint}") from error
    answer, complaint = await _ended(plugin, process)
    if process.returncode:
        said = complaint.decode("utf-8", "replace").strip()[-500:]
        raise KubeConfigError(f"exec plugin {plugin.command} failed with code {process.returncode}: {said}")
    return credential_in(answer, plugin.api_version)


async def _ended(plugin: ExecPlugin, process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    try:
        async with asyncio.timeout(PATIENCE):
            return await process.communicate()
    except TimeoutError as error:
        raise KubeConfigError(f"exec plugin {plugin.command} did not end in {PATIENCE:.0f} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _question(plugin: ExecPlugin) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(document).decode()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


def credential_in(answer: bytes, api_version: str) -> Credential:
    try:
        found = msgspec.json.decode(answer, type=_Answer)
    except msgspec.MsgspecError as error:
        raise KubeConfigError(f"exec plugin: its answer can't be read: {error}") from error
    if (found.kind, found.api_version) != ("ExecCredential", api_version):
        given = f"{found.api_version} {found.kind}"
        raise KubeConfigError(f"exec plugin: expected {api_version} ExecCredential, it answered {given}")
    status = found.status or _Status()
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        raise KubeConfigError("exec plugin: a certificate and its key come together or not at all")
    if not status.token and not certificate:
        raise KubeConfigError("exec plugin: its answer has neither a token nor a certificate")
    expires = status.expiration_timestamp
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return Credential(
        status.token or None,
        certificate.encode() if certificate else None,
        key.encode() if key else None,
        expires,
    )
