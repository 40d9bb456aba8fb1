"""Answers as bytes: status lines, headers, chunks. Pure."""

from __future__ import annotations

from fairway.httpserver.messages import Headers, reason_phrase

# Made once; every other status is put together when it is needed.
_FREQUENT = (
    200,
    201,
    202,
    204,
    206,
    301,
    302,
    304,
    400,
    401,
    403,
    404,
    405,
    406,
    409,
    410,
    413,
    415,
    422,
    429,
)

LAST_CHUNK = b"0\r\n\r\n"


def _made_line(status: int) -> bytes:
    return f"HTTP/1.1 {status} {reason_phrase(status)}\r\n".encode()


_STATUS_LINES = {status: _made_line(status) for status in _FREQUENT}


def head(status: int, content_type: str, extra: Headers, framing: str) -> bytes:
    """Everything before the body; `framing` says how long it is, and whether the connection ends with it."""
    lines = [f"{name}: {value}\r\n" for name, value in extra]
    if content_type:
        lines.append(f"Content-Type: {content_type}\r\n")
    line = _STATUS_LINES.get(status) or _made_line(status)
    return line + ("".join(lines) + framing).encode("latin-1", "replace")


def sized(length: int, keep_alive: bool) -> str:
    return (
        f"Content-Length: {length}\r\n\r\n" if keep_alive else f"Content-Length: {length}\r\n{_CLOSING}\r\n"
    )


def streamed(chunked: bool, keep_alive: bool) -> str:
    """HTTP/1.0 knows no chunks: there the end of the connection is the end of the body."""
    if not chunked:
        return f"{_CLOSING}\r\n"
    return (
        "Transfer-Encoding: chunked\r\n\r\n"
        if keep_alive
        else f"Transfer-Encoding: chunked\r\n{_CLOSING}\r\n"
    )


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_CLOSING = "Connection: close\r\n"
