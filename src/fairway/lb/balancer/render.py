"""HAProxy's configuration and the commands of its runtime interface, as text. Pure.

All that goes in are numbers, parsed addresses, and names that we made ourselves; `_word` makes sure of it
once more. A Service's name, port names and annotations are never part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fairway.lb.balancer.model import Listener, Server

Slots = Mapping[str, tuple[Server | None, ...]]
_WORD = re.compile(r"[A-Za-z0-9_./:@\[\]-]+")
UNUSED = "127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class Setting:
    """Where this HAProxy lives: its files, and the node's addresses that it listens on."""

    folder: PurePath
    socket: PurePath
    addresses: tuple[str, ...]


def configuration(setting: Setting, listeners: tuple[Listener, ...], slots: Slots) -> str:
    lines = _global(setting)
    for listener in listeners:
        lines += _frontend(setting, listener) + _backend(listener, slots[listener.name])
    return "\n".join(lines) + "\n"


def _global(setting: Setting) -> list[str]:
    return [
        "global",
        f"    stats socket {_word(setting.socket)} mode 600 level admin expose-fd listeners",
        "    hard-stop-after 60s",
        "    ssl-default-bind-options ssl-min-ver TLSv1.2",
        "    tune.ssl.default-dh-param 2048",
        "defaults",
        "    timeout connect 5s",
        "    timeout http-request 30s",
        "    timeout tunnel 1h",
        "    retries 3",
        "    option redispatch 1",
        "    timeout check 5s",
        "    default-server check inter 2s fall 3 rise 1",
    ]


def _frontend(setting: Setting, listener: Listener) -> list[str]:
    tls = ""
    if listener.wish.terminate:
        tls = f" ssl crt {_word(setting.folder / listener.certificate)}"
        tls += " alpn h2,http/1.1" if listener.wish.http else ""
    binds = [f"    bind {_endpoint(address, listener.local)}{tls}" for address in setting.addresses]
    lines = [f"frontend {_word(listener.name)}", f"    mode {_mode(listener)}", *binds]
    lines.append(f"    timeout client {int(listener.idle_seconds)}s")
    if listener.sources is not None:
        allowed = " ".join(_word(source) for source in listener.sources)
        refused = f"if !{{ src {allowed} }}" if allowed else ""
        lines.append(f"    tcp-request connection reject {refused}".rstrip())
    if listener.wish.http:
        # What a client claims about itself in these headers is not to be believed by anyone.
        scheme = "https" if listener.wish.terminate else "http"
        lines += [
            "    http-request del-header X-Forwarded-For",
            "    option forwardfor",
            f"    http-request set-header X-Forwarded-Proto {scheme}",
            f"    http-request set-header X-Forwarded-Port {int(listener.port)}",
        ]
    return [*lines, f"    default_backend {_word(listener.name)}"]


def _backend(listener: Listener, slots: tuple[Server | None, ...]) -> list[str]:
    # Few bytes long, connections differ in how long they last; requests hardly do.
    balance = "roundrobin" if listener.wish.http else "leastconn"
    options = " ssl verify none" if listener.wish.encrypt else ""
    options += " send-proxy" if listener.proxy_protocol else ""
    lines = [
        f"backend {_word(listener.name)}",
        f"    mode {_mode(listener)}",
        f"    balance {balance}",
        f"    timeout server {int(listener.idle_seconds)}s",
    ]
    for number, server in enumerate(slots, 1):
        place = _endpoint(server.ip, server.port) if server else UNUSED
        lines.append(f"    server s{number} {place}{options}{'' if server else ' disabled'}")
    return lines


def changes(name: str, before: tuple[Server | None, ...], after: tuple[Server | None, ...]) -> list[str]:
    """The commands that bring a backend from one arrangement to another; both have as many slots."""
    commands = []
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        slot = f"{_word(name)}/s{number}"
        if old == new:
            continue
        if new is None:
            commands.append(f"set server {slot} state maint")
        else:
            commands.append(f"set server {slot} addr {_word(new.ip)} port {int(new.port)}")
            commands.append(f"set server {slot} state ready")
            # Else it would inherit what was found out about its predecessor, or fall with its first check.
            commands.append(f"set server {slot} health up")
    # Who arrives comes first: there is no moment with fewer servers than there have to be.
    return sorted(commands, key=lambda command: command.endswith("maint"))


def new_certificate(path: PurePath, pem: bytes) -> tuple[str, str]:
    """The two steps of replacing a certificate in a running HAProxy."""
    text = "\n".join(line for line in pem.decode("ascii").splitlines() if line.strip())
    return f"set ssl cert {_word(path)} <<\n{text}\n\n", f"commit ssl cert {_word(path)}\n"


def _mode(listener: Listener) -> str:
    return "http" if listener.wish.http else "tcp"


def _endpoint(address: str, port: int) -> str:
    return f"[{_word(address)}]:{int(port)}" if ":" in address else f"{_word(address)}:{int(port)}"


def _word(value: object) -> str:
    text = str(value)
    if not _WORD.fullmatch(text):
        raise ValueError(f"not a word for a configuration: {text!r}")
    return text
