"""The agreement about progress: the Leases in which proxies and DNS servers say how far they are.

Those who publish (`client`) and those who wait (the node agent) must spell it alike.
"""

from __future__ import annotations

LEASE_NAMESPACE = "kube-system"
LEASE_PREFIX = "fairway-progress-"
PROGRAMMED = "fairway.dev/programmed"
"""The annotation: the highest EndpointSlice revision that is fully in force."""
