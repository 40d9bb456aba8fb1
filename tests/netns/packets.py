"""Packets written and read byte by byte, for what ordinary sockets won't send: SCTP, and TCP out of order."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from .topology import PATIENCE, Namespace

SCTP = 132
_CRC32C = 0x82F63B78


@dataclass(frozen=True)
class Segment:
    """A TCP segment as it arrived."""

    source: str
    source_port: int
    destination: str
    port: int
    sequence: int
    acknowledged: int
    flags: int
    length: int


def raw(where: Namespace, protocol: int) -> socket.socket:
    """Sees every IPv4 packet of the protocol that arrives there, and sends payloads of it."""
    opened = where.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol))
    opened.settimeout(PATIENCE)
    return opened


def sctp_init(source_port: int, port: int) -> bytes:
    """The chunk that opens an association; conntrack checks its checksum."""
    chunk = struct.pack(">BBHIIHHI", 1, 0, 20, 0x1234, 65536, 1, 1, 1)
    head = struct.pack(">HHI", source_port, port, 0)
    checksum = _crc32c(head + b"\0\0\0\0" + chunk)
    return head + struct.pack("<I", checksum) + chunk


def sctp_ports(packet: bytes) -> tuple[str, int, int]:
    """Of a packet with its IP header: source address, source port, destination port."""
    at = (packet[0] & 15) * 4
    source_port, port = struct.unpack_from(">HH", packet, at)
    return socket.inet_ntoa(packet[12:16]), source_port, port


def _crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (_CRC32C if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def segment(packet: bytes) -> Segment:
    at = (packet[0] & 15) * 4
    source_port, port, sequence, acknowledged, offset, flags = struct.unpack_from(">HHIIBB", packet, at)
    length = len(packet) - at - (offset >> 4) * 4
    source, destination = socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])
    return Segment(source, source_port, destination, port, sequence, acknowledged, flags, length)


def tcp_segment(
    source: tuple[str, int], destination: tuple[str, int], sequence: int, acknowledged: int, payload: bytes
) -> bytes:
    """A segment with ACK and PSH and a valid checksum, without its IP header."""

    def head(checksum: int) -> bytes:
        return struct.pack(
            ">HHIIBBHHH",
            source[1],
            destination[1],
            sequence & 0xFFFFFFFF,
            acknowledged & 0xFFFFFFFF,
            5 << 4,
            0x18,
            65535,
            checksum,
            0,
        )

    length = 20 + len(payload)
    pseudo = (
        socket.inet_aton(source[0]) + socket.inet_aton(destination[0]) + struct.pack(">BBH", 0, 6, length)
    )
    return head(_checksum(pseudo + head(0) + payload)) + payload


def _checksum(data: bytes) -> int:
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
