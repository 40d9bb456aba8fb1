"""ARP (RFC 826, RFC 5227) and neighbour discovery (RFC 4861) as frames. Pure: bytes to questions and back."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_ARP, _IPV6 = b"\x08\x06", b"\x86\xdd"
_ETHERNET_IPV4 = struct.pack("!HHBB", 1, 0x0800, 6, 4)
_REQUEST, _REPLY = 1, 2
_BROADCAST = b"\xff" * 6
_ICMPV6, _SOLICITATION, _ADVERTISEMENT = 58, 135, 136
_SOLICITED, _OVERRIDE = 0x40000000, 0x20000000
_SOURCE_OPTION, _TARGET_OPTION = 1, 2
_ALL_NODES = ipaddress.IPv6Address("ff02::1")
# Tells a node that has taken an address over from any host that asks who has it: in ARP as the hardware
# address looked for, which says nothing otherwise, and in neighbour discovery as a nonce (RFC 7527).
_TAKING_OVER, _NONCE_OPTION = b"\x02fw-lb", 14
_NOBODY4, _NOBODY6 = ipaddress.IPv4Address(0), ipaddress.IPv6Address(0)


@dataclass(frozen=True, slots=True)
class Question:
    """Someone asks who has an address."""

    address: Address
    asker: Address
    mac: bytes
    takes_over: bool = False
    """The asker has the right to the address now, and wants to know whether anyone still answers for it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Someone says that an address is at a MAC."""

    address: Address
    mac: bytes


def read(frame: bytes) -> Question | Claim | None:
    """None for anything else, and for what is cut short or malformed."""
    if frame[12:14] == _ARP:
        return _read_arp(frame[14:42])
    if frame[12:14] == _IPV6:
        return _read_neighbour(frame[6:12], frame[14:])
    return None


def _read_arp(packet: bytes) -> Question | Claim | None:
    if len(packet) < 28 or packet[:6] != _ETHERNET_IPV4:
        return None
    operation = int.from_bytes(packet[6:8], "big")
    mac, sender = packet[8:14], ipaddress.IPv4Address(packet[14:18])
    target = ipaddress.IPv4Address(packet[24:28])
    if operation == _REQUEST and sender != target:
        return Question(target, sender, mac, packet[18:24] == _TAKING_OVER)
    return Claim(sender, mac) if operation in (_REQUEST, _REPLY) and sender != _NOBODY4 else None


def _read_neighbour(sender_mac: bytes, packet: bytes) -> Question | Claim | None:
    if len(packet) < 64 or packet[6] != _ICMPV6 or packet[7] != 255:
        return None
    kind, target = packet[40], ipaddress.IPv6Address(packet[48:64])
    source = ipaddress.IPv6Address(packet[8:24])
    if kind == _SOLICITATION:
        takes_over = _option(packet[64:], _NONCE_OPTION) == _TAKING_OVER
        return Question(target, source, _option(packet[64:], _SOURCE_OPTION) or sender_mac, takes_over)
    if kind == _ADVERTISEMENT:
        return Claim(target, _option(packet[64:], _TARGET_OPTION) or sender_mac)
    return None


def _option(options: bytes, wanted: int) -> bytes:
    while len(options) >= 8 and options[1]:
        if options[0] == wanted:
            return options[2:8]
        options = options[8 * options[1] :]
    return b""


def answer(question: Question, mac: bytes) -> bytes:
    """What the one who has the address says."""
    if isinstance(question.address, ipaddress.IPv4Address):
        return _arp(_REPLY, question.mac, mac, question.address, question.mac, question.asker)
    if question.asker == _NOBODY6:
        return _advertisement(mac, question.address, _ALL_NODES, _multicast_mac(_ALL_NODES), _OVERRIDE)
    asker = ipaddress.IPv6Address(question.asker)
    return _advertisement(mac, question.address, asker, question.mac, _SOLICITED | _OVERRIDE)


def announcement(address: Address, mac: bytes) -> tuple[bytes, ...]:
    """Unasked, to everyone. Some listen to gratuitous requests only, some to replies only: both are sent."""
    if isinstance(address, ipaddress.IPv4Address):
        return (
            _arp(_REQUEST, _BROADCAST, mac, address, bytes(6), address),
            _arp(_REPLY, _BROADCAST, mac, address, _BROADCAST, address),
        )
    return (_advertisement(mac, address, _ALL_NODES, _multicast_mac(_ALL_NODES), _OVERRIDE),)


def probe(address: Address, mac: bytes) -> bytes:
    """Asks who else has an address, in the name of nobody, so that no cache learns anything from it."""
    return _probe(address, mac, bytes(6), b"")


def take_over(address: Address, mac: bytes) -> bytes:
    """A probe that tells whoever answers for the address without a right to it to stop."""
    return _probe(address, mac, _TAKING_OVER, bytes((_NONCE_OPTION, 1)) + _TAKING_OVER)


def _probe(address: Address, mac: bytes, looked_for: bytes, option: bytes) -> bytes:
    if isinstance(address, ipaddress.IPv4Address):
        return _arp(_REQUEST, _BROADCAST, mac, _NOBODY4, looked_for, address)
    group = solicited_node(address)
    body = struct.pack("!BBHI", _SOLICITATION, 0, 0, 0) + address.packed + option
    return _icmpv6(mac, _multicast_mac(group), _NOBODY6, group, body)


def solicited_node(address: ipaddress.IPv6Address) -> ipaddress.IPv6Address:
    """The multicast group that questions about an address are sent to (RFC 4291, 2.7.1)."""
    return ipaddress.IPv6Address(int(ipaddress.IPv6Address("ff02::1:ff00:0")) | int(address) & 0xFFFFFF)


def _arp(operation: int, to: bytes, mac: bytes, sender: Address, target_mac: bytes, target: Address) -> bytes:
    body = mac + sender.packed + target_mac + target.packed
    return to + mac + _ARP + _ETHERNET_IPV4 + struct.pack("!H", operation) + body


def _advertisement(
    mac: bytes, address: ipaddress.IPv6Address, to: ipaddress.IPv6Address, to_mac: bytes, flags: int
) -> bytes:
    body = struct.pack("!BBHI", _ADVERTISEMENT, 0, 0, flags) + address.packed
    return _icmpv6(mac, to_mac, address, to, body + bytes((_TARGET_OPTION, 1)) + mac)


def _icmpv6(
    mac: bytes, to_mac: bytes, source: ipaddress.IPv6Address, to: ipaddress.IPv6Address, body: bytes
) -> bytes:
    pseudo = source.packed + to.packed + struct.pack("!II", len(body), _ICMPV6)
    checksum = _checksum(pseudo + body)
    header = struct.pack("!IHBB", 6 << 28, len(body), _ICMPV6, 255) + source.packed + to.packed
    return to_mac + mac + _IPV6 + header + body[:2] + struct.pack("!H", checksum) + body[4:]


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _multicast_mac(group: ipaddress.IPv6Address) -> bytes:
    return b"\x33\x33" + group.packed[-4:]
