"""Certificates with their keys: what is wrong with a pair, in the words of Go's crypto/tls."""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(rb"-----BEGIN ([^\n]*)-----\r?\n.*?\r?\n-----END \1-----", re.DOTALL)


def key_pair_fault(certificate: bytes, key: bytes) -> str:
    """Empty if a server could use the two."""
    certificates = [text for kind, text in _blocks(certificate) if kind == "CERTIFICATE"]
    if not certificates:
        return _no_certificate([kind for kind, _ in _blocks(certificate)])
    keys = [text for kind, text in _blocks(key) if kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY")]
    if not keys:
        return _no_key([kind for kind, _ in _blocks(key)])
    return _mismatch(certificates[0], keys[0])


def _blocks(text: bytes) -> list[tuple[str, bytes]]:
    return [(found[1].decode(errors="replace"), found[0]) for found in _BLOCK.finditer(text)]


def _no_certificate(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM "
            "inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
        f"following types: [{' '.join(kinds)}]"
    )


def _no_key(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM '
        f"blocks of the following types: [{' '.join(kinds)}]"
    )


def _mismatch(certificate: bytes, key: bytes) -> str:
    # Rarely needed, and too large to be imported by everything that knows the API.
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )
    from cryptography.x509 import load_pem_x509_certificate

    try:
        public = load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        private = load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    theirs = private.public_key()
    if type(theirs) is not type(public):
        return "tls: private key type does not match public key type"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    same = public.public_bytes(*form) == theirs.public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
