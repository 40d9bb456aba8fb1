"""Rows of networking.k8s.io: Ingress, IngressClass, NetworkPolicy, ServiceCIDR, IPAddress."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import AGE, NAME, NONE, Column, Printer, Printers, documented
from fairway.api.tables.durations import age
from fairway.api.tables.reading import Object, at, entries, name_of, text
from fairway.api.tables.selector_text import selector_text
from fairway.api.tables.services import SHOWN, ingress_points

GROUP: Final = "networking.k8s.io"


def ingress_cells(ingress: Object, now: datetime) -> list[Any]:
    return [
        name_of(ingress),
        NONE
        if at(ingress, "spec", "ingressClassName") is None
        else text(ingress, "spec", "ingressClassName"),
        ingress_hosts(entries(ingress, "spec", "rules")),
        ",".join(ingress_points(ingress)),
        "80, 443" if entries(ingress, "spec", "tls") else "80",
        age(ingress, now),
    ]


def ingress_hosts(rules: list[Object]) -> str:
    """Hosts of the first rules that name one; what is left counts rules, with or without a host."""
    named = [index for index, rule in enumerate(rules) if text(rule, "host")]
    hosts = ",".join(text(rules[index], "host") for index in named[:SHOWN])
    cut_short = len(named) >= SHOWN and named[SHOWN - 1] < len(rules) - 1
    return f"{hosts} + {len(rules) - SHOWN} more..." if cut_short else hosts or "*"


def ingress_class_cells(ingress_class: Object, now: datetime) -> list[Any]:
    parameters = at(ingress_class, "spec", "parameters")
    return [
        name_of(ingress_class),
        text(ingress_class, "spec", "controller"),
        NONE if parameters is None else parameters_text(parameters),
        age(ingress_class, now),
    ]


def parameters_text(parameters: Object) -> str:
    """`Kind.group/name`."""
    group = at(parameters, "apiGroup")
    kind = text(parameters, "kind") if group is None else f"{text(parameters, 'kind')}.{group}"
    return f"{kind}/{text(parameters, 'name')}"


def network_policy_cells(policy: Object, now: datetime) -> list[Any]:
    return [name_of(policy), selector_text(at(policy, "spec", "podSelector")), age(policy, now)]


def service_cidr_cells(service_cidr: Object, now: datetime) -> list[Any]:
    return [name_of(service_cidr), ",".join(entries(service_cidr, "spec", "cidrs")), age(service_cidr, now)]


def ip_address_cells(address: Object, now: datetime) -> list[Any]:
    """One cell more than there are columns: Kubernetes answers with the age, but defines no column for it."""
    parent = at(address, "spec", "parentRef")
    return [name_of(address), NONE if parent is None else parent_text(parent), age(address, now)]


def parent_text(parent: Object) -> str:
    """`services/default/web`, with the group after a dot if it has one."""
    group = text(parent, "group")
    resource = f"{text(parent, 'resource')}.{group}" if group else text(parent, "resource")
    return "/".join(filter(None, (resource.lower(), text(parent, "namespace")))) + f"/{text(parent, 'name')}"


INGRESS_COLUMNS: Final = (
    NAME,
    Column("Class", "The name of the IngressClass resource that should be used for additional configuration"),
    Column("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
    Column("Address", "Address is a list containing ingress points for the load-balancer"),
    Column("Ports", "Ports of TLS configurations that open"),
    AGE,
)

INGRESS_CLASS_COLUMNS: Final = (
    NAME,
    Column("Controller", "Controller that is responsible for handling this class"),
    Column("Parameters", "A reference to a resource with additional parameters"),
    AGE,
)

PRINTERS: Final[Printers] = {
    (GROUP, "Ingress"): Printer(INGRESS_COLUMNS, ingress_cells),
    (GROUP, "IngressClass"): Printer(INGRESS_CLASS_COLUMNS, ingress_class_cells),
    (GROUP, "NetworkPolicy"): Printer(
        (NAME, documented("Pod-Selector", "NetworkPolicySpec.podSelector"), AGE), network_policy_cells
    ),
    (GROUP, "ServiceCIDR"): Printer(
        (NAME, documented("CIDRs", "ServiceCIDRSpec.cidrs"), AGE), service_cidr_cells
    ),
    (GROUP, "IPAddress"): Printer(
        (NAME, documented("ParentRef", "IPAddressSpec.parentRef")), ip_address_cells
    ),
}
