"""The watch protocol without I/O: bytes in, events out.

A watch answers one JSON object a line. Lines are cut and decoded a chunk at a time; the object inside an
event stays raw, so that its reader decodes it once, into the type it wants.
"""

from __future__ import annotations

import msgspec

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """What every object's metadata tells about the object."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def ends_initial_events(self) -> bool:
        return (self.annotations or {}).get(INITIAL_EVENTS_END) == "true"


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity = Identity()


_decode_events = msgspec.json.Decoder(WatchEvent).decode_lines
_decode_identity = msgspec.json.Decoder(_Identified).decode


def identify(obj: msgspec.Raw) -> Identity:
    return _decode_identity(obj).metadata


class WatchStream:
    """Cuts a byte stream into events. A line may come in many chunks and a chunk may hold many lines."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []

    def feed(self, chunk: bytes) -> list[WatchEvent]:
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._partial.append(chunk)
            return []
        lines = b"".join([*self._partial, chunk[:end]])
        self._partial = [chunk[end:]] if end < len(chunk) else []
        return _decode_events(lines)

    def close(self) -> list[WatchEvent]:
        """The last line, if it ended without a newline. A torn one raises msgspec.DecodeError."""
        rest, self._partial = b"".join(self._partial), []
        return _decode_events(rest) if rest.strip() else []
