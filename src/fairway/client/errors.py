"""Every error this package raises, drawn once.

    ClientError
    ├── KubeConfigError            the kubeconfig can't be read or asks for something we can't do
    └── ApiError                   .status .reason .message .details, from a Kubernetes Status
        ├── BadRequest             400
        ├── Unauthorized           401
        ├── Forbidden              403
        ├── NotFound               404
        ├── AlreadyExists          409, reason AlreadyExists
        ├── Conflict               409, every other reason
        ├── Expired                410: the resourceVersion is too old to watch from
        ├── Invalid                422
        ├── TooManyRequests        429, with .retry_after
        └── Unavailable            503, and every failure to get an answer at all (then .status is 0)

No aiohttp, ssl or OSError ever leaves this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec


class ClientError(Exception):
    """Base of everything the client raises."""


class KubeConfigError(ClientError):
    """The kubeconfig is missing or malformed, or its authentication plugin can't be run or fails."""


class ApiError(ClientError):
    """The API server refused; carries its Status."""

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asked us to wait, if it did."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if seconds else None

    def has_cause(self, reason: str) -> bool:
        """Whether `details.causes` lists this reason (Kubernetes hides some distinctions there)."""
        return any(cause.get("reason") == reason for cause in self.details.get("causes") or ())


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class Conflict(ApiError):
    pass


class Expired(ApiError):
    pass


class Invalid(ApiError):
    pass


class TooManyRequests(ApiError):
    pass


class Unavailable(ApiError):
    @classmethod
    def unreachable(cls, cause: BaseException) -> Unavailable:
        """No answer came: refused, reset, timed out, or the TLS handshake failed."""
        return cls(0, "Unreachable", f"{type(cause).__name__}: {cause}".rstrip(": "))


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    503: Unavailable,
}


class _Status(msgspec.Struct, frozen=True):
    kind: str = ""
    reason: str | None = None
    message: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


def error_from_answer(http_status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for an HTTP answer, whose body should be a Status but may be anything (a proxy's HTML)."""
    try:
        status = _decode_status(body)
    except msgspec.MsgspecError:
        status = _Status()
    if status.kind != "Status":
        status = _Status(reason=_phrase(http_status), message=body[:500].decode("utf-8", "replace").strip())
    details = dict(status.details or {})
    if retry_after and retry_after.isdecimal():
        details.setdefault("retryAfterSeconds", int(retry_after))
    return api_error(status.code or http_status, status.reason or "", status.message or "", details)


def error_from_status(body: bytes | msgspec.Raw) -> ApiError:
    """The error for a bare Status object, as an ERROR event of a watch carries it."""
    try:
        status = _decode_status(body)
    except msgspec.MsgspecError:
        return ApiError(500, "InternalError", "the watch sent an ERROR event that is no Status")
    return api_error(status.code or 500, status.reason or "", status.message or "", status.details or {})


def api_error(code: int, reason: str, message: str, details: Mapping[str, Any]) -> ApiError:
    cls = AlreadyExists if reason == "AlreadyExists" else _BY_STATUS.get(code, ApiError)
    return cls(code, reason, message, details)


def _phrase(http_status: int) -> str:
    try:
        return HTTPStatus(http_status).phrase.replace(" ", "")
    except ValueError:
        return "UnknownError"
