"""One object in memory: its bytes, and the little of it that selectors look at."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairway.api.kind import Kind, Obj
from fairway.apiserver.encoding import body_text, decode_body

_REVISION_MARK = b'"metadata":{"resourceVersion":"'


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_labelled = msgspec.json.Decoder(_Labelled).decode


class Entry:
    __slots__ = ("_fields", "body", "created", "key", "labels", "name", "namespace", "revision")

    def __init__(self, key: str, stored: bytes, revision: int, created: int) -> None:
        self.key = key
        self.namespace, _, self.name = key.rpartition("/")
        self.revision = revision
        self.created = created
        self.body = body_text(stored, revision)
        self.labels: Mapping[str, str] = {}
        self._fields: Mapping[str, str] | None = None
        if b'"labels":' in stored:
            self.labels = _labelled(stored).metadata.labels or {}

    def field(self, kind: Kind, name: str) -> str:
        """What a field selector compares; found when the first one looks."""
        if name == "metadata.name":
            return self.name
        if name == "metadata.namespace":
            return self.namespace
        if self._fields is None or name not in self._fields:
            obj = self.obj()
            found = {each: value(obj) for each, value in kind.fields.items()}
            self._fields = {**(self._fields or {}), **found}
        return self._fields.get(name, "")

    def obj(self) -> Obj:
        return decode_body(self.body)

    def at(self, revision: int) -> Entry:
        """The same object under another revision, as DELETED events show it."""
        copy = Entry.__new__(Entry)
        copy.key, copy.namespace, copy.name = self.key, self.namespace, self.name
        copy.revision, copy.created = revision, self.created
        copy.labels, copy._fields = self.labels, self._fields
        end = self.body.index(b'"', len(_REVISION_MARK))
        copy.body = b"%b%d%b" % (_REVISION_MARK, revision, self.body[end:])
        return copy
