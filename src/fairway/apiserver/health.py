"""/healthz, /livez and /readyz: what load balancers and supervisors ask, with or without the details.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairway.httpserver import Response

CHECKS: Final = ("ping", "log", "etcd")
TEXT: Final = "text/plain; charset=utf-8"
NOT_FOUND: Final = Response(404, b"404 page not found\n", TEXT)


def health_answer(path: str, params: Mapping[str, str], stopping: bool = False) -> Response:
    """A server that is about to stop is alive, but no longer ready."""
    endpoint, _, check = path.strip("/").partition("/")
    if check:
        return Response(200, b"ok", TEXT) if check in CHECKS else NOT_FOUND
    failed = stopping and endpoint == "readyz"
    if "verbose" not in params and not failed:
        return Response(200, b"ok", TEXT)
    lines = [f"[+]{each} ok" for each in CHECKS]
    if failed:
        lines.append("[-]shutdown failed: reason withheld")
    end = f"{endpoint} check {'failed' if failed else 'passed'}"
    return Response(500 if failed else 200, "\n".join([*lines, end, ""]).encode(), TEXT)
