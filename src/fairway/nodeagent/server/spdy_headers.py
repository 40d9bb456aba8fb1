"""SPDY/3.1 header blocks: length-prefixed pairs, compressed by one zlib stream a direction. No I/O.

The dictionary is that of the protocol's draft 3, section 2.6.10.1; both sides must start from the same bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges "
    "age allow authorization cache-control connection content-base content-encoding content-language "
    "content-length content-location content-md5 content-range content-type date etag expect expires from "
    "host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location "
    "max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer "
    "transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version "
    "HTTP/1.1 url public set-cookie keep-alive origin"
)
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
LARGEST_BLOCK = 64 * 1024


class BadHeaders(ValueError):
    """A header block that can't be read. The compression is out of step after it, so nothing can follow."""


def _length_prefixed(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


DICTIONARY = (
    b"".join(_length_prefixed(word.replace("_", " ").encode()) for word in _WORDS.split()) + _TAIL.encode()
)


class HeaderWriter:
    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)

    def block(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers)) + b"".join(
            _length_prefixed(name.lower().encode()) + _length_prefixed(value.encode())
            for name, value in headers.items()
        )
        return self._compressor.compress(plain) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


class HeaderReader:
    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)

    def headers(self, block: bytes) -> dict[str, str]:
        """Names in lower case, as they are sent."""
        try:
            plain = self._decompressor.decompress(block, LARGEST_BLOCK)
        except zlib.error as error:
            raise BadHeaders(str(error)) from error
        if self._decompressor.unconsumed_tail:
            raise BadHeaders(f"a header block of more than {LARGEST_BLOCK} bytes")
        return _pairs(plain)


def _pairs(plain: bytes) -> dict[str, str]:
    try:
        (count,) = struct.unpack_from(">I", plain)
        texts, offset = [], 4
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", plain, offset)
            text = plain[offset + 4 : offset + 4 + length]
            if len(text) != length:
                raise BadHeaders("a header block that is cut off")
            texts.append(text.decode("latin-1"))
            offset += 4 + length
    except struct.error as error:
        raise BadHeaders("a header block that is cut off") from error
    return dict(zip(texts[::2], texts[1::2], strict=True))
