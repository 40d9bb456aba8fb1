"""Certificates from Secrets, checked before HAProxy sees them. Pure.

HAProxy refuses a configuration with one bad certificate in it as a whole, so a bad one must never get there.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from fairway.lb.objects import Secret

TLS = "kubernetes.io/tls"


class CertificateError(ValueError):
    """What is wrong with a Secret, in words for its owner. Never holds anything of the key."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """`pem`: the chain and the key, written anew by us. `name` is that of the file, whatever is in it."""

    name: str
    pem: bytes

    def __repr__(self) -> str:
        return f"Certificate({self.name!r})"


def read_certificate(secret: Secret) -> Certificate:
    data = secret.data or {}
    try:
        chain = x509.load_pem_x509_certificates(base64.b64decode(data.get("tls.crt", ""), validate=True))
        key = serialization.load_pem_private_key(
            base64.b64decode(data.get("tls.key", ""), validate=True), None
        )
    except (binascii.Error, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError("tls.crt and tls.key must be a certificate and its key in PEM") from error
    if _public(key.public_key()) != _public(chain[0].public_key()):
        raise CertificateError("tls.key is not the key of the first certificate in tls.crt")
    text = [certificate.public_bytes(serialization.Encoding.PEM) for certificate in chain]
    text.append(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    digest = hashlib.sha256(secret.metadata.key.encode()).hexdigest()[:32]
    return Certificate(f"{digest}.pem", b"".join(text))


def read_or_error(secret: Secret) -> Certificate | CertificateError:
    try:
        return read_certificate(secret)
    except CertificateError as error:
        return error


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(  # type: ignore[attr-defined]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded
