"""The OpenAPI documents: /openapi/v2 (JSON and gnostic protobuf), /openapi/v3 and one for each group version.

kubectl reads them to explain fields, to know whether the server checks fields, and for merge keys. Each
document is built when it is first asked for and kept as bytes; importing this costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

import msgspec

from fairway.api.schema import gnostic
from fairway.api.schema.definitions import Dialect
from fairway.api.schema.operations import Paths, Served, shapes_of

V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The Content-Type of the gnostic encoding. Clients ask for it with `@` in place of the third dot, but an
answer that repeats the `@` is no valid media type to Go, and they refuse it."""
V2_PROTOBUF_ASKED: Final = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", V2_PROTOBUF)


class OpenApi:
    """The documents for a set of resources, which does not change while the server runs."""

    def __init__(self, served: Iterable[Served], version: str = "v1.37.0") -> None:
        self.served = tuple(entry for entry in served if entry.has_shape)
        self.info: dict[str, Any] = {"title": "Kubernetes", "version": version}
        self._built: dict[str, bytes] = {}

    @cached_property
    def v2(self) -> bytes:
        return msgspec.json.encode(self._swagger())

    @cached_property
    def v2_protobuf(self) -> bytes:
        """What kubectl reads, old ones in no other form."""
        return gnostic.encode(self._swagger())

    @cached_property
    def v3(self) -> bytes:
        """The index: where each group version's document is, under a name that changes with its content."""
        paths = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self.digest(path)}"}
            for path in sorted({_path(entry) for entry in self.served})
        }
        return msgspec.json.encode({"paths": paths})

    def v3_group(self, path: str) -> bytes | None:
        """The document of `api/v1` or `apis/GROUP/VERSION`; None if there is no such group version."""
        if path not in self._built:
            served = [entry for entry in self.served if _path(entry) == path]
            if not served:
                return None
            self._built[path] = msgspec.json.encode(self._document(served))
        return self._built[path]

    def digest(self, path: str) -> str:
        """The hash by which clients know whether the copy they keep is still good."""
        return hashlib.sha512(self.v3_group(path) or b"").hexdigest().upper()

    def _swagger(self) -> dict[str, Any]:
        dialect = Dialect(2, self._group_versions())
        paths = Paths(dialect, 2)
        for entry in self.served:
            paths.add(entry)
        return {
            "swagger": "2.0",
            "info": self.info,
            "paths": dict(sorted(paths.found.items())),
            "definitions": dialect.definitions(shapes_of(self.served)),
        }

    def _document(self, served: list[Served]) -> dict[str, Any]:
        dialect = Dialect(3, self._group_versions())
        paths = Paths(dialect, 3)
        for entry in served:
            paths.add(entry)
        return {
            "openapi": "3.0.0",
            "info": self.info,
            "paths": dict(sorted(paths.found.items())),
            "components": {"schemas": dialect.definitions(shapes_of(served))},
        }

    def _group_versions(self) -> list[tuple[str, str]]:
        return [(entry.resource.group, entry.resource.version) for entry in self.served]


def _path(entry: Served) -> str:
    return entry.resource.root.lstrip("/")
