"""Who gets in: a client certificate of the cluster's own authority, or a known token. Nobody else does."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.component.probe import Probe, Reply
from tests.conformance.server import TOKEN, ApiServer, api_server

PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/readyz?verbose", "/livez/ping", "/version/")
PRIVATE = (
    *("/", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/metrics"),
    *("/api/v1/namespaces", "/api/v1/secrets", "/api/v1/namespaces/default/services/kubernetes"),
    *("/api/v1/services?watch=1", "/api/v1/nodes/n/proxy/", "/logs", "/debug/pprof/", "/nonsense"),
    *("/versions", "/healthzz", "/Version", "//api/v1/secrets", "/./api/v1/secrets", "/%61pi/v1/secrets"),
)
TRICKS = (
    *("/healthz/../api/v1/secrets", "/version/../api/v1/secrets", "/readyz/%2e%2e/api/v1/secrets"),
    *("/livez/..%2fapi/v1/secrets", "/healthz/?/api/v1/secrets", "/healthz//api/v1/secrets"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("credentials")) as started:
        yield started


def ask(
    server: ApiServer, path: str, method: str = "GET", tls: ssl.SSLContext | None = None, **headers: str
) -> Reply:
    probe = Probe(server, tls)
    try:
        return probe.send(method, path, headers=headers)
    finally:
        probe.close()


@pytest.mark.parametrize("path", PUBLIC)
def test_probes_and_the_version_need_no_credentials(server: ApiServer, path: str) -> None:
    assert ask(server, path).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", PRIVATE)
def test_everything_else_is_401_without_credentials(server: ApiServer, path: str, method: str) -> None:
    reply = ask(server, path, method)
    assert reply.status == 401
    if method != "HEAD":
        assert reply.json() == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        }


@pytest.mark.parametrize("path", TRICKS)
def test_a_public_path_leads_nowhere_else(server: ApiServer, path: str) -> None:
    assert b"items" not in ask(server, path).body


@pytest.mark.parametrize(
    "header",
    [
        *("Bearer wrong", "Bearer", "Bearer ", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"),
        *(
            f"Basic {base64.b64encode(f'tester:{TOKEN}'.encode()).decode()}",
            f"Token {TOKEN}",
            "Bearer \xe9\xff",
        ),
        *(
            f"Bearer {TOKEN}, Bearer {TOKEN}",
            f"Bearer {TOKEN.upper()}",
            "Bearer tester",
            "Bearer " + "x" * 60_000,
        ),
    ],
)
def test_a_token_that_is_not_known_is_401(server: ApiServer, header: str) -> None:
    assert ask(server, "/api/v1/secrets", Authorization=header).status == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_known_token_gets_in(server: ApiServer, scheme: str) -> None:
    assert ask(server, "/api/v1/secrets", Authorization=f"{scheme} {TOKEN}").status == 200


@pytest.mark.parametrize(
    "header", ["X-Remote-User", "X-Remote-Group", "X-Forwarded-Client-Cert", "Impersonate-User"]
)
def test_who_one_is_cannot_simply_be_claimed(server: ApiServer, header: str) -> None:
    assert ask(server, "/api/v1/secrets", **{header: "system:masters"}).status == 401


# -- certificates --------------------------------------------------------------------------------------


def presenting(server: ApiServer, folder: Path, certificate: bytes, key: bytes) -> ssl.SSLContext:
    pair = folder / "client.pem"
    pair.write_bytes(certificate + key)
    context = server.tls()
    context.load_cert_chain(pair)
    return context


def signed(authority: x509.Name, signer: ec.EllipticCurvePrivateKey, days: int) -> tuple[bytes, bytes]:
    """The administrator's certificate, were it signed by this authority; good for so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [(NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, "kubernetes-admin")]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(oid, name) for oid, name in names]))
        .issuer_name(authority)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days))
        .sign(signer, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return certificate.public_bytes(encoding), key.private_bytes(encoding, form, serialization.NoEncryption())


def own_authority(server: ApiServer) -> tuple[x509.Name, ec.EllipticCurvePrivateKey]:
    folder = server.data / "pki"
    key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes()).subject, key


def is_refused(server: ApiServer, tls: ssl.SSLContext) -> bool:
    """In the handshake or, as Kubernetes has it, with 401."""
    try:
        return ask(server, "/api/v1/secrets", tls=tls).status == 401
    except (ssl.SSLError, ConnectionError, http.client.HTTPException):
        return True


def test_a_certificate_of_the_own_authority_gets_in(server: ApiServer, tmp_path: Path) -> None:
    tls = presenting(server, tmp_path, *signed(*own_authority(server), days=1))
    assert ask(server, "/api/v1/secrets", tls=tls).status == 200


def test_a_certificate_of_another_authority_is_refused(server: ApiServer, tmp_path: Path) -> None:
    """Of the same name, even."""
    name, _ = own_authority(server)
    stranger = ec.generate_private_key(ec.SECP256R1())
    assert is_refused(server, presenting(server, tmp_path, *signed(name, stranger, days=1)))


def test_a_certificate_that_has_expired_is_refused(server: ApiServer, tmp_path: Path) -> None:
    assert is_refused(server, presenting(server, tmp_path, *signed(*own_authority(server), days=-1)))


def test_the_administrators_kubeconfig_gets_in(server: ApiServer, tmp_path: Path) -> None:
    user = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]
    pair = [base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")]
    assert ask(server, "/api/v1/secrets", tls=presenting(server, tmp_path, *pair)).status == 200


def test_old_versions_of_tls_are_not_spoken(server: ApiServer) -> None:
    old = server.tls()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        ask(server, "/version", tls=old)


def test_nobody_else_on_the_machine_can_read_what_it_keeps(server: ApiServer) -> None:
    kept = [Path(folder, name) for folder, _, names in os.walk(server.data) for name in names]
    assert kept
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in kept} == {
        path.name: 0o600 for path in kept
    }


def test_its_log_holds_no_secrets(server: ApiServer) -> None:
    ask(server, f"/api/v1/secrets?fieldSelector=nonsense&token={TOKEN}x", Authorization=f"Bearer {TOKEN}")
    ask(server, "/api/v1/secrets", Authorization="Bearer let-me-in")
    log = server.log.read_text()
    assert TOKEN not in log
    assert "let-me-in" not in log
