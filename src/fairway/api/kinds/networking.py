"""Ingresses, network policies, and the address ranges of Services."""

from __future__ import annotations

from fairway.api.kind import Kind, Status
from fairway.api.resources import (
    INGRESS_CLASSES,
    INGRESSES,
    IP_ADDRESSES,
    NETWORK_POLICIES,
    SERVICE_CIDRS,
)

INGRESS = Kind(INGRESSES, status=Status(), generation=True)
INGRESS_CLASS = Kind(INGRESS_CLASSES, generation=True)
NETWORK_POLICY = Kind(NETWORK_POLICIES, generation=True)
SERVICE_CIDR = Kind(SERVICE_CIDRS, status=Status())
IP_ADDRESS = Kind(
    IP_ADDRESSES,
    fields={
        "spec.parentRef.resource": lambda a: (a.get("spec") or {}).get("parentRef", {}).get("resource", "")
    },
)
