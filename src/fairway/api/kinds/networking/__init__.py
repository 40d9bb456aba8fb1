"""Ingresses, network policies, and the address ranges of Services: the kinds of networking.k8s.io."""

from __future__ import annotations

from fairway.api.kinds.networking.address_range import IP_ADDRESS, SERVICE_CIDR
from fairway.api.kinds.networking.ingress import INGRESS
from fairway.api.kinds.networking.ingress_class import INGRESS_CLASS
from fairway.api.kinds.networking.network_policy import NETWORK_POLICY

__all__ = ["INGRESS", "INGRESS_CLASS", "IP_ADDRESS", "NETWORK_POLICY", "SERVICE_CIDR"]
