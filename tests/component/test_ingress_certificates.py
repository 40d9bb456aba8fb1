"""TLS by name, and passwords."""

from __future__ import annotations

import asyncio
import base64
import ssl
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.ingress.objects import Secret
from tests.component.ingress_under_test import Front
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import P


def certificate(name: str) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), private


def secret(name: str, **data: bytes) -> Secret:
    encoded = {key.replace("_", "."): base64.b64encode(text).decode() for key, text in data.items()}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "data": encoded}, Secret)


def tls_secret(name: str, common_name: str) -> Secret:
    public, private = certificate(common_name)
    return secret(name, tls_crt=public, tls_key=private)


async def presented(served: Front, name: str | None) -> str:
    """The common name in the certificate that is shown to who asks for a name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(
        "127.0.0.1", served.config.https_port, ssl=context, server_hostname=name or ""
    )
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    names = x509.load_der_x509_certificate(shown).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value)


async def test_each_name_is_shown_its_own_certificate(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        tls_secret("one", "one"),
        tls_secret("many", "many"),
        ingress("a", ("one.test", P, "/", "web"), tls={"one": ["one.test"], "many": ["*.many.test"]}),
        ingress("b", ("none.test", P, "/", "web"), tls={"absent": ["none.test"]}),
    )
    assert await presented(served, "one.test") == "one"
    assert await presented(served, "ONE.test") == "one"
    assert await presented(served, "a.many.test") == "many"
    assert await presented(served, "many.test") == "Fairway ingress default certificate"
    assert await presented(served, "none.test") == "Fairway ingress default certificate"
    assert await presented(served, "other.test") == "Fairway ingress default certificate"
    assert "there is no Secret default/absent" in served.cluster.table.problems["default/b"][0]


async def test_a_new_certificate_is_shown_at_once_and_a_broken_one_harms_nobody(served: Front) -> None:
    await served.serve(["web"])
    rule = ("one.test", P, "/", "web")
    await served.tell(tls_secret("one", "first"), ingress("a", rule, tls={"one": ["one.test"]}))
    assert await presented(served, "one.test") == "first"
    await served.tell(tls_secret("one", "second"))
    assert await presented(served, "one.test") == "second"
    await served.tell(secret("one", tls_crt=b"nonsense", tls_key=b"-----BEGIN PRIVATE KEY-----\nx\n"))
    assert await presented(served, "one.test") == "Fairway ingress default certificate"
    assert (await served.get("one.test", tls=True)).service == "web"


async def test_passwords_are_asked_for_and_checked(served: Front) -> None:
    await served.serve(["web"])
    users = b"alice:{PLAIN}secret\n"
    await served.tell(
        secret("users", auth=users),
        ingress("a", ("web.test", P, "/", "web"), auth_type="basic", auth_secret="users", auth_realm="Here"),
    )
    asked = await served.get("web.test")
    assert (asked.status, asked.headers["www-authenticate"]) == (401, 'Basic realm="Here"')
    right = base64.b64encode(b"alice:secret").decode()
    assert (await served.get("web.test", Authorization=f"Basic {right}")).service == "web"
    wrong = base64.b64encode(b"alice:guess").decode()
    assert (await served.get("web.test", Authorization=f"Basic {wrong}")).status == 401


async def test_without_its_passwords_a_route_lets_nobody_pass(served: Front) -> None:
    await served.serve(["web"])
    rule = ("web.test", P, "/", "web")
    await served.tell(ingress("a", rule, auth_type="basic", auth_secret="absent"))
    anyone = base64.b64encode(b":").decode()
    assert (await served.get("web.test", Authorization=f"Basic {anyone}")).status in (401, 403)
    await served.tell(ingress("a", rule, auth_type="basic"))
    assert (await served.get("web.test", Authorization=f"Basic {anyone}")).status in (401, 403)


async def test_passwords_of_another_namespace_are_not_to_be_had(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        secret("users", auth=b"alice:{PLAIN}secret\n"),
        ingress("a", ("web.test", P, "/", "web"), auth_type="basic", auth_secret="kube-system/users"),
    )
    right = base64.b64encode(b"alice:secret").decode()
    assert (await served.get("web.test", Authorization=f"Basic {right}")).status in (401, 403)
