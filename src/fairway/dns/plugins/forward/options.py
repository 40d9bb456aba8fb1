"""The options of the `forward` directive, and the servers it names, those of a resolv.conf included."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fairway.dns import names, rdata
from fairway.dns.arguments import duration, host_port, integer, zone_or_network, zones
from fairway.dns.corefile import Directive

_PORT, _TLS_PORT = 53, 853
_POLICIES = ("random", "round_robin", "sequential")
_UNSPOKEN = ("https://", "grpc://", "quic://")


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
    most_idle: int = 0
    secure: tuple[tuple[str, int, str], ...] = ()
    """Servers that are spoken to over TLS, with the name their certificate must have, if one is given."""
    tls_name: str = ""
    tls_files: tuple[str, ...] = ()
    """Certificate and key to show, and authorities to trust: in the order of CoreDNS's `tls`."""
    fail_fast: bool = False
    failover: frozenset[int] = frozenset()
    """Answers on which the next server is asked."""
    next: frozenset[int] = frozenset()
    """Answers on which the plugins behind are asked."""

    def tls_name_of(self, host: str, port: int) -> str | None:
        """The name to expect from a server; None if it is spoken to in the clear."""
        return first_name(name or self.tls_name or host for *at, name in self.secure if at == [host, port])


def parse(directive: Directive, read_file: Callable[[str], str]) -> Options:
    if len(directive.args) < 2:
        raise directive.wrong_arguments()
    origin = zone_or_network(directive, directive.args[0])
    to: list[tuple[str, int]] = []
    secure: list[tuple[str, int, str]] = []
    for arg in directive.args[1:]:
        if arg.startswith("tls://"):
            secure.append(_secure_server(directive, arg))
            to.append(secure[-1][:2])
        else:
            to += _servers(directive, arg, read_file)
    options = Options(origin[0], tuple(dict.fromkeys(to)), secure=tuple(secure))
    if not options.to:
        raise directive.error("plugin/forward: no nameservers found")
    for line in directive.body:
        reader = _READERS.get(line.name)
        if reader is None:
            raise line.unknown_property("forward")
        options = reader(options, line)
    return options


def first_name(found: Iterator[str]) -> str | None:
    return next(found, None)


def _secure_server(directive: Directive, text: str) -> tuple[str, int, str]:
    """`tls://9.9.9.9`, `tls://9.9.9.9:8853`, `tls://9.9.9.9%dns.quad9.net`."""
    rest, _, name = text.removeprefix("tls://").partition("%")
    host, port = host_port(directive, rest, _TLS_PORT)
    try:
        return str(ipaddress.ip_address(host)), port, name
    except ValueError:
        raise directive.error(f"plugin/forward: not an IP address: '{text}'") from None


def _servers(directive: Directive, text: str, read_file: Callable[[str], str]) -> list[tuple[str, int]]:
    if text.startswith(_UNSPOKEN):
        raise directive.error(f"plugin/forward: '{text}': only DNS over UDP, TCP and TLS is spoken")
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


def _tls(options: Options, line: Directive) -> Options:
    if len(line.args) > 3:
        raise line.wrong_arguments()
    return replace(options, tls_files=line.args)


def _rcodes(line: Directive) -> frozenset[int]:
    if not line.args:
        raise line.wrong_arguments()
    try:
        return frozenset(rdata.rcode_number(arg.upper()) for arg in line.args)
    except rdata.RecordError as error:
        raise line.error(f"plugin/forward: {error}") from None


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
    "tls": _tls,
    "tls_servername": lambda options, line: replace(options, tls_name=line.one()),
    "max_idle_conns": lambda options, line: replace(options, most_idle=integer(line, line.one())),
    "failfast_all_unhealthy_upstreams": _flag("fail_fast"),
    "failover": lambda options, line: replace(options, failover=_rcodes(line)),
    "next": lambda options, line: replace(options, next=_rcodes(line)),
}
