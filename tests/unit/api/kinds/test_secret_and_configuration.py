"""Secrets, ConfigMaps and ServiceAccounts."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.api.kind import Kind
from fairway.api.kinds.configuration import CONFIG_MAP, SERVICE_ACCOUNT
from fairway.api.kinds.secret import SECRET

Obj = dict[str, Any]


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def secret(kind: str = "Opaque", data: dict[str, str] | None = None, **fields: Any) -> Obj:
    texts = {name: encoded(text) for name, text in (data or {}).items()}
    return {"metadata": {"name": "s", "namespace": "ns"}, "type": kind, "data": texts, **fields}


def messages(kind: Kind, obj: Obj) -> list[str]:
    return [error.message() for error in kind.validate(obj)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (secret(), []),
        (secret("kubernetes.io/dockercfg"), ["data[.dockercfg]: Required value"]),
        (secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "{}"}), []),
        (
            secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "x"}),
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid '
                "character 'x' "
                "looking for beginning of value"
            ],
        ),
        (
            secret("kubernetes.io/basic-auth"),
            ["data[username]: Required value", "data[password]: Required value"],
        ),
        (secret("kubernetes.io/basic-auth", {"username": "a"}), []),
        (secret("kubernetes.io/ssh-auth"), ["data[ssh-privatekey]: Required value"]),
        (
            secret("kubernetes.io/service-account-token"),
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (secret("example.com/anything"), []),
    ],
)
def test_each_type_holds_what_it_is_for(made: Obj, expected: list[str]) -> None:
    assert messages(SECRET, made) == expected


def test_a_secret_holds_at_most_a_mebibyte() -> None:
    assert messages(SECRET, secret(data={"a": "x" * 2**20})) == []
    assert messages(SECRET, secret(data={"a": "x" * 2**20, "b": "x"})) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]


def test_string_data_ends_up_in_data() -> None:
    made = secret(data={"a": "old", "b": "kept"}, stringData={"a": "new"})
    SECRET.default(made)
    assert made["data"] == {"a": encoded("new"), "b": encoded("kept")}
    assert "stringData" not in made


def key_pair() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def test_a_certificate_that_does_not_go_with_its_key_is_a_warning() -> None:
    (certificate, key), (_, other) = key_pair(), key_pair()

    def warnings(crt: str, private: str) -> list[str]:
        return SECRET.warnings(secret("kubernetes.io/tls", {"tls.crt": crt, "tls.key": private}))

    assert warnings(certificate, key) == []
    assert warnings(certificate, other) == ["tls: private key does not match public key"]
    assert warnings("x", key) == ["tls: failed to find any PEM data in certificate input"]
    assert warnings(certificate, "x") == ["tls: failed to find any PEM data in key input"]


@pytest.mark.parametrize("kind", [SECRET, CONFIG_MAP], ids=["Secret", "ConfigMap"])
def test_what_is_immutable_stays_so(kind: Kind) -> None:
    detail = "Forbidden: field is immutable when `immutable` is set"
    old: Obj = {"metadata": {"name": "a"}, "type": "Opaque", "data": {"a": "eA=="}, "immutable": True}
    new = old | {"data": {"a": "eQ=="}, "immutable": False}
    found = [error.message() for error in kind.validate_update(new, old)]
    assert found == [f"immutable: {detail}", f"data: {detail}"]
    assert kind.validate_update(old | {"metadata": {"name": "a", "labels": {"b": "c"}}}, old) == []


def test_a_key_of_a_config_map_is_text_or_binary_not_both() -> None:
    made = {"metadata": {"name": "m"}, "data": {"a": "x"}, "binaryData": {"a": "eA=="}}
    assert messages(CONFIG_MAP, made) == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData'
    ]


def test_enforcing_mountable_secrets_is_deprecated() -> None:
    account = {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}
    assert SERVICE_ACCOUNT.warnings({"metadata": {"name": "a"}}) == []
    assert SERVICE_ACCOUNT.warnings(account) == [
        "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer "
        "separate "
        "namespaces to isolate access to mounted secrets"
    ]
