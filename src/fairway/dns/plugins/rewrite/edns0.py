"""`rewrite edns0 …`: EDNS options put into questions on their way to other servers.

rewrite edns0 local set|replace|append|unset CODE [DATA]     (DATA: text, 0x and hex digits, or a {variable})
rewrite edns0 nsid set|replace|append|unset
rewrite edns0 subnet set|replace|append|unset V4-BITS V6-BITS
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from fairway.dns import explain, names
from fairway.dns.arguments import integer
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Request
from fairway.dns.plugins.rewrite.rules import Rule, Undo, keep
from fairway.dns.wire import Edns, Query

_NSID, _SUBNET = 3, 8
_ACTIONS = ("set", "replace", "append", "unset")
_SIZE = 4096

Content = Callable[[Query, Request], bytes]


@dataclass(frozen=True)
class OptionRule:
    """One option: `set` puts it in or changes it, `replace` only changes it, `append` always adds it."""

    action: str
    code: int
    content: Content

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        edns = query.edns or Edns(_SIZE)
        there = list(explain.options(edns.options))
        has = any(code == self.code for code, _ in there)
        if self.action in ("replace", "unset") and not has:
            return None
        kept = there if self.action == "append" else [row for row in there if row[0] != self.code]
        if self.action != "unset":
            kept.append((self.code, self.content(query, request)))
        data = b"".join(struct.pack("!HH", code, len(content)) + content for code, content in kept)
        return msgspec.structs.replace(query, edns=msgspec.structs.replace(edns, options=data)), keep


def parse(line: Directive, words: list[str]) -> Rule:
    words = [word for word in words if word != "revert"]
    match words:
        case ["local", "unset", code]:
            return OptionRule("unset", _code(line, code), _nothing)
        case ["local", action, code, data] if action in _ACTIONS:
            return OptionRule(action, _code(line, code), _data(line, data))
        case ["nsid", action] if action in _ACTIONS:
            return OptionRule(action, _NSID, _nothing)
        case ["subnet", "unset"]:
            return OptionRule("unset", _SUBNET, _nothing)
        case ["subnet", action, four, six] if action in _ACTIONS:
            return OptionRule(
                action, _SUBNET, _subnet(integer(line, four, 0, 32), integer(line, six, 0, 128))
            )
    raise line.error(f"plugin/rewrite: wrong edns0 rule '{' '.join(words)}'")


def _nothing(query: Query, request: Request) -> bytes:
    return b""


def _code(line: Directive, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise line.error(f"plugin/rewrite: '{text}' is no option code") from None


def _data(line: Directive, text: str) -> Content:
    if text.startswith("{") and text.endswith("}"):
        found = _VARIABLES.get(text[1:-1])
        if found is None:
            raise line.error(f"plugin/rewrite: unsupported variable name '{text}'")
        return found
    if text.startswith("0x"):
        try:
            fixed = bytes.fromhex(text[2:])
        except ValueError:
            raise line.error(f"plugin/rewrite: '{text}' is no hexadecimal data") from None
    else:
        fixed = text.encode()
    return lambda query, request: fixed


def _subnet(four: int, six: int) -> Content:
    """The client's network (RFC 7871): no more of its address than asked for."""

    def content(query: Query, request: Request) -> bytes:
        address = ipaddress.ip_address(request.client)
        bits = four if address.version == 4 else six
        network = ipaddress.ip_network((address, bits), strict=False)
        packed = network.network_address.packed[: (bits + 7) // 8]
        return struct.pack("!HBB", 1 if address.version == 4 else 2, bits, 0) + packed

    return content


_VARIABLES: dict[str, Content] = {
    "qname": lambda query, request: names.to_text(query.name).encode(),
    "qtype": lambda query, request: struct.pack("!H", query.type),
    "client_ip": lambda query, request: ipaddress.ip_address(request.client).packed,
    "client_port": lambda query, request: struct.pack("!H", request.port),
    "protocol": lambda query, request: b"tcp" if request.tcp else b"udp",
}
