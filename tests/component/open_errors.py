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

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class OpenError:
    where: str
    pattern: str
    """Of the message."""
    method: str
    path: str
    body: bytes | None = None
    media: str = "application/json"


def strategic(pattern: str, patch: bytes) -> OpenError:
    return OpenError("api/patches/strategic.py", pattern, "PATCH", f"{SERVICES}/web", patch, STRATEGIC)


OPEN_ERRORS: tuple[OpenError, ...] = (
    OpenError("verbs/list.py limit", r"invalid literal for int\(\)", "GET", f"{SERVICES}?limit=abc"),
    OpenError("verbs/list.py negative limit", "list index out of range", "GET", f"{SERVICES}?limit=-1"),
    OpenError(
        "verbs/delete.py gracePeriodSeconds",
        r"invalid literal for int\(\)",
        "DELETE",
        f"{SERVICES}/none?gracePeriodSeconds=abc",
    ),
    OpenError("verbs/list.py long limit", "Exceeds the limit", "GET", f"{SERVICES}?limit={'9' * 5000}"),
    OpenError(
        "verbs/watch.py timeoutSeconds",
        "IncompleteRead",
        "GET",
        f"{SERVICES}?watch=1&timeoutSeconds=abc",
    ),
    OpenError(
        "allocators/services.py",
        "does not appear to be an IPv4 or IPv6 address",
        "POST",
        SERVICES,
        b'{"metadata":{"name":"odd"},"spec":{"clusterIP":"10.96.000.010","ports":[{"port":80}]}}',
    ),
    OpenError(
        "subresources/scale.py",
        "object has no attribute 'get'",
        "PATCH",
        f"{DEPLOYMENTS}/web/scale",
        b'{"spec":"x"}',
        MERGE,
    ),
    OpenError(
        "kinds/workloads.py selector of an unknown operator is stored",
        "UnknownOperator",
        "GET",
        f"{DEPLOYMENTS}/odd/scale",
    ),
    strategic("list element types are not identical", b'{"spec":{"ports":[1]}}'),
    strategic("does not contain declared merge key", b'{"spec":{"ports":[{"name":"x"}]}}'),
    strategic("unknown patch type", b'{"spec":{"$patch":"frob"}}'),
    strategic(r"expected a \[\]interface", b'{"spec":{"$setElementOrder/ports":"x","ports":[{"port":80}]}}'),
    strategic(
        "The order in patch list",
        b'{"spec":{"$setElementOrder/ports":[{"port":1}],"ports":[{"port":80}]}}',
    ),
)
