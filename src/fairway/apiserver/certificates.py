"""The cluster's certificate authority: made on first start, kept in the data directory, used to issue
the server's certificate, the administrator's and each component's. Private keys are readable by root only.
"""

from __future__ import annotations

import base64
import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

TEN_YEARS = timedelta(days=3650)
ADMIN = ("kubernetes-admin", ("system:masters",))


class Pair(NamedTuple):
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def open(cls, directory: Path) -> Authority:
        """The authority in a directory, made if there is none."""
        certificate, key = directory / "ca.crt", directory / "ca.key"
        if not key.exists() or not certificate.exists():
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            pair = _self_signed("fairway-ca")
            write_private(key, pair.key)
            write_private(certificate, pair.certificate)
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        return cls(x509.load_pem_x509_certificate(certificate.read_bytes()), private)

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        common_name: str,
        organizations: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
    ) -> Pair:
        """A certificate for a client, or (with DNS names and addresses) for a server as well."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(_subject(common_name, organizations), self._certificate.subject, key)
        if names:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False
            )
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        ).add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return _pair(builder.sign(self._key, hashes.SHA256()), key)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _subject(common_name: str, organizations: tuple[str, ...]) -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + TEN_YEARS)
    )


def _self_signed(common_name: str) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _subject(common_name, ())
    certificate = (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True
        )
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def write_private(path: Path, content: bytes) -> None:
    """Write whole or not at all, readable by its owner only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def kubeconfig(server: str, authority: Authority, user: str, pair: Pair) -> bytes:
    """A kubeconfig with everything inline."""

    def inline(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "fairway",
        "clusters": [
            {
                "name": "fairway",
                "cluster": {"server": server, "certificate-authority-data": inline(authority.pem)},
            }
        ],
        "contexts": [{"name": "fairway", "context": {"cluster": "fairway", "user": user}}],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": inline(pair.certificate),
                    "client-key-data": inline(pair.key),
                },
            }
        ],
    }
    return yaml.safe_dump(config, sort_keys=False).encode()
