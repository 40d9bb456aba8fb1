"""Trust bundles and certificates that are projected into a Pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.paths import validate_not_reserved
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.metadata import validate_annotations
from fairway.api.validation.names import dns_label_errors, dns_subdomain_errors
from fairway.api.validation.selectors import shown_selector, validate_label_selector

KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
SHORTEST_SECONDS: Final = 3600
LONGEST_SECONDS: Final = 91 * 86400
LONGEST_KUBERNETES_SECONDS: Final = 86400
PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")

Take = Callable[[str, str], ErrorList]


def validate_trust_bundle(field: str, bundle: Obj) -> ErrorList:
    errors = _validate_choice(field, bundle)
    if not bundle.get("path"):
        errors.append(required(f"{field}.path"))
    return errors + validate_not_reserved(f"{field}.path", bundle.get("path", ""))


def _validate_choice(field: str, bundle: Obj) -> ErrorList:
    name, signer = bundle.get("name"), bundle.get("signerName")
    if name is not None and signer is not None:
        value = shown("core.v1.ClusterTrustBundleProjection", bundle)
        return [invalid_value(field, value, "only one of name and signerName may be used")]
    if name is not None:
        return _validate_named(field, bundle, name)
    if signer is not None:
        errors: ErrorList = []
        if not signer:
            errors.append(required(f"{field}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(f"{field}.signerName", signer)
        return errors + validate_label_selector(f"{field}.labelSelector", bundle.get("labelSelector"))
    return [required(field, "either name or signerName must be specified")]


def _validate_named(field: str, bundle: Obj, name: str) -> ErrorList:
    errors: ErrorList = []
    if not name:
        errors.append(required(f"{field}.name", "must be a valid object name"))
    details = [f"not a valid clustertrustbundlename: {error}" for error in _bundle_name_errors(name)]
    errors += invalid_for_each(f"{field}.name", name, details)
    if (selector := bundle.get("labelSelector")) is not None:
        detail = "labelSelector must be unset if name is specified"
        errors.append(invalid_value(f"{field}.labelSelector", shown_selector(selector), detail))
    return errors


def _bundle_name_errors(name: str) -> list[str]:
    """`example.com:signer:name` belongs to the signer `example.com/signer`; the rest is a plain name."""
    return dns_subdomain_errors(name.rpartition(":")[2])


def validate_signer_name(field: str, name: str) -> ErrorList:
    """`domain/path`, both made of what names are made of."""
    if not name:
        return [required(field)]
    domain, slash, path = name.partition("/")
    if not slash or "/" in path:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid_value(field, name, detail)]
    errors: ErrorList = []
    for detail in dns_subdomain_errors(domain):
        errors.append(invalid_value(field, name, f"validating label {_go_quoted(domain)}: {detail}"))
    if len(domain.split(".")) < 2:
        detail = "should be a domain with at least two segments separated by dots"
        errors.append(invalid_value(field, domain, detail))
    for label in path.split("."):
        errors += invalid_for_each(
            field, name, [f"validating label {_go_quoted(label)}: {e}" for e in dns_label_errors(label)]
        )
    return errors


def _go_quoted(text: str) -> str:
    return f'"{text}"'


def validate_pod_certificate(field: str, certificate: Obj, take: Take) -> ErrorList:
    signer = certificate.get("signerName", "")
    errors = validate_signer_name(f"{field}.signerName", signer)
    if annotations := certificate.get("userAnnotations"):
        errors += validate_annotations(f"{field}.userAnnotations", annotations)
    if certificate.get("keyType") not in KEY_TYPES:
        errors.append(not_supported(f"{field}.keyType", certificate.get("keyType", ""), KEY_TYPES))
    errors += _validate_lifetime(f"{field}.maxExpirationSeconds", certificate, signer)
    given = [name for name in PATHS if certificate.get(name)]
    for name in given:
        errors += validate_not_reserved(f"{field}.{name}", certificate[name])
        errors += take(certificate[name], certificate[name])
    if not given:
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(field, detail))
    return errors


def _validate_lifetime(field: str, certificate: Obj, signer: str) -> ErrorList:
    seconds = certificate.get("maxExpirationSeconds")
    if seconds is None:
        return []
    longest = LONGEST_KUBERNETES_SECONDS if signer.startswith("kubernetes.io/") else LONGEST_SECONDS
    if seconds < SHORTEST_SECONDS:
        detail = f"if provided, maxExpirationSeconds must be >= {SHORTEST_SECONDS}"
        return [invalid_value(field, seconds, detail)]
    if seconds > longest:
        return [invalid_value(field, seconds, f"if provided, maxExpirationSeconds must be <= {longest}")]
    return []
