"""Requests with mistakes that once made the API server fail; each must be refused."""

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
GIVEN = ((SERVICES, SERVICE), (DEPLOYMENTS, DEPLOYMENT))
"""Created before."""

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Mistake:
    what: str
    method: str
    path: str
    body: bytes | None = None
    media: str = "application/json"


def strategic(what: str, patch: bytes) -> Mistake:
    return Mistake(what, "PATCH", f"{SERVICES}/web", patch, STRATEGIC)


MISTAKES: tuple[Mistake, ...] = (
    Mistake("limit that is no number", "GET", f"{SERVICES}?limit=abc"),
    Mistake("limit of 5,000 digits", "GET", f"{SERVICES}?limit={'9' * 5000}"),
    Mistake("grace period that is no number", "DELETE", f"{SERVICES}/none?gracePeriodSeconds=abc"),
    Mistake("timeout that is no number", "GET", f"{SERVICES}?watch=1&timeoutSeconds=abc"),
    Mistake(
        "address with leading zeros",
        "POST",
        SERVICES,
        b'{"metadata":{"name":"odd"},"spec":{"clusterIP":"10.96.000.010","ports":[{"port":80}]}}',
    ),
    Mistake("scale that is no object", "PATCH", f"{DEPLOYMENTS}/web/scale", b'{"spec":"x"}', MERGE),
    Mistake("unknown operator of a selector", "POST", DEPLOYMENTS, ODD_DEPLOYMENT),
    strategic("list of other things", b'{"spec":{"ports":[1]}}'),
    strategic("element without its key", b'{"spec":{"ports":[{"name":"x"}]}}'),
    strategic("unknown directive", b'{"spec":{"$patch":"frob"}}'),
    strategic("order that is no list", b'{"spec":{"$setElementOrder/ports":"x","ports":[{"port":80}]}}'),
    strategic(
        "order that lacks an element",
        b'{"spec":{"$setElementOrder/ports":[{"port":1}],"ports":[{"port":80}]}}',
    ),
)
