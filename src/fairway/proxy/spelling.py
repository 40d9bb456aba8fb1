"""How Kubernetes spells values in flags and in configuration files: durations, ranges, addresses with a port.

Each reader raises ValueError with a text that says what was expected. Pure.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable

# What may stand for ranges of node addresses.
PRIMARY, LOCALHOST, ALL = "primary", "localhost", "all"
_KEYWORDS = {LOCALHOST: ("127.0.0.0/8", "::1/128"), ALL: ("0.0.0.0/0", "::/0"), PRIMARY: (PRIMARY,)}

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")


def duration(text: str) -> float:
    """`5s`, `1m`, `2h22m`: seconds."""
    word = text.strip()
    if word == "0":
        return 0.0
    if not _DURATION.fullmatch(word):
        raise ValueError(f"{text!r} is no duration; write it as 5s, 1m or 2h22m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(word))


def spell_duration(seconds: float) -> str:
    """As Go prints it, as far as anyone needs."""
    if seconds != int(seconds):
        return f"{round(seconds * 1000)}ms" if seconds < 1 else f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def ranges(listed: Iterable[str]) -> tuple[str, ...]:
    return tuple(_range(word) for word in listed)


def _range(word: str) -> str:
    try:
        return str(ipaddress.ip_network(str(word)))
    except ValueError as error:
        raise ValueError(f"{error}; a range is written as 10.244.0.0/16") from error


def node_ranges(listed: Iterable[str]) -> tuple[str, ...]:
    """Ranges of a node's addresses, where `primary` stays to be replaced by what the Node object says."""
    found: list[str] = []
    for word in map(str, listed):
        found += _KEYWORDS.get(word) or ranges([word])
    return tuple(dict.fromkeys(found))


def address(text: str) -> str:
    return str(ipaddress.ip_address(text.strip()))


def listening(text: str, port: int) -> tuple[str, int] | None:
    """`0.0.0.0:10256`, `[::]:10256`, an address alone for the usual port; empty for no server at all."""
    word = text.strip()
    if not word:
        return None
    try:
        return str(ipaddress.ip_address(word.strip("[]"))), port
    except ValueError:
        pass
    host, _, number = word.rpartition(":")
    if not number.isdecimal() or int(number) > 65535:
        raise ValueError(f"{text!r} is no address to listen on; write it as 0.0.0.0:{port} or [::]:{port}")
    return address(host.strip("[]")), int(number)


def spell_listening(where: tuple[str, int] | None) -> str:
    return spell_address(*where) if where else ""


def spell_address(host: str, port: int) -> str:
    """`10.244.1.5:80`, `[fd00::5]:80`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_range(text: str) -> tuple[int, int] | None:
    """`30000-32767`, `30000+100` or one port, both ends counted; empty or 0-0 for any port."""
    word = text.strip()
    if word in ("", "0-0", "0"):
        return None
    first, sign, second = word.partition("+" if "+" in word else "-")
    try:
        low = int(first)
        high = low if not sign else low + int(second) if sign == "+" else int(second)
    except ValueError:
        low, high = 1, 0
    if not 0 < low <= high < 65536:
        raise ValueError(f"{text!r} is no range of ports; write it as 30000-32767 or 30000+2767")
    return low, high


def spell_port_range(ports: tuple[int, int] | None) -> str:
    return f"{ports[0]}-{ports[1]}" if ports else ""


def feature_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false`."""
    gates: dict[str, bool] = {}
    for word in words(text):
        name, sign, value = word.partition("=")
        if not sign or value.lower() not in ("true", "false"):
            raise ValueError(f"{word!r} is no feature gate; write it as Name=true")
        gates[name.strip()] = value.lower() == "true"
    return gates


def within(low: int, high: int) -> Callable[[int], int]:
    def check(number: int) -> int:
        if not low <= number <= high:
            raise ValueError(f"{number} is not between {low} and {high}")
        return number

    return check
