"""Requests that the API server is known to answer with a server error, though the mistake is the client's.

This list can only shrink: the fuzz tests accept these errors and no others, and fail if one is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

SERVICES = "/api/v1/namespaces/kube-public/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-public/deployments"
TEMPLATE = b'{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
SERVICE = b'{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}'
DEPLOYMENT = (
    b'{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":%b}}' % TEMPLATE
)
ODD_SELECTOR = b'{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Foo","values":["b"]}]}'
ODD_DEPLOYMENT = b'{"metadata":{"name":"odd"},"spec":{"selector":%b,"template":%b}}' % (
    ODD_SELECTOR,
    TEMPLATE,
)
GIVEN = ((SERVICES, SERVICE), (DEPLOYMENTS, DEPLOYMENT), (DEPLOYMENTS, ODD_DEPLOYMENT))
"""Created before, as far as the server lets them be."""


@dataclass(frozen=True, slots=True)
class OpenError:
    where: str
    pattern: str
    """Of the message."""
    method: str
    path: str
    body: bytes | None = None
    media: str = "application/json"


OPEN_ERRORS: tuple[OpenError, ...] = ()
