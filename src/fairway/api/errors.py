"""The one error tree of the API: every refusal is a Kubernetes `Status`, with Kubernetes' words.

    StatusError
     └── raised anywhere below the HTTP edge, turned into an answer there and nowhere else

Field errors (422) are built in `api/validation`; everything else has a function here.
"""

from __future__ import annotations

from typing import Any

from fairway.api.resources import Resource

CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


# Where Kubernetes keeps the objects of a resource, unless under its name.
STORED_UNDER = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "ingresses": "ingress",
}


class StatusError(Exception):
    """A refusal as Kubernetes words it."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.continue_token = ""
        """For a list that can't be continued: where a fresh one may."""

    @property
    def retry_after(self) -> int:
        """Seconds after which to try again; 0 for errors that won't go away."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return int(seconds) if seconds else int(self.code == 503)

    def body(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def details_of(resource: Resource, name: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details


def not_found(resource: Resource, name: str) -> StatusError:
    return StatusError(
        404, "NotFound", f'{resource.qualified} "{name}" not found', details_of(resource, name)
    )


def already_exists(resource: Resource, name: str) -> StatusError:
    message = f'{resource.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details_of(resource, name))


def conflict(resource: Resource, name: str, why: str = CHANGED) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return StatusError(409, "Conflict", message, details_of(resource, name))


def forbidden(resource: Resource, name: str, why: str) -> StatusError:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, details_of(resource, name))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def not_acceptable(message: str, *, by_route: bool = False) -> StatusError:
    return StatusError(406, "NotAcceptable", message, {} if by_route else None)


def path_not_found() -> StatusError:
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, {})


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def unsupported_media_type(accepted: tuple[str, ...]) -> StatusError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(
        accepted
    )
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch_type() -> StatusError:
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def revision_too_large(asked: int, current: int) -> StatusError:
    """A client asks for a state that is yet to come."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
    )


def too_many_requests(message: str, cause: dict[str, str] | None = None, seconds: int = 0) -> StatusError:
    details: dict[str, Any] = {"causes": [cause]} if cause else {}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return StatusError(429, "TooManyRequests", message, details or None)


def invalid_object(resource: Resource, namespace: str, name: str, why: str) -> StatusError:
    """A demand that the stored object does not meet, in the words of Kubernetes' store, whose keys it
    quotes."""
    place = "/".join(
        part for part in (STORED_UNDER.get(resource.plural, resource.plural), namespace, name) if part
    )
    text = f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0"
    return conflict(resource, name, f"{text}, AdditionalErrorMsg: {why}")


def too_large() -> StatusError:
    return StatusError(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def internal_error(message: str) -> StatusError:
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        {"causes": [{"message": message}]},
    )
