"""NetworkPolicies: who may talk to whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.resources import NETWORK_POLICIES
from fairway.api.validation.addresses import read_cidr
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import port_name_errors
from fairway.api.validation.network import cidr_warnings, validate_cidr, validate_port_number
from fairway.api.validation.selectors import validate_label_selector

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
POLICY_TYPES: Final = ("Ingress", "Egress")
DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))
"""The two lists of rules, and what each calls the other side."""


def default(policy: Obj) -> None:
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction, _ in DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"


def validate(policy: Obj) -> ErrorList:
    spec = policy["spec"]
    errors = validate_label_selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            errors += _validate_rule(f"spec.{direction}[{index}]", rule, peers)
    kinds = spec.get("policyTypes") or []
    if len(kinds) > len(POLICY_TYPES):
        detail = "may not specify more than two policyTypes"
        errors.append(invalid_value("spec.policyTypes", kinds, detail))
    else:
        errors += [
            not_supported(f"spec.policyTypes[{index}]", kind, POLICY_TYPES)
            for index, kind in enumerate(kinds)
            if kind not in POLICY_TYPES
        ]
    # Kubernetes checks by declaration that a network is given, and reports that last.
    return errors + [required(f"{field}.cidr") for field, block in blocks(spec) if not block.get("cidr")]


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate_kept_finalizers(new["metadata"]) + validate(new)


def _validate_rule(field: str, rule: Obj, peers: str) -> ErrorList:
    errors: ErrorList = []
    for index, port in enumerate(rule.get("ports") or ()):
        errors += _validate_port(f"{field}.ports[{index}]", port)
    for index, peer in enumerate(rule.get(peers) or ()):
        errors += _validate_peer(f"{field}.{peers}[{index}]", peer)
    return errors


def _validate_port(field: str, port: Obj) -> ErrorList:
    errors: ErrorList = []
    if port["protocol"] not in PROTOCOLS:
        errors.append(not_supported(f"{field}.protocol", port["protocol"], PROTOCOLS))
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, int):
        errors += validate_port_number(f"{field}.port", number)
        if end is not None and end < number:
            detail = "must be greater than or equal to `port`"
            errors.append(invalid_value(f"{field}.endPort", number, detail))
        return errors if end is None else errors + validate_port_number(f"{field}.endPort", end)
    if end is not None:
        missing = "not specified" if number is None else "non-numeric"
        detail = f"may not be specified when `port` is {missing}"
        errors.append(invalid_value(f"{field}.endPort", end, detail))
    if number is not None:
        errors += invalid_for_each(f"{field}.port", number, port_name_errors(number))
    return errors


def _validate_peer(field: str, peer: Obj) -> ErrorList:
    errors: ErrorList = []
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in given:
        if name == "ipBlock":
            errors += _validate_block(f"{field}.ipBlock", peer["ipBlock"])
        else:
            errors += validate_label_selector(f"{field}.{name}", peer[name])
    if not given:
        errors.append(required(field, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in given:
        errors.append(forbidden_field(field, "may not specify both ipBlock and another peer"))
    return errors


def _validate_block(field: str, block: Obj) -> ErrorList:
    text = block.get("cidr") or ""
    outer = read_cidr(text)
    errors = validate_cidr(f"{field}.cidr", text) if text else []
    if outer is None:
        return errors
    for index, exception in enumerate(block.get("except") or ()):
        where = f"{field}.except[{index}]"
        errors += validate_cidr(where, exception)
        inner = read_cidr(exception)
        if inner is not None and not (
            inner.network.version == outer.network.version
            and inner.network.network_address in outer.network
            and inner.network.prefixlen > outer.network.prefixlen
        ):
            errors.append(invalid_value(where, exception, "must be a strict subset of `cidr`"))
    return errors


def blocks(spec: Obj) -> Iterator[tuple[str, Obj]]:
    """Every address block in the policy, and where it stands."""
    for direction, peers in DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            for position, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{index}].{peers}[{position}].ipBlock", peer["ipBlock"]


def warnings(policy: Obj) -> list[str]:
    found: list[str] = []
    for field, block in blocks(policy["spec"]):
        found += cidr_warnings(f"{field}.cidr", block.get("cidr") or "")
        for index, exception in enumerate(block.get("except") or ()):
            found += cidr_warnings(f"{field}.except[{index}]", exception)
    return found


NETWORK_POLICY = Kind(
    NETWORK_POLICIES,
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    generation=True,
)
