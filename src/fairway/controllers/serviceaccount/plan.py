"""Which ServiceAccounts a namespace lacks."""

from __future__ import annotations

from fairway.api.resources import SERVICE_ACCOUNTS
from fairway.controllers.namespaces import Namespace, is_active
from fairway.controllers.writes import Create, Plan

DEFAULT = "default"


def plan(namespace: Namespace | None, has_default: bool) -> Plan:
    if namespace is None or not is_active(namespace) or has_default:
        return Plan()
    name = namespace.metadata.name
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": DEFAULT, "namespace": name},
    }
    return Plan((Create(SERVICE_ACCOUNTS, name, account),))
