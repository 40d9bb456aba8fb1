"""Objects as bytes: how they are kept in the store, in memory and on the wire.

An object is encoded once, when it is written. Stored text is `{"metadata":{…},…}` without kind, version
and resourceVersion, because those are known from the key and the revision. In memory the revision is
spliced in and the opening brace left off, so that GET, LIST and WATCH only join bytes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.resources import Resource

Obj = dict[str, Any]

_OPENING = b'{"metadata":{'
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


def stored_text(obj: Obj) -> bytes:
    """What the store keeps."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "kind", "apiVersion")}
    return _encode({"metadata": metadata, **rest})


def body_text(stored: bytes, revision: int) -> bytes:
    """What memory keeps: the object with its resourceVersion, without the opening brace."""
    return b'"metadata":{"resourceVersion":"%d",%b' % (revision, stored[len(_OPENING) :])


def decode_body(body: bytes) -> Obj:
    return _decode(b"{" + body)


def decode_stored(stored: bytes) -> Obj:
    return _decode(stored)


def object_prefix(resource: Resource) -> bytes:
    """What goes before a body to make a whole object of it."""
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()


def encode(value: Any) -> bytes:
    return _encode(value)


def list_text(resource: Resource, metadata: Obj, bodies: list[bytes]) -> bytes:
    """A whole list; the items of built-in lists carry no kind and version of their own."""
    head = (
        f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        + _encode(metadata)
        + b',"items":['
    )
    if not bodies:
        return head + b"]}"
    return head + b"{" + b",{".join(bodies) + b"]}"
