"""Reading kubeconfigs as client-go does, and TLS made from them."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.client import Client, KubeConfig, KubeConfigError, Unavailable


def kubeconfig(path: Path, cluster: dict[str, Any], user: dict[str, Any] | None = None, **more: Any) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "prod"}}],
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def data(text: bytes) -> str:
    return base64.b64encode(text).decode()


def test_server_namespace_and_inline_data_are_read(tmp_path: Path) -> None:
    user = {"client-certificate-data": data(b"CERT"), "client-key-data": data(b"KEY"), "token": "t"}
    cluster = {"certificate-authority-data": data(b"CA"), "tls-server-name": "api.local"}
    config = KubeConfig.load(kubeconfig(tmp_path / "config", cluster, user))
    assert config.server == "https://127.0.0.1:6443"
    assert config.namespace == "prod"
    assert (config.ca, config.client_certificate, config.client_key) == (b"CA", b"CERT", b"KEY")
    assert config.tls_server_name == "api.local"
    assert config.authorization() == "Bearer t"


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / "deep" / name).write_text(name.upper() + "\n")
    user = {"client-certificate": "cert", "client-key": "./key", "tokenFile": "token"}
    config = KubeConfig.load(kubeconfig(tmp_path / "deep" / "config", {"certificate-authority": "ca"}, user))
    assert (config.ca, config.client_certificate, config.client_key) == (b"CA\n", b"CERT\n", b"KEY\n")
    assert config.authorization() == "Bearer TOKEN"


def test_inline_data_beats_a_file_and_a_token_file_beats_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("rotated")
    cluster = {"certificate-authority": "absent", "certificate-authority-data": data(b"CA")}
    config = KubeConfig.load(kubeconfig(tmp_path / "config", cluster, {"tokenFile": "token", "token": "old"}))
    assert config.ca == b"CA"
    assert config.authorization() == "Bearer rotated"
    (tmp_path / "token").write_text("again")
    assert config.authorization() == "Bearer again"


def test_user_name_and_password_become_basic_authentication(tmp_path: Path) -> None:
    config = KubeConfig.load(kubeconfig(tmp_path / "c", {}, {"username": "jane", "password": "p:w"}))
    assert config.authorization() == "Basic " + data(b"jane:p:w")


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    config = KubeConfig.load(kubeconfig(tmp_path / "c", {}, {"as": "jane", "as-groups": ["a", "b"]}))
    assert config.impersonate == {"Impersonate-User": "jane", "Impersonate-Group": ["a", "b"]}


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    contexts = [{"name": "other", "context": {"cluster": "c"}}]
    path = kubeconfig(tmp_path / "c", {}, {"token": "t"}, contexts=contexts)
    config = KubeConfig.load(path, "other")
    assert (config.namespace, config.authorization()) == ("default", None)


def test_retired_plugins_are_refused_by_name(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "c", {}, {"auth-provider": {"name": "gcp"}})
    with pytest.raises(KubeConfigError, match="auth-provider plugin"):
        KubeConfig.load(path)


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match="can't read kubeconfig"):
        KubeConfig.load(tmp_path / "absent")
    (tmp_path / "bad").write_text("a: [")
    with pytest.raises(KubeConfigError, match="not YAML"):
        KubeConfig.load(tmp_path / "bad")
    (tmp_path / "list").write_text("[]\n- a")
    with pytest.raises(KubeConfigError):
        KubeConfig.load(tmp_path / "list")
    path = kubeconfig(tmp_path / "c", {}, {})
    with pytest.raises(KubeConfigError, match='context "nope" does not exist'):
        KubeConfig.load(path, "nope")
    for broken in ({"clusters": []}, {"users": []}, {"contexts": "x"}, {"current-context": ""}):
        with pytest.raises(KubeConfigError):
            KubeConfig.load(kubeconfig(tmp_path / "c", {}, {}, **broken))
    with pytest.raises(KubeConfigError, match="not base64"):
        KubeConfig.load(kubeconfig(tmp_path / "c", {"certificate-authority-data": "A"}, {}))
    with pytest.raises(KubeConfigError, match=r"certificate-authority .*absent"):
        KubeConfig.load(kubeconfig(tmp_path / "c", {"certificate-authority": "absent"}, {}))


def test_several_files_merge_and_the_first_wins(tmp_path: Path) -> None:
    one = kubeconfig(tmp_path / "1" / "config", {}, {"tokenFile": "token"}, clusters=[])
    two = kubeconfig(tmp_path / "2" / "config", {}, {"token": "second"}, **{"current-context": "no"})
    (tmp_path / "1" / "token").write_text("first")
    environ = {"KUBECONFIG": f"{one}{os.pathsep}{tmp_path / 'absent'}{os.pathsep}{two}"}
    config = KubeConfig.from_env(environ=environ)
    assert config.authorization() == "Bearer first"
    assert config.server == "https://127.0.0.1:6443"


def test_home_is_looked_at_after_the_environment(tmp_path: Path) -> None:
    kubeconfig(tmp_path / ".kube" / "config", {}, {"token": "home"})
    assert KubeConfig.from_env(environ={"HOME": str(tmp_path)}).authorization() == "Bearer home"
    with pytest.raises(KubeConfigError, match="no file that exists"):
        KubeConfig.from_env(environ={"HOME": str(tmp_path), "KUBECONFIG": "/nonexistent"})
    with pytest.raises(KubeConfigError, match="not in a cluster"):
        KubeConfig.from_env(environ={"HOME": str(tmp_path / "empty")})


def test_in_cluster_reads_the_service_account(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"CA")
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "namespace").write_text("prod\n")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = KubeConfig.in_cluster(tmp_path, environ)
    assert (config.server, config.namespace, config.ca) == ("https://[fd00::1]:443", "prod", b"CA")
    assert config.authorization() == "Bearer t"


def test_secrets_are_not_in_the_repr() -> None:
    config = KubeConfig(server="https://x", token="t0ken", client_key=b"k3y", password="passw0rd")
    assert not any(secret in repr(config) for secret in ("t0ken", "k3y", "passw0rd"))


# ---- TLS -----------------------------------------------------------------------------------------------


def certificate(name: str, san: str | None = None) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    if san:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(san)]), critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem, private


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[KubeConfig]:
    """A server that is called `api.local` and answers with the common name of its client."""
    server_pem, server_key = certificate("server", "api.local")
    client_pem, client_key = certificate("jane")
    (tmp_path / "server.pem").write_bytes(server_pem + server_key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=client_pem.decode())
    tls.load_cert_chain(tmp_path / "server.pem")
    tls.verify_mode = ssl.CERT_REQUIRED

    async def whoami(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        return web.Response(text=peer["subject"][0][0][1])

    runner = web.ServerRunner(web.Server(whoami))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    yield KubeConfig(
        server=url,
        ca=server_pem,
        tls_server_name="api.local",
        client_certificate=client_pem,
        client_key=client_key,
    )
    await runner.cleanup()


async def whoami(config: KubeConfig) -> bytes:
    async with Client(config) as client:
        return await client.request("GET", "/")


async def test_client_certificates_and_server_name_work(secure: KubeConfig) -> None:
    assert await whoami(secure) == b"jane"


async def test_no_key_stays_on_disk(
    secure: KubeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    assert secure.ssl_context() is not None
    assert list((tmp_path / "tmp").iterdir()) == []


async def test_a_wrong_server_name_or_authority_is_unavailable(secure: KubeConfig) -> None:
    for wrong in (replace(secure, tls_server_name=None), replace(secure, ca=certificate("other")[0])):
        with pytest.raises(Unavailable):
            await whoami(wrong)


async def test_insecure_skips_verification(secure: KubeConfig) -> None:
    config = replace(secure, ca=None, tls_server_name=None, insecure_skip_tls_verify=True)
    assert await whoami(config) == b"jane"


def test_an_unusable_certificate_is_a_kubeconfig_error() -> None:
    config = KubeConfig(server="https://x", client_certificate=b"no PEM", client_key=b"")
    with pytest.raises(KubeConfigError, match="unusable certificate"):
        config.ssl_context()
    with pytest.raises(KubeConfigError, match="unusable certificate"):
        KubeConfig(server="https://x", ca=b"no PEM").ssl_context()
