"""The options of the `cache` directive: how many answers of each kind, and how long at least and at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fairway.dns import names, wire
from fairway.dns.arguments import duration, integer, zones
from fairway.dns.corefile import Directive
from fairway.dns.wire import Record, Reply

_CAPACITY = 9984
_SHORTEST = 5


@dataclass(frozen=True)
class Bounds:
    """Limits for one kind of answer."""

    longest: int
    shortest: int = _SHORTEST
    capacity: int = _CAPACITY

    def ttl_of(self, reply: Reply) -> int:
        """The smallest TTL of the answer's records, within the limits."""
        found = [_life(record) for record in (*reply.answer, *reply.authority, *reply.additional)]
        return max(self.shortest, min(self.longest, *found)) if found else self.shortest


def _life(record: Record) -> int:
    # How long a denial holds is the lesser of the SOA's TTL and its last field (RFC 2308 section 5).
    if record.type == wire.SOA:
        return min(record.ttl, int.from_bytes(record.data[-4:], "big"))
    return record.ttl


@dataclass(frozen=True)
class Options:
    zones: tuple[bytes, ...]
    success: Bounds = Bounds(3600)
    denial: Bounds = Bounds(1800)
    servfail: Bounds = Bounds(5)
    prefetch: int = 0
    prefetch_part: float = 0.1
    stale: float = 0.0
    verify: bool = False
    keep_ttl: bool = False
    uncached_success: tuple[bytes, ...] = ()
    uncached_denial: tuple[bytes, ...] = ()


def parse(directive: Directive, block_zones: tuple[bytes, ...]) -> Options:
    args = list(directive.args)
    longest = integer(directive, args.pop(0), 1) if args and args[0].isdigit() else None
    options = Options(zones(directive, args, block_zones))
    if longest is not None:
        # One TTL caps both kinds; denials are never kept longer than half an hour by default.
        options = replace(options, success=Bounds(longest), denial=Bounds(min(longest, 1800)))
    for line in directive.body:
        reader = _READERS.get(line.name)
        if reader is None:
            raise line.unknown_property("cache")
        options = reader(options, line)
    return options


def _bounds(line: Directive, now: Bounds) -> Bounds:
    if not 1 <= len(line.args) <= 3:
        raise line.wrong_arguments()
    numbers = [integer(line, arg) for arg in line.args]
    longest = numbers[1] if len(numbers) > 1 else now.longest
    shortest = numbers[2] if len(numbers) > 2 else now.shortest
    return Bounds(longest, min(shortest, longest), numbers[0])


def _prefetch(options: Options, line: Directive) -> Options:
    if not 1 <= len(line.args) <= 3:
        raise line.wrong_arguments()
    options = replace(options, prefetch=integer(line, line.args[0]))
    if len(line.args) == 3:
        percent = integer(line, line.args[2].removesuffix("%"), 10, 90)
        options = replace(options, prefetch_part=percent / 100)
    return options


def _serve_stale(options: Options, line: Directive) -> Options:
    if len(line.args) > 2 or (len(line.args) == 2 and line.args[1] not in ("immediate", "verify")):
        raise line.wrong_arguments()
    stale = duration(line, line.args[0]) if line.args else 3600.0
    return replace(options, stale=stale, verify=line.args[1:] == ("verify",))


def _servfail(options: Options, line: Directive) -> Options:
    seconds = int(duration(line, line.one()))
    if seconds > 300:
        raise line.error(
            f"plugin/cache: caching SERVFAIL responses over 5 minutes is not permitted: '{line.args[0]}'"
        )
    return replace(options, servfail=Bounds(seconds, min(_SHORTEST, seconds)))


def _disable(options: Options, line: Directive) -> Options:
    if not line.args or line.args[0] not in ("success", "denial"):
        raise line.wrong_arguments()
    off = zones(line, line.args[1:], (names.ROOT,))
    if line.args[0] == "success":
        return replace(options, uncached_success=off)
    return replace(options, uncached_denial=off)


def _keep_ttl(options: Options, line: Directive) -> Options:
    line.none()
    return replace(options, keep_ttl=True)


_READERS: dict[str, Callable[[Options, Directive], Options]] = {
    "success": lambda options, line: replace(options, success=_bounds(line, options.success)),
    "denial": lambda options, line: replace(options, denial=_bounds(line, options.denial)),
    "servfail": _servfail,
    "prefetch": _prefetch,
    "serve_stale": _serve_stale,
    "disable": _disable,
    "keepttl": _keep_ttl,
}
