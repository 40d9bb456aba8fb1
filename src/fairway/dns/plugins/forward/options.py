"""The options of the `forward` directive, and the servers it names, those of a resolv.conf included."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairway.dns import names
from fairway.dns.arguments import duration, host_port, integer, zone_or_network, zones
from fairway.dns.corefile import Directive

_PORT = 53
_POLICIES = ("random", "round_robin", "sequential")
_SECURE = ("tls://", "https://", "grpc://")


@dataclass(frozen=True)
class Options:
    """What one `forward` line asks for."""

    origin: bytes
    to: tuple[tuple[str, int], ...]
    excepted: tuple[bytes, ...] = ()
    force_tcp: bool = False
    prefer_udp: bool = False
    policy: str = "random"
    max_fails: int = 2
    health_interval: float = 0.5
    health_domain: bytes = names.ROOT
    health_recurse: bool = True
    max_concurrent: int = 0
    expire: float = 10.0


def parse(directive: Directive, read_file: Callable[[str], str]) -> Options:
    if len(directive.args) < 2:
        raise directive.wrong_arguments()
    origin = zone_or_network(directive, directive.args[0])
    to = [server for arg in directive.args[1:] for server in _servers(directive, arg, read_file)]
    options = Options(origin[0], tuple(dict.fromkeys(to)))
    if not options.to:
        raise directive.error("plugin/forward: no nameservers found")
    for line in directive.body:
        reader = _READERS.get(line.name)
        if reader is None:
            raise line.unknown_property("forward")
        options = reader(options, line)
    return options


def _servers(directive: Directive, text: str, read_file: Callable[[str], str]) -> list[tuple[str, int]]:
    if text.startswith(_SECURE):
        raise directive.error(f"plugin/forward: '{text}': only plain DNS is spoken to upstream servers")
    host, port = host_port(directive, text.removeprefix("dns://"), _PORT)
    try:
        return [(str(ipaddress.ip_address(host)), port)]
    except ValueError:
        pass
    try:
        content = read_file(text)
    except OSError:
        raise directive.error(f"plugin/forward: not an IP address or file: '{text}'") from None
    return [(server, _PORT) for server in name_servers(content)]


def name_servers(content: str) -> list[str]:
    """The addresses of a resolv.conf."""
    found = []
    for line in content.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "nameserver":
            try:
                found.append(str(ipaddress.ip_address(words[1].partition("%")[0])))
            except ValueError:
                continue
    return found


def _flag(name: str) -> Callable[[Options, Directive], Options]:
    def read(options: Options, line: Directive) -> Options:
        line.none()
        return replace(options, **{name: True})  # type: ignore[arg-type]

    return read


def _except(options: Options, line: Directive) -> Options:
    if not line.args:
        raise line.wrong_arguments()
    return replace(options, excepted=(*options.excepted, *zones(line, line.args, ())))


def _policy(options: Options, line: Directive) -> Options:
    if line.one() not in _POLICIES:
        raise line.error(f"plugin/forward: unknown policy '{line.args[0]}'")
    return replace(options, policy=line.args[0])


def _health_check(options: Options, line: Directive) -> Options:
    if not line.args:
        raise line.wrong_arguments()
    options = replace(options, health_interval=duration(line, line.args[0]))
    words = list(line.args[1:])
    while words:
        match words.pop(0):
            case "no_rec":
                options = replace(options, health_recurse=False)
            case "domain" if words:
                options = replace(options, health_domain=zone_or_network(line, words.pop(0))[0])
            case other:
                raise line.error(f"plugin/forward: unknown option '{other}' in health_check")
    return options


_READERS: dict[str, Callable[[Options, Directive], Options]] = {
    "except": _except,
    "force_tcp": _flag("force_tcp"),
    "prefer_udp": _flag("prefer_udp"),
    "policy": _policy,
    "max_fails": lambda options, line: replace(options, max_fails=integer(line, line.one())),
    "max_concurrent": lambda options, line: replace(options, max_concurrent=integer(line, line.one())),
    "expire": lambda options, line: replace(options, expire=duration(line, line.one())),
    "health_check": _health_check,
}
