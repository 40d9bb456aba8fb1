"""HAProxy's configuration: what annotations ask for, slots, and input that means harm."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.objects import EndpointSlice
from fairway.lb.balancer.annotations import PREFIX, certificate_secret, is_internal, wishes
from fairway.lb.balancer.certificates import CertificateError, read_certificate, read_or_error
from fairway.lb.balancer.model import Desired, Ports, Server, Sources, arrange, desired, slot_count
from fairway.lb.balancer.render import Setting, changes, configuration
from fairway.lb.objects import Secret, Service

from .certificates import key_pair
from .test_allocation import service

NODE = "node-1"


def annotated(values: dict[str, str], **changes: Any) -> Service:
    return service(
        "web",
        annotations={PREFIX + key: value for key, value in values.items()},
        current=["10.0.0.1"],
        **changes,
    )


def endpoints(*ips: str, port: int = 8080, name: str = "", node: str = NODE) -> EndpointSlice:
    manifest = {
        "metadata": {"name": "web-1", "namespace": "ns", "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": [{"addresses": [ip], "nodeName": node} for ip in ips],
        "ports": [{"name": name, "port": port, "protocol": "TCP"}],
    }
    return msgspec.convert(manifest, EndpointSlice)


def tls_secret(name: str = "shop", certificate: bytes = b"", key: bytes = b"") -> Secret:
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "ns"}, "type": "kubernetes.io/tls", "data": data}, Secret
    )


def work_out(target: Service, *slices: EndpointSlice, secrets: tuple[Secret, ...] = ()) -> Desired:
    certificates = {secret.metadata.key: read_or_error(secret) for secret in secrets}
    return desired(Sources([target], slices, certificates, {}, NODE), Ports(21000, 21009))


def text(wanted: Desired, folder: Path = Path("/run/lb")) -> str:
    slots = {name: arrange((), servers) for name, servers in (wanted.servers or {}).items()}
    setting = Setting(folder, folder / "1.sock", ("127.0.0.1",))
    return configuration(setting, wanted.listeners, slots)


@pytest.mark.parametrize(
    ("values", "terminate", "http", "encrypt"),
    [
        ({"backend-protocol": "tcp"}, False, False, False),
        ({"backend-protocol": "ssl"}, False, False, False),
        ({"backend-protocol": "http"}, False, True, False),
        ({"backend-protocol": "https"}, False, False, False),
        ({"ssl-cert": "c"}, True, False, False),
        ({"ssl-cert": "c", "backend-protocol": "tcp"}, True, False, False),
        ({"ssl-cert": "c", "backend-protocol": "ssl"}, True, False, True),
        ({"ssl-cert": "c", "backend-protocol": "http"}, True, True, False),
        ({"ssl-cert": "c", "backend-protocol": "HTTPS"}, True, True, True),
        ({"ssl-cert": "c", "backend-protocol": "http", "ssl-ports": "443"}, False, True, False),
        ({"ssl-cert": "c", "backend-protocol": "https", "ssl-ports": "443,other"}, False, False, False),
        ({"ssl-cert": "c", "ssl-ports": "80"}, True, False, False),
        ({"ssl-cert": "c", "ssl-ports": "*"}, True, False, False),
    ],
)
def test_annotations_mean_what_they_mean_to_aws(
    values: dict[str, str], terminate: bool, http: bool, encrypt: bool
) -> None:
    found = wishes(annotated(values))
    assert found is not None
    port = found.ports[0]
    assert (port.terminate, port.http, port.encrypt) == (terminate, http, encrypt)


def test_a_service_without_annotations_needs_no_balancer() -> None:
    assert wishes(annotated({"internal": "true"})) is None


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("0.0.0.0/0", True), ("false", False), ("", False)]
)
def test_internal_is_what_says_so(value: str, expected: bool) -> None:
    assert is_internal(annotated({"internal": value})) is expected


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("arn:aws:acm:eu-west-1:123456789012:certificate/12345678-abcd", "ns/12345678-abcd"),
        ("arn:aws:iam::123456789012:server-certificate/path/shop", "ns/shop"),
        ("shop", "ns/shop"),
        ("other/shop", ""),
        ("../../etc/passwd", ""),
        ("Shop", ""),
        ("shop\nfrontend x", ""),
        ("known", "vault/cert"),
        ("arn:known", "ns/cert"),
    ],
)
def test_names_of_certificates_lead_to_secrets(name: str, secret: str) -> None:
    table = {"known": "vault/cert", "arn:known": "cert"}
    assert certificate_secret(name, "ns", table) == secret


def test_forwarded_headers_are_ours_and_only_with_http() -> None:
    http = text(work_out(annotated({"backend-protocol": "http"}), endpoints("10.1.0.1")))
    assert "option forwardfor" in http
    assert "del-header X-Forwarded-For" in http
    assert "forwardfor" not in text(work_out(annotated({"backend-protocol": "tcp"}), endpoints("10.1.0.1")))


def test_proxy_protocol_and_encryption_are_the_servers_business() -> None:
    pair = key_pair()
    values = {"backend-protocol": "https", "proxy-protocol": "*", "ssl-cert": "shop"}
    wanted = work_out(annotated(values), endpoints("10.1.0.1"), secrets=(tls_secret("shop", *pair),))
    assert "server s1 10.1.0.1:8080 ssl verify none send-proxy\n" in text(wanted)


def test_policy_local_uses_endpoints_of_this_node_only() -> None:
    target = annotated({"backend-protocol": "http"}, externalTrafficPolicy="Local")
    wanted = work_out(target, endpoints("10.1.0.1"), endpoints("10.2.0.1", node="node-2"))
    assert wanted.servers == {"port-21000": (Server("10.1.0.1", 8080),)}


def test_without_its_certificate_a_tls_port_stays_closed_and_says_why() -> None:
    wanted = work_out(annotated({"ssl-cert": "shop"}), endpoints("10.1.0.1"))
    assert wanted.listeners == ()
    assert wanted.complaints[0].reason == "CertificateMissing"


def test_a_certificate_that_does_not_fit_its_key_is_refused() -> None:
    (certificate, _), (_, key) = key_pair(), key_pair()
    with pytest.raises(CertificateError, match="not the key"):
        read_certificate(tls_secret("shop", certificate, key))


def test_slots_are_kept_and_grow_only_when_they_must() -> None:
    a, b, c = (Server("10.1.0.1", n) for n in (1, 2, 3))
    first = arrange((), (a, b))
    assert len(first) == slot_count(2) == 8
    assert arrange(first, (b, c)) == (c, b, *first[2:])
    assert len(arrange(first, tuple(Server("10.1.0.2", n) for n in range(1, 10)))) == 16


def test_a_move_is_told_in_commands_arrivals_first() -> None:
    a, b = Server("10.1.0.1", 1), Server("10.1.0.2", 2)
    assert changes("port-1", (a, None), (None, b)) == [
        "set server port-1/s2 addr 10.1.0.2 port 2",
        "set server port-1/s2 state ready",
        "set server port-1/s2 health up",
        "set server port-1/s1 state maint",
    ]


hostile = st.text(min_size=1, max_size=40) | st.sampled_from(
    ['a"\nbackend evil', "x;shutdown frontend y", "%[env(HOME)]", "${HOME}", "\\\n", "' or '1", "a b", "\0"]
)


@given(name=hostile, port=hostile, certificate=hostile, source=hostile, address=hostile, endpoint=hostile)
def test_nothing_that_a_user_writes_is_ever_part_of_the_text(
    name: str, port: str, certificate: str, source: str, address: str, endpoint: str
) -> None:
    clean = text(work_out(annotated({"backend-protocol": "http"}, loadBalancerSourceRanges=["10.0.0.0/8"])))
    target = annotated(
        {"backend-protocol": "http", "ssl-cert": certificate, "ssl-ports": "5"},
        loadBalancerSourceRanges=["10.0.0.0/8", source] if "/" not in source else ["10.0.0.0/8"],
        ports=[{"port": 80, "name": port, "protocol": "TCP"}],
    )
    renamed = msgspec.structs.replace(target, metadata=msgspec.structs.replace(target.metadata, name=name))
    odd = endpoints(endpoint if endpoint[0].isalpha() else "x" + endpoint, name=port)
    assert text(work_out(renamed, odd)) == clean


def test_haproxy_itself_accepts_what_is_rendered(tmp_path: Path) -> None:
    pair = key_pair()
    secret = tls_secret("shop", *pair)
    values = {"backend-protocol": "https", "proxy-protocol": "*", "ssl-cert": "shop"}
    target = annotated(values, loadBalancerSourceRanges=["10.0.0.0/8", "fd00::/8"])
    wanted = work_out(target, endpoints("10.1.0.1", "10.1.0.2"), secrets=(secret,))
    certificate = read_certificate(secret)
    (tmp_path / certificate.name).write_bytes(certificate.pem)
    path = tmp_path / "haproxy.cfg"
    path.write_text(text(wanted, tmp_path))
    checked = subprocess.run(["haproxy", "-c", "-f", str(path)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
