"""Requests made to hurt: too large, too deep, too many, too slow. Each is refused quickly, at little cost."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator

import pytest

from tests.component.attacks import ATTACKS, CONFIG_MAPS, JSON_PATCH, MERGE, TARGET, Attack, config_map
from tests.component.probe import CREDENTIALS, Probe, probing
from tests.conformance.server import TOKEN, ApiServer, api_server, unverified

BODY_LIMIT = 3 * 1024 * 1024
MOST_SECONDS = 2.0
MOST_MEGABYTES = 250


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("limits")) as started:
        yield started


@pytest.fixture
def probe(server: ApiServer) -> Iterator[Probe]:
    with probing(server) as ready:
        ready.send("POST", CONFIG_MAPS, config_map("target"))
        ready.send("POST", "/api/v1/namespaces/default/serviceaccounts", b'{"metadata":{"name":"default"}}')
        yield ready
        assert ready.send("POST", CONFIG_MAPS, b'{"metadata":{"generateName":"alive-"}}').status == 201
        assert server.megabytes() < MOST_MEGABYTES


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_it_is_refused_quickly(probe: Probe, attack: Attack) -> None:
    reply = probe.send(attack.method, attack.path, attack.body, attack.media)
    assert reply.status in attack.statuses, reply.message[:500]
    assert reply.seconds < MOST_SECONDS


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 10 * BODY_LIMIT])
def test_a_body_over_3_mib_is_refused_with_413(probe: Probe, size: int) -> None:
    reply = probe.send("POST", CONFIG_MAPS, b" " * size)
    assert reply.status == 413
    assert reply.message == "Request entity too large: limit is 3145728"


def test_a_body_of_just_3_mib_is_read(probe: Probe) -> None:
    body = config_map("large", data={"a": ""})
    padding = b" " * (BODY_LIMIT - len(body))
    assert probe.send("POST", CONFIG_MAPS, body + padding).status == 201


def test_a_json_patch_that_doubles_its_object_again_and_again_is_refused(probe: Probe) -> None:
    copies = [{"op": "copy", "from": "/data", "path": f"/data/copy-{n}"} for n in range(40)]
    patch = [{"op": "add", "path": "/data", "value": {"a": "x" * 1000}}, *copies]
    reply = probe.send("PATCH", TARGET, json.dumps(patch).encode(), JSON_PATCH)
    assert 400 <= reply.status < 500
    assert reply.seconds < MOST_SECONDS


def test_text_that_is_not_utf_8_is_stored_as_replacement_characters(probe: Probe) -> None:
    """As Go's decoder has it, so that every later reader gets valid JSON."""
    body = config_map("bytes", data={"a": "x?y"}).replace(b"?", b"\xff")
    assert probe.send("POST", CONFIG_MAPS, body).status == 201
    assert probe.send("GET", f"{CONFIG_MAPS}/bytes").json()["data"] == {"a": "x\ufffdy"}


def test_the_last_of_repeated_keys_counts_unless_the_client_wants_to_know(probe: Probe) -> None:
    body = b'{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}'
    strict = probe.send("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert strict.status == 400
    assert 'strict decoding error: duplicate field "data.a"' in strict.message
    assert probe.send("POST", CONFIG_MAPS, body).json()["data"] == {"a": "2"}


def test_clients_that_never_finish_their_request_keep_nobody_waiting(server: ApiServer, probe: Probe) -> None:
    half = b"POST %b HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n{" % CONFIG_MAPS.encode()
    idle = [connect(server) for _ in range(200)]
    for connection in idle:
        connection.sendall(half)
    try:
        assert probe.send("GET", CONFIG_MAPS).status == 200
    finally:
        for connection in idle:
            connection.close()


def test_watches_that_are_dropped_without_a_word_leave_nothing_behind(
    server: ApiServer, probe: Probe
) -> None:
    ask = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    before = server.megabytes()
    for _ in range(5):
        watching = [connect(server) for _ in range(60)]
        for connection in watching:
            connection.sendall(ask)
        assert all(connection.recv(12) == b"HTTP/1.1 200" for connection in watching)
        for connection in watching:
            connection.close()
        probe.send("PATCH", TARGET, b'{"data":{"n":"%d"}}' % time.monotonic_ns(), MERGE)
    assert server.megabytes() < before + 40


def test_a_watcher_that_does_not_read_is_cut_off_and_costs_little(server: ApiServer, probe: Probe) -> None:
    slow = connect(server)
    slow.sendall(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    assert slow.recv(12) == b"HTTP/1.1 200"
    before = server.megabytes()
    for turn in range(400):
        body = b'{"data":{"n":"%b"}}' % (b"%d" % turn * 10_000)
        assert probe.send("PATCH", TARGET, body, MERGE).status == 200
    assert server.megabytes() < before + 100
    slow.close()


def connect(server: ApiServer) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    return unverified().wrap_socket(plain)


def test_a_connection_that_speaks_no_http_is_refused(server: ApiServer) -> None:
    with connect(server) as connection:
        connection.sendall(b"\x16\x03\x01 PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert connection.recv(10) == b"HTTP/1.1 4"


def test_plain_http_gets_no_answer(server: ApiServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/version", headers=CREDENTIALS)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()
